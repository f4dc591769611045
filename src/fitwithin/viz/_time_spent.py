"""The picture of the time by activity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import add_legend_above, get_axes, visible_time_limit
from fitwithin.viz._fitted_estimator import FittedEstimator, check_fitted
from fitwithin.viz._palette import BLUE, BROWN, EDGE, GREEN, GREY, INK, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ACTIVITY_COLOURS = {
    "fit": BLUE,
    "predict": GREEN,
    "transfer": BROWN,
    "choose rows": PINK,
    "save model": ORANGE,
    "after the last round": EDGE,
    "other": GREY,
}


def time_spent(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the time of a fit as one bar, and the time limit as a line.

    The activities fit, predict, transfer, choose rows and save model are sums over the finished rounds. Transfer
    brings rows to the learner and includes the start of its process. After the last round the deadline may have cut
    off another fit, and the best model was loaded. The rest, such as checks of the input, is other.

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
    >>> ax = viz.time_spent(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> bool(abs(sum(bar.get_width() for bar in ax.patches) - clf.time_used_) < 1e-6)
    True
    """
    ax = get_axes(estimator, ax, (6.4, 2.2))
    start = 0.0
    for activity, seconds in seconds_by_activity(estimator).items():
        percent = 100 * seconds / max(estimator.time_used_, 1e-9)
        label = f"{activity} {seconds:.2f} s, {percent:.0f} %"
        ax.barh(0, seconds, left=start, color=_ACTIVITY_COLOURS[activity], label=label)
        start += seconds
    limit = visible_time_limit(estimator)
    if limit is not None:
        ax.axvline(limit, color=INK, linestyle="--", linewidth=1.2)
        ax.text(limit, 0.52, "time limit", ha="right", va="bottom", fontsize="small")
    ax.set(xlabel="seconds", xlim=(0, 1.01 * max(limit or 0.0, estimator.time_used_)), yticks=[], ylim=(-0.5, 0.5))
    ax.spines[["left", "top", "right"]].set_visible(False)
    add_legend_above(ax)
    return ax


def seconds_by_activity(estimator: FittedEstimator) -> dict[str, float]:
    """Return the seconds of a fit by activity; they add up to `time_used_`."""
    check_fitted(estimator)
    rounds = estimator.history_
    seconds = {
        "fit": sum(finished.seconds_fit for finished in rounds),
        "predict": sum(finished.seconds_exam for finished in rounds),
        "transfer": sum(finished.seconds_handover for finished in rounds),
        "choose rows": sum(finished.seconds_choose for finished in rounds),
        "save model": sum(finished.seconds_model for finished in rounds),
    }
    rest = max(0.0, estimator.time_used_ - sum(seconds.values()))
    after_last = min(rest, max(0.0, estimator.time_used_ - rounds[-1].elapsed)) if rounds else 0.0
    return seconds | {"after the last round": after_last, "other": rest - after_last}
