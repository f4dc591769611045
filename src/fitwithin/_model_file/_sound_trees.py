"""Trees out of a file: whether following them ends, and reads nothing but what is theirs.

scikit-learn follows the numbers in a tree's nodes without looking, so a file that was made up could crash the process
or have it read memory at will. skops therefore trusts no tree; here they are trusted because they are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._exceptions import Unusable
from .._target import Array

_LEAF = -1


def refuse_unsound_trees(model: Any) -> None:
    """Look at every tree of scikit-learn in a model.

    Raises
    ------
    Unusable
        If one of them points to where it has nothing.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> refuse_unsound_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    for part in _parts(model):
        if not _is_sound(part):
            raise Unusable(
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
    if hasattr(part, "tree_"):
        return _tree_is_sound(part.tree_, int(part.n_features_in_))
    if hasattr(part, "_predictors"):
        return all(_predictor_is_sound(tree, part) for trees in part._predictors for tree in trees)
    # An ensemble looks at the width of its input once, and its members not at all.
    if hasattr(part, "estimators_") and not hasattr(part, "estimators_features_"):
        members = [member for member in np.ravel(part.estimators_) if hasattr(member, "tree_")]
        return all(member.n_features_in_ == part.n_features_in_ for member in members)
    return True


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


def _predictor_is_sound(predictor: Any, owner: Any) -> bool:
    nodes = predictor.nodes
    splits = nodes["is_leaf"] == 0
    categorical = nodes[splits & (nodes["is_categorical"] != 0)]
    declared = np.zeros(owner.n_features_in_, bool)
    if getattr(owner, "is_categorical_", None) is not None:
        declared[: len(owner.is_categorical_)] = owner.is_categorical_
    return bool(
        len(nodes)
        and _children_come_later(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), splits)
        and _within(nodes["feature_idx"][splits], owner.n_features_in_)
        and _within(categorical["bitset_idx"], len(predictor.raw_left_cat_bitsets))
        and declared[categorical["feature_idx"]].all()
    )


def _children_come_later(left: Array, right: Array, splits: Array) -> bool:
    """Whether every way down gets on, and ends."""
    here = np.flatnonzero(splits)
    children = np.concatenate([left[here], right[here]])
    return bool((children > np.tile(here, 2)).all() and (children < len(left)).all())


def _within(numbers: Array, end: int) -> bool:
    return bool((numbers >= 0).all() and (numbers < end).all())
