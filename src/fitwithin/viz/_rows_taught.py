"""The picture of the training rows of each round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin.viz._axes import add_legend_above, get_axes, show_message
from fitwithin.viz._fitted_estimator import FittedEstimator
from fitwithin.viz._palette import BLUE, EDGE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Gap on each side of a bar, in rounds.
_BAR_GAP = 0.1


def rows_taught(estimator: FittedEstimator, ax: Axes | None = None) -> Axes:
    """Draw the training rows of each round: those used before, new mistakes of the previous model, new random ones.

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
    >>> ax = viz.rows_taught(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['new, random', 'new, mistakes of the previous model', 'used before']
    """
    from matplotlib.ticker import MaxNLocator

    ax = get_axes(estimator, ax)
    rounds = estimator.history_
    if not rounds:
        return show_message(ax, "No round was finished.")
    numbers = [finished.number for finished in rounds]
    before = np.array([one.rows - one.new_rows for one in rounds], dtype=float)
    mistakes = np.array([one.new_mistakes for one in rounds], dtype=float)
    random = np.array([one.new_rows - one.new_mistakes for one in rounds], dtype=float)
    _draw_bars(ax, numbers, before + mistakes, before + mistakes + random, BLUE, "new, random")
    _draw_bars(ax, numbers, before, before + mistakes, ORANGE, "new, mistakes of the previous model")
    _draw_bars(ax, numbers, np.zeros_like(before), before, EDGE, "used before")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set(xlabel="round", ylabel="training rows", xlim=(numbers[0] - 0.6, numbers[-1] + 0.6))
    ax.set_ylim(bottom=0)
    add_legend_above(ax)
    return ax


def _draw_bars(ax: Axes, numbers: Sequence[int], low: Any, high: Any, colour: str, label: str) -> None:
    # One outline with gaps instead of a rectangle per round: mini-batch teachers have thousands of rounds.
    sides = np.array([(number - 0.5 + _BAR_GAP, number + 0.5 - _BAR_GAP) for number in numbers]).ravel()
    gaps = np.full(len(numbers) - 1, np.nan)
    tops, bottoms = (np.insert(values, np.arange(1, len(numbers)), gaps) for values in (high, low))
    ax.stairs(tops, sides, baseline=bottoms, fill=True, color=colour, label=label, linewidth=0)
