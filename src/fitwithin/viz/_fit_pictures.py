"""The pictures of a fit: its scores, its time by activity, predicted and actual fit times, the class shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.printable_text import replace_unprintable
from fitwithin._core.rounds import Round
from fitwithin.viz._axes import (
    add_legend_above,
    draw_estimate_and_limit,
    format_log_axis,
    get_axes,
    show_message,
    visible_time_limit,
)
from fitwithin.viz._fitted import FittedEstimator, check_fitted, score_name
from fitwithin.viz._style import BLUE, BROWN, EDGE, GREEN, GREY, INK, ORANGE, PINK

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
# More labels than this would overlap.
_MAX_LABELS = 10
# Largest ratio of the shortest fit to the shortest set-up that is drawn.
_MAX_SETUP_RATIO = 30
# More classes than this would not fit the height of the picture.
_MAX_CLASSES = 14
# Characters of a class name; longer names would leave no width for the picture.
_MAX_NAME_LENGTH = 22


def learning_curve(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the score of each model, with its 95 % interval, at the time it was known.

    - A filled point is a model that became the best so far, a hollow point one that did not.
    - The line is the score of the best model so far. It begins with the first model.
    - An orange point is a score that is too high, because earlier models predicted some of its rows.
    - The green diamond is `score_estimate_`, from rows that had no part in training or choosing.
    - A hollow square is the score that was expected before the fit. A dotted line joins it to the actual score.
    - A stroke at the bottom is a model without a score.

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
    >>> ax = viz.learning_curve(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('seconds since the start of fit', 'accuracy')
    """
    ax = get_axes(estimator, ax)
    rounds = estimator.history_
    scored = [finished for finished in rounds if finished.estimate is not None]
    if not scored:
        return show_message(ax, "No model has a score,\nso there is nothing to draw.")
    _draw_steps(ax, [one for one in scored if one.best and not one.is_biased], estimator.time_used_)
    _draw_scores(ax, [one for one in scored if not one.is_biased], BLUE, f"{score_name(estimator)}, 95 % interval")
    _draw_scores(ax, [one for one in scored if one.is_biased], ORANGE, "too high: rows seen before")
    ax.plot([], [], "o", color=GREY, label="filled: became the best")
    _mark_expected_scores(ax, [finished for finished in rounds if finished.predicted_estimate is not None])
    _mark_models_without_score(ax, [finished for finished in rounds if finished.estimate is None])
    draw_estimate_and_limit(ax, estimator, "returned", GREEN)
    add_legend_above(ax)
    return ax


def _draw_steps(ax: Axes, best: Sequence[Round], end: float) -> None:
    """Draw the score of the best model so far, from the first model to the end of the fit."""
    if best:
        times, scores = np.array([(one.elapsed, one.estimate) for one in best], float).T
        ends = np.append(times, max(end, times[-1])), np.append(scores, scores[-1])
        ax.step(*ends, where="post", color=BLUE, linewidth=1.5)


def _draw_scores(ax: Axes, rounds: Sequence[Round], colour: str, label: str) -> None:
    if not rounds:
        return
    times, scores, low, high = np.array([(one.elapsed, one.estimate, one.low, one.high) for one in rounds], float).T
    best = np.array([one.best for one in rounds])
    ax.vlines(times, low, high, color=colour, alpha=0.6, linewidth=1)
    ax.plot(times[best], scores[best], "o", color=colour)
    ax.plot(times[~best], scores[~best], "o", color=colour, markerfacecolor="none")
    ax.plot([], [], "o", color=colour, markerfacecolor="none", label=label)


def _mark_expected_scores(ax: Axes, rounds: Sequence[Round]) -> None:
    if not rounds:
        return
    # A model without a score becomes NaN, which is not drawn.
    values = np.array([(one.elapsed, one.predicted_estimate, one.estimate) for one in rounds], float)
    times, expected, scores = values.T
    ax.vlines(times, expected, scores, color=PINK, linestyle=":", linewidth=1)
    ax.plot(times, expected, "s", color=PINK, markerfacecolor="none", markersize=5, label="expected before the fit")


def _mark_models_without_score(ax: Axes, rounds: Sequence[Round]) -> None:
    if rounds:
        times, heights = [finished.elapsed for finished in rounds], [0.02] * len(rounds)
        ax.plot(times, heights, "|", color=GREY, transform=ax.get_xaxis_transform(), label="model without a score")


