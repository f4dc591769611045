"""The picture of predicted and actual fit times, with the set-up apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fitwithin._core.rounds import Round
from fitwithin.viz._axes import add_legend_above, format_log_axis, get_axes, show_message
from fitwithin.viz._fitted_estimator import FittedEstimator
from fitwithin.viz._palette import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# More labels than this would overlap.
_MAX_LABELS = 10
# Largest ratio of the shortest fit to the shortest set-up that is drawn.
_MAX_SETUP_RATIO = 30


def fit_times(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the seconds that each fit took against the seconds that were predicted.

    Hollow squares are the set-up of the same fits: the seconds before the first step, such as binning, in which a
    learner cannot stop early. They are drawn if they are known.

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
    setups = _setup_times(estimator.history_)
    _, predicted, actual = zip(*times, strict=True)
    _set_scale(ax, [*predicted, *actual], [seconds for setup in setups for seconds in setup])
    has_labels = len(times) <= _MAX_LABELS
    ax.plot(ax.get_xlim(), ax.get_xlim(), "--", color=GREY, linewidth=1, label="as predicted")
    ax.plot(predicted, actual, "o", color=BLUE, label="a fit, with its round" if has_labels else "a fit")
    if setups:
        ax.plot(*zip(*setups, strict=True), "s", color=ORANGE, markerfacecolor="none", label="the set-up of a fit")
    for number, x, y in times if has_labels else ():
        ax.annotate(str(number), (x, y), (5, -3), textcoords="offset points", va="top", fontsize="small")
    ax.set(xlabel="predicted, seconds", ylabel="actual, seconds")
    add_legend_above(ax)
    return ax


def _setup_times(rounds: Sequence[Round]) -> list[tuple[float, float]]:
    """Return the predicted and the actual set-up of the rounds that have both, in seconds."""
    return [
        (one.predicted_setup, one.seconds_setup)
        for one in rounds
        if one.predicted_setup is not None and one.seconds_setup is not None
    ]


def _set_scale(ax: Axes, fit_seconds: Sequence[float], setup_seconds: Sequence[float]) -> None:
    """Give both axes the same limits, and a logarithmic scale unless a fit took no time."""
    longest = max(*fit_seconds, *setup_seconds)
    if min(fit_seconds) > 0:
        ax.set(xscale="log", yscale="log")
        # A set-up that is far too short for this scale would squeeze the fits into a corner.
        shortest = min(max(min(setup_seconds, default=longest), min(fit_seconds) / _MAX_SETUP_RATIO), *fit_seconds)
        limits = shortest / 1.5, longest * 1.5
    else:
        limits = 0.0, 1.1 * max(longest, 1e-3)
    ax.set(xlim=limits, ylim=limits)
    if ax.get_xscale() == "log":
        format_log_axis(ax.xaxis)
        format_log_axis(ax.yaxis)
