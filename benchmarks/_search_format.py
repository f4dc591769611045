"""Figures of the search benchmark as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from _search_log import SearchRun


def format_percent(value: float | None) -> str:
    """Return a share in per cent; empty if it is unknown."""
    return "" if value is None else f"{100 * value:.2f}"


def format_points(value: float | None) -> str:
    """Return a difference of shares in points; empty if it is unknown."""
    return "" if value is None else f"{100 * value:+.2f}"


def format_seconds(values: Iterable[float | None]) -> str:
    """Return the mean of the known seconds, and the largest."""
    known = [value for value in values if value is not None]
    return f"{fmean(known):.1f}, {max(known):.1f}" if known else ""


def format_megabytes(values: Iterable[int | None]) -> str:
    """Return the largest of the known bytes in MB."""
    known = [value for value in values if value is not None]
    return f"{max(known) / 1e6:,.0f}" if known else ""


def mean_accuracy(runs: Sequence[SearchRun]) -> float | None:
    """Return the mean accuracy; None without runs, or if one of them has no model."""
    found = [run.accuracy for run in runs]
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None
