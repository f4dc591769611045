"""Trees out of a file: whether following them ends, and reads nothing but what is theirs.

scikit-learn follows the numbers in a tree's nodes without looking, so a file that was made up could crash the process
or have it read memory at will. skops therefore trusts no tree; here they are trusted because they are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array

_LEAF = -1


_WORDS_OF_A_SET = 8
"""256 categories, 32 to a number."""


def refuse_unsound_trees(model: Any) -> None:
    """Look at every tree of scikit-learn in a model.

    Raises
    ------
    UserInputError
        If one of them points to where it has nothing.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> refuse_unsound_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    for part in _parts(model):
        if not _is_sound(part):
            raise UserInputError(
                "Its trees point to where there is nothing: the file is damaged, or made to do harm.",
                "Do not use it; train the model again.",
            )


def _parts(model: Any) -> Iterator[Any]:
    """Everything that a model is made of, once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | bytearray | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype.hasobject else ()
        else:
            waiting += getattr(part, "__dict__", {}).values()


def _is_sound(part: Any) -> bool:
    # Every claim is looked at: a file could add one attribute to hide another.
    checks = {"tree_": _own_tree, "_predictors": _booster, "estimators_": _members}
    try:
        return all(check(part) for name, check in checks.items() if hasattr(part, name))
    except (AttributeError, IndexError, TypeError, ValueError):
        # Something that every grown tree has is not there, or is something else.
        return False


def _own_tree(owner: Any) -> bool:
    return _tree_is_sound(owner.tree_, int(owner.n_features_in_))


def _booster(owner: Any) -> bool:
    """The trees, and the tables beside them that are followed without looking too."""
    bins, width = owner._bin_mapper, owner.n_features_in_
    # In the order of the trees, in which these features come first; the owner's own list has that of the columns.
    categorical = np.asarray(bins.is_categorical_, bool)
    return bool(
        owner._n_features == width == len(bins.bin_thresholds_) == len(categorical)
        and all(_predictor_is_sound(tree, width, categorical) for trees in owner._predictors for tree in trees)
    )


def _members(owner: Any) -> bool:
    """An ensemble looks at the width of its input once, and its members not at all, but for those of bagging."""
    if isinstance(owner, BaggingClassifier | BaggingRegressor):
        return True
    members = [member for member in np.ravel(owner.estimators_) if hasattr(member, "tree_")]
    # Gradient boosting writes to as many columns as it has trees a round.
    columns = getattr(owner, "n_trees_per_iteration_", None)
    return bool(
        all(member.n_features_in_ == owner.n_features_in_ for member in members)
        and (columns is None or np.shape(owner.estimators_)[1:] == (columns,))
    )


def _tree_is_sound(tree: Any, features: int) -> bool:
    left, right = tree.children_left, tree.children_right
    is_leaf = left == _LEAF
    return bool(
        tree.n_features == features
        and len(left)
        and (is_leaf == (right == _LEAF)).all()
        and _children_come_later(left, right, ~is_leaf)
        and _within(tree.feature[~is_leaf], features)
    )


def _predictor_is_sound(predictor: Any, features: int, is_categorical: Array) -> bool:
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    splits = nodes["is_leaf"] == 0
    categorical = nodes[splits & (nodes["is_categorical"] != 0)]
    return bool(
        len(nodes)
        and _children_come_later(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), splits)
        and _within(nodes["feature_idx"][splits], features)
        and sets.shape[1:] == (_WORDS_OF_A_SET,)
        and _within(categorical["bitset_idx"], len(sets))
        and is_categorical[categorical["feature_idx"]].all()
    )


def _children_come_later(left: Array, right: Array, splits: Array) -> bool:
    """Whether every way down gets on, and ends."""
    here = np.flatnonzero(splits)
    children = np.concatenate([left[here], right[here]])
    return bool((children > np.tile(here, 2)).all() and (children < len(left)).all())


def _within(numbers: Array, end: int) -> bool:
    return bool((numbers >= 0).all() and (numbers < end).all())
