"""Which classes were taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from fitwithin.viz._axes import axes_for, legend_above, plain_log
from fitwithin.viz._fitted import Fitted, check_fitted
from fitwithin.viz._html import printable
from fitwithin.viz._style import BLUE, EDGE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST = 14


_LONGEST = 22


class FittedClassifier(Fitted, Protocol):
    """A fitted `TimeConstrainedClassifier`."""

    classes_: npt.NDArray[Any]
    class_count_: npt.NDArray[np.integer[Any]]
    class_count_taught_: npt.NDArray[np.integer[Any]]


def classes_taught(estimator: FittedClassifier, ax: Axes | None = None) -> Axes:
    """Draw the share of each class in the pool and among the rows behind the best model.

    The scale is logarithmic, so that rare classes are seen as well. Of many classes those are drawn whose share changed
    most.

    Parameters
    ----------
    estimator : TimeConstrainedClassifier
        A fitted one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; on new axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        With the picture.

    Raises
    ------
    TypeError
        If it is a regressor.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fitwithin import TimeConstrainedClassifier, viz
    >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
    >>> ax = viz.classes_taught(clf.fit(*make_classification(5_000, random_state=0)), Figure().subplots())
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['0', '1']
    """
    check_fitted(estimator)
    if not hasattr(estimator, "class_count_taught_"):
        raise TypeError(f"Only a classifier has classes that were taught; got {type(estimator).__name__}.")
    ax = axes_for(estimator, ax)
    pool = 100 * estimator.class_count_ / estimator.class_count_.sum()
    taught = 100 * estimator.class_count_taught_ / estimator.class_count_taught_.sum()
    least = 0.5 * float(np.concatenate([pool, taught[taught > 0]]).min())
    shown = _shown(pool, np.maximum(taught, least))
    names = [_short(estimator.classes_[place]) for place in shown]
    _draw(ax, pool[shown], taught[shown], least)
    ax.set_yticks(range(len(shown)), names)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    few = f"; {len(shown)} of {len(pool):,} classes, those that changed most" if len(shown) < len(pool) else ""
    ax.set_xlabel(f"% of the rows{few}")
    legend_above(ax)
    return ax


def _shown(pool: npt.NDArray[Any], taught: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The places of the classes to be drawn, the most frequent one last, which is on top."""
    changed = np.argsort(-np.abs(np.log(taught / pool)), kind="stable")[:_MOST]
    # Of classes that are as frequent the first stays at the bottom.
    ordered: npt.NDArray[np.intp] = np.sort(changed)[np.argsort(pool[np.sort(changed)], kind="stable")]
    return ordered


def _draw(ax: Axes, pool: npt.NDArray[Any], taught: npt.NDArray[Any], least: float) -> None:
    places, there = np.arange(len(pool)), taught > 0
    ax.hlines(places, pool, np.maximum(taught, least), color=EDGE, linewidth=2, zorder=1.5)
    ax.plot(pool, places, "o", color=GREY, markerfacecolor="none", label="in the pool")
    ax.plot(taught[there], places[there], "o", color=BLUE, label="taught")
    if not there.all():
        ax.plot(np.full(np.count_nonzero(~there), least), places[~there], "x", color=ORANGE, label="not taught")
    ax.set(xscale="log", ylim=(-0.6, len(pool) - 0.4))
    plain_log(ax.xaxis)


def _short(name: object) -> str:
    text = printable(str(name)).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
