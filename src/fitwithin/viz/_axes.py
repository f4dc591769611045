"""Axes for the pictures: the user's or new ones, with legends and scales in one style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fitwithin.viz._fitted import FittedEstimator, check_fitted, find_best_round, score_name
from fitwithin.viz._style import GREY, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


# Multiple of the time used. A time limit beyond it is not drawn: it would squeeze the picture to the left.
_MAX_LIMIT_RATIO = 2.0


def get_axes(estimator: FittedEstimator, ax: Axes | None, size_inches: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """Return the user's axes, or new ones of that size, which a notebook shows by itself.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message says what to install.
    TypeError
        If the estimator is not a `TimeConstrainedClassifier` or `TimeConstrainedRegressor`.
    NotFittedError
        If the estimator is not fitted.
    """
    check_fitted(estimator)
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size_inches, layout="constrained")[1]


def show_message(ax: Axes, message: str) -> Axes:
    """Show a message in place of a picture that has nothing to show."""
    ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center", wrap=True)
    ax.set_axis_off()
    return ax


def visible_time_limit(estimator: FittedEstimator) -> float | None:
    """Return the time limit in seconds, or None if it is too far away to be drawn."""
    limit = estimator.time_limit_
    return limit if limit <= _MAX_LIMIT_RATIO * estimator.time_used_ else None


def draw_estimate_and_limit(ax: Axes, estimator: FittedEstimator, estimate_label: str, colour: str) -> None:
    """Mark `score_estimate_` at the time of the returned model, draw the time limit, and name the axes."""
    best = find_best_round(estimator)
    if best is not None and estimator.score_estimate_ is not None:
        score, low, high = estimator.score_estimate_
        ax.vlines(best.elapsed, low, high, color=colour, linewidth=2, zorder=4)
        ax.plot(best.elapsed, score, "D", color=colour, markersize=5, zorder=4, label=f"{estimate_label}: {score:.4f}")
    limit = visible_time_limit(estimator)
    if limit is not None:
        ax.axvline(limit, color=GREY, linestyle="--", linewidth=1, label=f"time limit, {limit:g} s")
    ax.set(xlabel="seconds since the start of fit", xlim=(0, None))
    ax.set_ylabel(score_name(estimator), parse_math=False)


def add_legend_above(ax: Axes) -> None:
    """Add a legend above the picture, where it hides nothing."""
    position: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.03), "borderaxespad": 0}
    legend = ax.legend(ncols=2, fontsize="small", frameon=False, columnspacing=1.2, **position)
    for text in legend.get_texts():
        # A score's name may hold dollar signs, which are not mathematics here.
        text.set_parse_math(False)


def format_log_axis(axis: Axis) -> None:
    """Write plain numbers on a logarithmic axis: powers of ten, on a short axis also 2 and 5 times these."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0), numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")
