"""The report of a fit: one page with everything in it."""

from fitwithin.viz._report.report import Reporting

__all__ = ["Reporting"]
