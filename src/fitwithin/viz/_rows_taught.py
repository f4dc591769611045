"""What was taught, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin.viz._axes import axes_for, legend_above, say
from fitwithin.viz._fitted import Fitted
from fitwithin.viz._style import BLUE, EDGE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GAP = 0.1


def rows_taught(estimator: Fitted, ax: Axes | None = None) -> Axes:
    """Draw the rows of each lesson: those of earlier lessons, new mistakes of the model before, and new random rows.

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
    >>> ax = viz.rows_taught(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['new, random', 'new, mistakes of the model before', 'taught before']
    """
    from matplotlib.ticker import MaxNLocator

    ax = axes_for(estimator, ax)
    rounds = estimator.history_
    if not rounds:
        return say(ax, "No round was finished.")
    numbers = [one.number for one in rounds]
    before = np.array([one.rows - one.new_rows for one in rounds], dtype=float)
    mistakes = np.array([one.new_mistakes for one in rounds], dtype=float)
    random = np.array([one.new_rows - one.new_mistakes for one in rounds], dtype=float)
    _bars(ax, numbers, before + mistakes, before + mistakes + random, BLUE, "new, random")
    _bars(ax, numbers, before, before + mistakes, ORANGE, "new, mistakes of the model before")
    _bars(ax, numbers, np.zeros_like(before), before, EDGE, "taught before")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set(xlabel="round", ylabel="rows of the lesson", xlim=(numbers[0] - 0.6, numbers[-1] + 0.6))
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def _bars(ax: Axes, numbers: Sequence[int], low: Any, high: Any, colour: str, label: str) -> None:
    # One outline with gaps instead of a rectangle a round: a teacher of mini-batches has thousands.
    sides = np.array([(number - 0.5 + _GAP, number + 0.5 - _GAP) for number in numbers]).ravel()
    gaps = np.full(len(numbers) - 1, np.nan)
    tops, bottoms = (np.insert(values, np.arange(1, len(numbers)), gaps) for values in (high, low))
    ax.stairs(tops, sides, baseline=bottoms, fill=True, color=colour, label=label, linewidth=0)
