"""The picture of predicted and actual fit times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import add_legend_above, format_log_axis, get_axes, show_message
from fitwithin.viz._fitted_estimator import FittedEstimator
from fitwithin.viz._palette import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# More labels than this would overlap.
_MAX_LABELS = 10


def fit_times(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the actual seconds of each fit against the seconds that the cost model predicted.

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
    >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
    >>> ax = viz.fit_times(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted, seconds', 'actual, seconds')
    """
    ax = get_axes(estimator, ax, (4.6, 4.2))
    times = [
        (one.number, one.predicted_fit, one.seconds_fit) for one in estimator.history_ if one.predicted_fit is not None
    ]
    if not times:
        return show_message(ax, "No fit time was predicted:\nthe first round has no earlier one to learn from.")
    _, predicted, actual = zip(*times, strict=True)
    if min(*predicted, *actual) > 0:
        ax.set(xscale="log", yscale="log")
        limits = min(*predicted, *actual) / 1.5, max(*predicted, *actual) * 1.5
    else:
        limits = 0.0, 1.1 * max(*predicted, *actual, 1e-3)
    has_labels = len(times) <= _MAX_LABELS
    ax.plot(limits, limits, "--", color=GREY, linewidth=1, label="as predicted")
    ax.plot(predicted, actual, "o", color=BLUE, label="a fit, with its round" if has_labels else "a fit")
    for number, x, y in times if has_labels else ():
        ax.annotate(str(number), (x, y), (5, -3), textcoords="offset points", va="top", fontsize="small")
    ax.set(xlim=limits, ylim=limits, xlabel="predicted, seconds", ylabel="actual, seconds")
    if ax.get_xscale() == "log":
        format_log_axis(ax.xaxis)
        format_log_axis(ax.yaxis)
    add_legend_above(ax)
    return ax