def time_spent(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the time of a fit as one bar, and the time limit as a line.

    The bar has these parts:

    - fit, predict, transfer, choose rows, save model: sums over the finished rounds. Transfer brings rows to the
      learner, and includes the start of its process.
    - set-up of fits: their seconds before the first step, such as binning, if they are known.
    - fits without a model: those that the deadline, the memory limit, an error or an interrupt ended.
    - after the last round: bringing the best model back.
    - other: the rest, such as checks of the input.

    Seconds of learners that work at the same time are added up. If they are more than `time_used_`, there is no line.

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
    total = sum(parts.values())
    for activity, seconds in parts.items():
        percent = 100 * seconds / max(total, 1e-9)
        is_after_setup = activity == "fit" and "set-up of fits" in parts
        name, alpha = ("fit after set-up", _STEPS_ALPHA) if is_after_setup else (activity, 1.0)
        label = f"{name} {seconds:.2f} s, {percent:.0f} %"
        ax.barh(0, seconds, left=start, color=_ACTIVITY_COLOURS[activity], alpha=alpha, label=label)
        start += seconds
    limit = visible_time_limit(estimator) if math.isclose(total, estimator.time_used_) else None
    if limit is not None:
        ax.axvline(limit, color=INK, linestyle="--", linewidth=1.2)
        ax.text(limit, 0.46, "time limit ", ha="right", va="bottom", fontsize="small")
    ax.set(xlabel="seconds", xlim=(0, 1.01 * max(limit or 0.0, total)), yticks=[], ylim=(-0.5, 0.8))
    ax.spines[["left", "top", "right"]].set_visible(False)
    add_legend_above(ax)
    return ax


def seconds_by_activity(estimator: FittedEstimator) -> dict[str, float]:
    """Return the seconds of a fit by activity; they add up to `time_used_`, or to more if learners worked in parallel.

    The set-up of fits is there if it is known, and fits without a model if there were any.
    """
    rounds, used = estimator.history_, estimator.time_used_
    setup = sum(finished.seconds_setup or 0.0 for finished in rounds)
    seconds = {
        "set-up of fits": setup,
        "fit": sum(finished.seconds_fit for finished in rounds) - setup,
        "predict": sum(finished.seconds_exam for finished in rounds),
        "transfer": sum(finished.seconds_handover for finished in rounds),
        "choose rows": sum(finished.seconds_choose for finished in rounds),
        "save model": sum(finished.seconds_model for finished in rounds),
    }
    rest = max(0.0, used - sum(seconds.values()))
    # The activities count a last round without an exam, so it is no fit without a model.
    unexamined = [finished for finished in rounds[-1:] if not finished.examined and not finished.best]
    counted = sum(finished.seconds_handover + finished.seconds_fit for finished in unexamined)
    without_model = min(rest, max(0.0, estimator.lost_seconds_ - counted))
    # The deadline ended a fit after the last round, the memory limit maybe one before.
    after_last = max(0.0, used - rounds[-1].elapsed - without_model) if rounds else 0.0
    after_last = min(rest - without_model, after_last)
    seconds |= {
        "fits without a model": without_model,
        "after the last round": after_last,
        "other": rest - without_model - after_last,
    }
    rare = ("set-up of fits", "fits without a model")
    return {activity: value for activity, value in seconds.items() if value or activity not in rare}


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
    rounds = [finished for finished in estimator.history_ if finished.predicted_fit is not None]
    if not rounds:
        return show_message(ax, "No fit time was predicted:\nthe first round has no earlier one to learn from.")
    fits = np.array([(finished.predicted_fit, finished.seconds_fit) for finished in rounds], float)
    setups = np.array([(finished.predicted_setup, finished.seconds_setup) for finished in estimator.history_], float)
    setups = setups[~np.isnan(setups).any(axis=1)]
    _set_scale(ax, fits, setups)
    ax.set(xlabel="predicted, seconds", ylabel="actual, seconds")
    has_labels = len(fits) <= _MAX_LABELS
    ax.plot(ax.get_xlim(), ax.get_xlim(), "--", color=GREY, linewidth=1, label="as predicted")
    ax.plot(*fits.T, "o", color=BLUE, label="a fit, with its round" if has_labels else "a fit")
    if len(setups):
        ax.plot(*setups.T, "s", color=ORANGE, markerfacecolor="none", label="the set-up of a fit")
    for finished, (x, y) in zip(rounds, fits, strict=True) if has_labels else ():
        ax.annotate(str(finished.number), (x, y), (5, -3), textcoords="offset points", va="top", fontsize="small")
    add_legend_above(ax)
    return ax


def _set_scale(ax: Axes, fits: npt.NDArray[np.float64], setups: npt.NDArray[np.float64]) -> None:
    """Give both axes the same limits, and a logarithmic scale unless a fit took no time."""
    shortest, longest = fits.min(), np.append(fits, setups).max()
    if shortest <= 0:
        limits = 0.0, 1.1 * max(longest, 1e-3)
        ax.set(xlim=limits, ylim=limits)
        return
    # A set-up that is far too short for this scale would squeeze the fits into a corner.
    shortest = min(shortest, max(setups.min(initial=longest), shortest / _MAX_SETUP_RATIO))
    limits = shortest / 1.5, longest * 1.5
    ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    format_log_axis(ax.xaxis)
    format_log_axis(ax.yaxis)


def class_shares(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of each class in the data and in the training rows of the returned model.

    The scale is logarithmic, so that rare classes are visible too. With many classes, only those whose share changed
    most are drawn.

    Parameters
    ----------
    estimator : TimeConstrainedClassifier
        The fitted classifier.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the picture.

    Raises
    ------
    TypeError
        If the estimator is a regressor.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fitwithin import TimeConstrainedClassifier, viz
    >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
    >>> ax = viz.class_shares(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['0', '1']
    """
    check_fitted(estimator)
    if not hasattr(estimator, "class_count_trained_"):
        raise TypeError(f"Got {type(estimator).__name__}; class_shares expects a fitted TimeConstrainedClassifier.")
    ax = get_axes(estimator, ax)
    in_data = 100 * estimator.class_count_ / estimator.class_count_.sum()
    in_training = 100 * estimator.class_count_trained_ / estimator.class_count_trained_.sum()
    # A share of zero has no place on a logarithmic scale; it is drawn below the smallest one.
    floor = 0.5 * float(np.concatenate([in_data, in_training[in_training > 0]]).min())
    shown = _select_classes(in_data, np.maximum(in_training, floor))
    _draw_shares(ax, in_data[shown], in_training[shown], floor)
    names = [_shorten_name(estimator.classes_[index]) for index in shown]
    ax.set_yticks(range(len(shown)), names, parse_math=False)
    # On a line of its own: the picture is not wide enough for one line.
    selection = f"\n{len(shown)} of {len(in_data):,} classes, those that changed most"
    ax.set_xlabel(f"% of the rows{selection if len(shown) < len(in_data) else ''}")
    add_legend_above(ax)
    return ax


def _select_classes(in_data: npt.NDArray[Any], in_training: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the indices of the classes to draw, from the bottom up: the most frequent class is last."""
    most_changed = np.sort(np.argsort(-np.abs(np.log(in_training / in_data)), kind="stable")[:_MAX_CLASSES])
    ordered: npt.NDArray[np.intp] = most_changed[np.argsort(in_data[most_changed], kind="stable")]
    return ordered


def _draw_shares(ax: Axes, in_data: npt.NDArray[Any], in_training: npt.NDArray[Any], floor: float) -> None:
    heights, is_trained = np.arange(len(in_data)), in_training > 0
    ax.hlines(heights, in_data, np.maximum(in_training, floor), color=EDGE, linewidth=2, zorder=1.5)
    ax.plot(in_data, heights, "o", color=GREY, markerfacecolor="none", label="all rows")
    ax.plot(in_training[is_trained], heights[is_trained], "o", color=BLUE, label="training rows")
    if not is_trained.all():
        n_missing = np.count_nonzero(~is_trained)
        ax.plot(np.full(n_missing, floor), heights[~is_trained], "x", color=ORANGE, label="no training rows")
    ax.set(xscale="log", ylim=(-0.6, len(in_data) - 0.4))
    format_log_axis(ax.xaxis)


def _shorten_name(name: object) -> str:
    text = replace_unprintable(str(name)).replace("\n", " ")
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[: _MAX_NAME_LENGTH - 1]}…"
