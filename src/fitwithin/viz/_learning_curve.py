"""How the score grew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fitwithin._core.records import Round
from fitwithin.viz._axes import axes_for, legend_above, limit_near, say
from fitwithin.viz._fitted import Fitted, returned, score_name
from fitwithin.viz._style import BLUE, GREEN, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(estimator: Fitted, ax: Axes | None = None) -> Axes:
    """Draw each model's score, with its 95 % interval, at the moment it was known.

    A filled point is a model that became the best at that moment. Where some rows of an exam had been examined before,
    the score is too high, and stands apart in another colour. The diamond is `score_estimate_`, from fresh rows
    alone. Models without an exam are strokes at the bottom.

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
    >>> ax = viz.learning_curve(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('seconds since the start of fit', 'accuracy')
    """
    ax = axes_for(estimator, ax)
    rounds = estimator.history_
    examined = [one for one in rounds if one.estimate is not None]
    if not examined:
        return say(ax, "No model sat an exam,\nso there is no score to draw.")
    name = score_name(estimator)
    _draw(ax, [one for one in examined if not one.is_flattered], BLUE, f"{name}, 95 % interval", joined=True)
    _draw(ax, [one for one in examined if one.is_flattered], ORANGE, "too high: rows seen before", joined=False)
    ax.plot([], [], "o", color=GREY, label="filled: became the best")
    _mark_returned(ax, estimator)
    _unexamined(ax, [one for one in rounds if one.estimate is None])
    limit = limit_near(estimator)
    if limit is not None:
        ax.axvline(limit, color=GREY, linestyle="--", linewidth=1, label=f"limit, {limit:g} s")
    ax.set(xlabel="seconds since the start of fit", xlim=(0, None))
    ax.set_ylabel(name, parse_math=False)
    legend_above(ax)
    return ax


def _draw(ax: Axes, rounds: Sequence[Round], colour: str, label: str, *, joined: bool) -> None:
    if not rounds:
        return
    times, scores, low, high = np.array([(one.elapsed, one.estimate, one.low, one.high) for one in rounds], float).T
    best = np.array([one.best for one in rounds])
    if joined:
        ax.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(times, scores, "-", color=colour, linewidth=1.5)
    # The ends of an interval are to be seen also where there is one round only, and the band has no width.
    ax.vlines(times, low, high, color=colour, alpha=0.6, linewidth=1)
    ax.plot(times[best], scores[best], "o", color=colour)
    ax.plot(times[~best], scores[~best], "o", color=colour, markerfacecolor="none")
    ax.plot([], [], "-o" if joined else "o", color=colour, markerfacecolor="none", label=label)


def _mark_returned(ax: Axes, estimator: Fitted) -> None:
    """The score that the fit ended with, at its model's moment."""
    best, found = returned(estimator), estimator.score_estimate_
    if best is not None and found is not None:
        ax.vlines(best.elapsed, found[1], found[2], color=GREEN, linewidth=2)
        ax.plot(best.elapsed, found[0], "D", color=GREEN, markersize=5, zorder=3, label=f"returned: {found[0]:.4f}")


def _unexamined(ax: Axes, rounds: Sequence[Round]) -> None:
    if rounds:
        times, heights, where = [one.elapsed for one in rounds], [0.02] * len(rounds), ax.get_xaxis_transform()
        ax.plot(times, heights, "|", color=GREY, transform=where, label="a model without an exam")
