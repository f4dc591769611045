"""The picture of the class shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from fitwithin._core.printable_text import replace_unprintable
from fitwithin.viz._axes import add_legend_above, format_log_axis, get_axes
from fitwithin.viz._fitted_estimator import FittedEstimator, check_fitted
from fitwithin.viz._palette import BLUE, EDGE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# More classes than this would not fit the height of the picture.
_MAX_CLASSES = 14


# Characters of a class name; longer names would leave no width for the picture.
_MAX_NAME_LENGTH = 22


class FittedClassifier(FittedEstimator, Protocol):
    """A fitted `TimeConstrainedClassifier`."""

    classes_: npt.NDArray[Any]
    class_count_: npt.NDArray[np.integer[Any]]
    class_count_trained_: npt.NDArray[np.integer[Any]]


def class_shares(estimator: FittedClassifier, ax: Axes | None = None) -> Axes:
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
    ax.set_yticks(range(len(shown)), [_shorten_name(estimator.classes_[index]) for index in shown])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    selection = (
        f"; {len(shown)} of {len(in_data):,} classes, those that changed most" if len(shown) < len(in_data) else ""
    )
    ax.set_xlabel(f"% of the rows{selection}")
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
