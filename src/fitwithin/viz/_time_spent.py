"""Where the time went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import axes_for, legend_above, limit_near
from fitwithin.viz._fitted import Fitted, check_fitted
from fitwithin.viz._style import BLACK, BLUE, BROWN, EDGE, GREEN, GREY, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_COLOURS = {
    "fit": BLUE,
    "exam": GREEN,
    "hand-over": BROWN,
    "choosing": PINK,
    "storing": ORANGE,
    "at the end": EDGE,
    "waiting": GREY,
}


def time_spent(estimator: Fitted, ax: Axes | None = None) -> Axes:
    """Draw the time of a fit as one bar, and the limit as a line.

    Fit, exam, hand-over of rows (in the first round with the start of a process), choosing rows and storing models add
    up over the finished rounds. At the end a lesson may have been cut off by the deadline, and the model was brought
    back. What is left is waiting: checking the input, and whatever goes on between the others.

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
    >>> ax = viz.time_spent(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> bool(abs(sum(bar.get_width() for bar in ax.patches) - clf.time_used_) < 1e-6)
    True
    """
    ax = axes_for(estimator, ax, (6.4, 2.2))
    start = 0.0
    for name, seconds in parts_of_time(estimator).items():
        share = 100 * seconds / max(estimator.time_used_, 1e-9)
        label = f"{name} {seconds:.2f} s, {share:.0f} %"
        ax.barh(0, seconds, left=start, color=_COLOURS[name], label=label)
        start += seconds
    limit = limit_near(estimator)
    if limit is not None:
        ax.axvline(limit, color=BLACK, linestyle="--", linewidth=1.2)
        ax.text(limit, 0.52, "limit", ha="right", va="bottom", fontsize="small")
    ax.set(xlabel="seconds", xlim=(0, 1.01 * max(limit or 0.0, estimator.time_used_)), yticks=[], ylim=(-0.5, 0.5))
    ax.spines[["left", "top", "right"]].set_visible(False)
    legend_above(ax)
    return ax


def parts_of_time(estimator: Fitted) -> dict[str, float]:
    """The seconds of a fit by what they were spent on; they add up to `time_used_`."""
    check_fitted(estimator)
    rounds = estimator.history_
    parts = {
        "fit": sum(one.seconds_fit for one in rounds),
        "exam": sum(one.seconds_exam for one in rounds),
        "hand-over": sum(one.seconds_handover for one in rounds),
        "choosing": sum(one.seconds_choose for one in rounds),
        "storing": sum(one.seconds_model for one in rounds),
    }
    rest = max(0.0, estimator.time_used_ - sum(parts.values()))
    after = min(rest, max(0.0, estimator.time_used_ - rounds[-1].elapsed)) if rounds else 0.0
    return parts | {"at the end": after, "waiting": rest - after}
