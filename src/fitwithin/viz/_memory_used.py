"""The picture of the learner's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin._core.memory_limit import format_bytes
from fitwithin.viz._axes import add_legend_above, get_axes, show_message
from fitwithin.viz._fitted_estimator import FittedEstimator
from fitwithin.viz._palette import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Multiple of the most memory used. A limit beyond it is not drawn: it would squeeze the picture to the bottom.
_MAX_LIMIT_RATIO = 3.0
# Ends of the axes, as a multiple of the largest value.
_EDGE_FACTOR = 1.08


def memory_used(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the peak memory of the learner's process against the training rows of each round, and the memory limit.

    Parameters
    ----------
    estimator : TimeConstrainedClassifier or TimeConstrainedRegressor
        The fitted estimator.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fitwithin import TimeConstrainedClassifier, viz
    >>> clf = TimeConstrainedClassifier(GaussianNB(), time_limit=30, random_state=0)
    >>> ax = viz.memory_used(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('training rows', 'memory')
    """
    ax = get_axes(estimator, ax)
    points = [(one.rows, one.peak_memory) for one in estimator.history_ if one.peak_memory is not None]
    if not points:
        return show_message(ax, "The memory of the learner is not known.")
    rows, peaks = zip(*points, strict=True)
    limit = estimator.memory_limit_
    if limit is not None and limit <= _MAX_LIMIT_RATIO * max(peaks):
        ax.axhline(limit, linestyle="--", color=ORANGE, linewidth=1, label="memory limit")
    ax.plot(rows, peaks, "o", color=BLUE, label="a round")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: format_bytes(value))
    ax.set(xlabel="training rows", ylabel="memory")
    # Half of a point at the edge would be cut off.
    ax.set_xlim(0, _EDGE_FACTOR * max(rows))
    ax.set_ylim(0, max(_EDGE_FACTOR * max(peaks), ax.get_ylim()[1]))
    ax.locator_params(axis="x", nbins=6)
    add_legend_above(ax)
    return ax
