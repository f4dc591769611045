"""The picture of the time by activity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import add_legend_above, get_axes, visible_time_limit
from fitwithin.viz._fitted_estimator import FittedEstimator, check_fitted
from fitwithin.viz._palette import BLUE, BROWN, EDGE, GREEN, GREY, INK, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ACTIVITY_COLOURS = {
    "set-up of fits": BLUE,
    "fit": BLUE,
    "fits without a model": INK,
    "predict": GREEN,
    "transfer": BROWN,
    "choose rows": PINK,
    "save model": ORANGE,
    "after the last round": EDGE,
    "other": GREY,
}


# Opacity of the part of fit that is not set-up.
_STEPS_ALPHA = 0.55


def time_spent(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the time of a fit as one bar, and the time limit as a line.

    The bar has these parts:

    - fit, predict, transfer, choose rows, save model: sums over the finished rounds. Transfer brings rows to the
      learner, and includes the start of its process.
    - set-up of fits: their seconds before the first step, such as binning, if they are known.
    - fits without a model: those that the deadline, the memory limit, an error or an interrupt ended.
    - after the last round: bringing the best model back.
    - other: the rest, such as checks of the input.

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
    parts = seconds_by_activity(estimator)
    has_setup = "set-up of fits" in parts
    for activity, seconds in parts.items():
        percent = 100 * seconds / max(estimator.time_used_, 1e-9)
        name, alpha = ("fit after set-up", _STEPS_ALPHA) if activity == "fit" and has_setup else (activity, 1.0)
        label = f"{name} {seconds:.2f} s, {percent:.0f} %"
        ax.barh(0, seconds, left=start, color=_ACTIVITY_COLOURS[activity], alpha=alpha, label=label)
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
    """Return the seconds of a fit by activity; they add up to `time_used_`.

    The set-up of fits is there if it is known, and fits without a model if there were any.
    """
    check_fitted(estimator)
    rounds = estimator.history_
    setups = [finished.seconds_setup for finished in rounds if finished.seconds_setup is not None]
    seconds = {"set-up of fits": sum(setups)} if setups else {}
    seconds |= {
        "fit": sum(finished.seconds_fit for finished in rounds) - sum(setups),
        "predict": sum(finished.seconds_exam for finished in rounds),
        "transfer": sum(finished.seconds_handover for finished in rounds),
        "choose rows": sum(finished.seconds_choose for finished in rounds),
        "save model": sum(finished.seconds_model for finished in rounds),
    }
    rest = max(0.0, estimator.time_used_ - sum(seconds.values()))
    without_model = min(rest, _lost_seconds_outside_rounds(estimator))
    if without_model:
        seconds["fits without a model"] = without_model
        rest -= without_model
    # The deadline ended a fit after the last round, the memory limit maybe one before.
    after_last = max(0.0, estimator.time_used_ - rounds[-1].elapsed - without_model) if rounds else 0.0
    after_last = min(rest, after_last)
    return seconds | {"after the last round": after_last, "other": rest - after_last}


def _lost_seconds_outside_rounds(estimator: FittedEstimator) -> float:
    """Return the seconds of fits without a model, except a last round without an exam: other activities count it."""
    unexamined = [finished for finished in estimator.history_[-1:] if not finished.examined and not finished.best]
    counted = sum(finished.seconds_handover + finished.seconds_fit for finished in unexamined)
    return max(0.0, estimator.lost_seconds_ - counted)
