"""The picture of the score over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fitwithin._core.rounds import Round
from fitwithin.viz._axes import finish_score_axes, get_axes, show_message
from fitwithin.viz._fitted_estimator import FittedEstimator, score_name
from fitwithin.viz._palette import BLUE, GREEN, GREY, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    finish_score_axes(ax, estimator, "returned", GREEN)
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
