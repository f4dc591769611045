"""The HTML report of a fit."""

from fitwithin.viz._report.report import ReportMixin

__all__ = ["ReportMixin"]
