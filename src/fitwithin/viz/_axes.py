"""Where pictures are drawn: on the user's axes, or on new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fitwithin.viz._fitted import Fitted, check_fitted
from fitwithin.viz._style import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


# A limit that is much further away than the end would press a picture against its left side.
_FAR = 2.0


def axes_for(estimator: Fitted, ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The user's axes; or new ones of that size, in inches, which a notebook shows by itself.

    Raises
    ------
    ImportError
        Without matplotlib; the message says what to install.
    TypeError, NotFittedError
        If there is nothing to draw.
    """
    check_fitted(estimator)
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def say(ax: Axes, words: str) -> Axes:
    """A sentence in the place of a picture that has nothing to show."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", wrap=True)
    ax.grid(False)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


def limit_near(estimator: Fitted) -> float | None:
    """The limit in seconds, if it is near enough to be drawn."""
    limit = estimator.time_limit_
    return limit if limit <= _FAR * estimator.time_used_ else None


def legend_above(ax: Axes) -> None:
    """A legend above the picture, where it hides nothing."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.03), "borderaxespad": 0}
    legend = ax.legend(ncols=2, fontsize="small", frameon=False, columnspacing=1.2, **place)
    for text in legend.get_texts():
        # The name of a score is a name, even with dollars in it.
        text.set_parse_math(False)


def plain_log(axis: Axis) -> None:
    """Numbers without powers on a logarithmic axis, and between the tens only where these are few."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0), numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")
