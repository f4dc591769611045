"""How well the time of a lesson was foreseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import axes_for, legend_above, plain_log, say
from fitwithin.viz._fitted import Fitted
from fitwithin.viz._style import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NAMED = 10


def fit_times(estimator: Fitted, ax: Axes | None = None) -> Axes:
    """Draw what each lesson took against what the cost model had expected.

    Parameters
    ----------
    estimator : TimeConstrainedClassifier or TimeConstrainedRegressor
        A fitted one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; on new axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        With the picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fitwithin import TimeConstrainedClassifier, viz
    >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
    >>> ax = viz.fit_times(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted, seconds', 'real, seconds')
    """
    ax = axes_for(estimator, ax, (4.6, 4.2))
    foreseen = [(one, one.predicted_fit) for one in estimator.history_ if one.predicted_fit is not None]
    if not foreseen:
        return say(ax, "No fit time was predicted:\nthe first round has none before it to learn from.")
    predicted, real = [seconds for _, seconds in foreseen], [one.seconds_fit for one, _ in foreseen]
    if min(*predicted, *real) > 0:
        ax.set(xscale="log", yscale="log")
        ends = min(*predicted, *real) / 1.5, max(*predicted, *real) * 1.5
    else:
        ends = 0.0, 1.1 * max(*predicted, *real, 1e-3)
    ax.plot(ends, ends, "--", color=GREY, linewidth=1, label="as predicted")
    ax.plot(predicted, real, "o", color=BLUE, label="a lesson" if len(foreseen) > _NAMED else "a lesson, and its round")
    # Of many rounds the numbers would stand on each other.
    named = list(zip(foreseen, real, strict=True)) if len(foreseen) <= _NAMED else []
    for (one, seconds), taken in named:
        ax.annotate(str(one.number), (seconds, taken), (5, -3), textcoords="offset points", va="top", fontsize="small")
    ax.set(xlim=ends, ylim=ends, xlabel="predicted, seconds", ylabel="real, seconds")
    if ax.get_xscale() == "log":
        plain_log(ax.xaxis)
        plain_log(ax.yaxis)
    legend_above(ax)
    return ax
