"""The report of a fit: one page with everything in it."""

from ._writing import Reporting

__all__ = ["Reporting"]
