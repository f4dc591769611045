"""Checks for the trees in a model file.

scikit-learn follows the indices in a tree's nodes without bounds checks, so a forged file could crash the process or
read arbitrary memory. skops therefore trusts no tree. fitwithin trusts trees because it checks them here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array

_LEAF = -1
"""Child index of a leaf in a scikit-learn tree."""


_BITSET_WORDS = 8
"""32-bit words of one category set in histogram boosting: it has at most 256 categories."""


def validate_trees(model: Any) -> None:
    """Check every scikit-learn tree in a model.

    Raises
    ------
    UserInputError
        If a tree refers to a node, a feature or a category set that does not exist.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> validate_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    for member in _walk_objects(model):
        if not _is_valid(member):
            raise UserInputError(
                "Its trees refer to nodes or features that do not exist: the file is damaged or malicious.",
                "Do not use it; train the model again.",
            )


def _walk_objects(model: Any) -> Iterator[Any]:
    """Yield the model and every object it contains, each once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, str | bytes | bytearray | int | float | type(None)):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list | tuple | set):
            waiting += found
        elif isinstance(found, np.ndarray):
            waiting += found.ravel().tolist() if found.dtype.hasobject else ()
        else:
            waiting += getattr(found, "__dict__", {}).values()


def _is_valid(member: Any) -> bool:
    # All checks that apply are run: a forged file could add one attribute to hide another.
    checks = {"tree_": _has_valid_tree, "_predictors": _has_valid_predictors, "estimators_": _has_valid_members}
    try:
        return all(check(member) for name, check in checks.items() if hasattr(member, name))
    except (AttributeError, IndexError, TypeError, ValueError):
        # An attribute that every fitted tree has is missing, or has another type.
        return False


def _has_valid_tree(owner: Any) -> bool:
    return _is_valid_tree(owner.tree_, int(owner.n_features_in_))


def _has_valid_predictors(owner: Any) -> bool:
    """Check the trees of histogram boosting, and the tables beside them that are also read without bounds checks.

    scikit-learn has no public access to either.
    """
    bins, n_features = owner._bin_mapper, owner.n_features_in_
    # In the trees' order of features, categorical ones first; the owner's own mask has the order of the columns.
    is_categorical = np.asarray(bins.is_categorical_, bool)
    return bool(
        owner._n_features == n_features == len(bins.bin_thresholds_) == len(is_categorical)
        and all(_is_valid_predictor(tree, n_features, is_categorical) for trees in owner._predictors for tree in trees)
    )


def _has_valid_members(owner: Any) -> bool:
    """Check the members' input width: only the ensemble compares it with the rows, except in bagging."""
    if isinstance(owner, BaggingClassifier | BaggingRegressor):
        return True
    members = [member for member in np.ravel(owner.estimators_) if hasattr(member, "tree_")]
    # Gradient boosting writes to one column for each tree of a round.
    n_columns = getattr(owner, "n_trees_per_iteration_", None)
    return bool(
        all(member.n_features_in_ == owner.n_features_in_ for member in members)
        and (n_columns is None or np.shape(owner.estimators_)[1:] == (n_columns,))
    )


def _is_valid_tree(tree: Any, n_features: int) -> bool:
    left, right = tree.children_left, tree.children_right
    is_leaf = left == _LEAF
    return bool(
        tree.n_features == n_features
        and len(left)
        and (is_leaf == (right == _LEAF)).all()
        and _children_come_later(left, right, ~is_leaf)
        and _are_within(tree.feature[~is_leaf], n_features)
    )


def _is_valid_predictor(predictor: Any, n_features: int, is_categorical: Array) -> bool:
    nodes, bitsets = predictor.nodes, predictor.raw_left_cat_bitsets
    is_split = nodes["is_leaf"] == 0
    categorical = nodes[is_split & (nodes["is_categorical"] != 0)]
    return bool(
        len(nodes)
        and _children_come_later(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_split)
        and _are_within(nodes["feature_idx"][is_split], n_features)
        and bitsets.shape[1:] == (_BITSET_WORDS,)
        and _are_within(categorical["bitset_idx"], len(bitsets))
        and is_categorical[categorical["feature_idx"]].all()
    )


def _children_come_later(left: Array, right: Array, is_split: Array) -> bool:
    """Whether every path from the root moves forward, and so ends."""
    parents = np.flatnonzero(is_split)
    children = np.concatenate([left[parents], right[parents]])
    return bool((children > np.tile(parents, 2)).all() and (children < len(left)).all())


def _are_within(indices: Array, end: int) -> bool:
    return bool((indices >= 0).all() and (indices < end).all())
