"""Checks for the trees in a model file.

scikit-learn follows the indices in a tree's nodes without bounds checks, so a forged file could crash the process or
read arbitrary memory. skops therefore trusts no tree. fitwithin trusts trees because it checks them here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor

from fitwithin._core.model_file.array_checks import are_within, is_count, is_plain_array
from fitwithin._core.target import Array

_LEAF = -1
"""Child index of a leaf in a scikit-learn tree."""


_BITSET_WORDS = 8
"""32-bit words of one category set in histogram boosting: it has at most 256 categories."""


def has_valid_trees(owner: Any) -> bool:
    """Return whether the trees of an object refer only to nodes, features and category sets that exist.

    Parameters
    ----------
    owner : object
        A tree, an ensemble, or any other object, which has no trees. Parts of it that are objects of their own are
        not looked at.

    Raises
    ------
    Exception
        Of any type, if an attribute that every fitted tree has is missing or of another type.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> has_valid_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    True
    """
    # All checks that apply are run: a forged file could add one attribute to hide another.
    checks = {"tree_": _has_valid_tree, "_predictors": _has_valid_predictors, "estimators_": _has_valid_members}
    attributes = getattr(owner, "__dict__", {})
    return all(check(owner) for name, check in checks.items() if name in attributes)


def _has_valid_tree(owner: Any) -> bool:
    return is_count(owner.n_features_in_) and _is_valid_tree(owner.tree_, owner.n_features_in_)


def _has_valid_predictors(owner: Any) -> bool:
    """Check the trees of histogram boosting, and the tables beside them that are also read without bounds checks.

    scikit-learn has no public access to either.
    """
    bins, n_features = owner._bin_mapper, owner.n_features_in_
    # In the trees' order of features, categorical ones first; the owner's own mask has the order of the columns.
    is_categorical = bins.is_categorical_
    return bool(
        is_count(n_features)
        and is_plain_array(is_categorical, 1, "bu")
        and owner._n_features == n_features == len(bins.bin_thresholds_) == len(is_categorical)
        # During a fit, rows are not checked.
        and "_in_fit" not in vars(owner)
        and _has_valid_preprocessor(owner)
        and all(
            _is_valid_predictor(tree, n_features, is_categorical.astype(bool))
            for trees in owner._predictors
            for tree in trees
        )
    )


def _has_valid_preprocessor(owner: Any) -> bool:
    """Whether the rows are checked by the model, or by a function that the user trusted by name.

    Any other preprocessor could hand rows to the trees that have too few columns.
    """
    preprocessor = owner._preprocessor
    return preprocessor is None or isinstance(preprocessor.named_transformers_["numerical"].func, partial)


def _has_valid_members(owner: Any) -> bool:
    """Check the members' input width: only the ensemble compares it with the rows, except in bagging."""
    if isinstance(owner, BaggingClassifier | BaggingRegressor):
        return True
    members = np.ravel(np.asarray(owner.estimators_, dtype=object))
    trees = [member for member in members if "tree_" in getattr(member, "__dict__", {})]
    widths = {member.n_features_in_ for member in trees}
    if trees and not (is_count(owner.n_features_in_) and widths == {owner.n_features_in_}):
        return False
    # Gradient boosting writes to one column for each tree of a round.
    return "n_trees_per_iteration_" not in vars(owner) or _has_valid_rounds(owner, len(trees) == len(members))


def _has_valid_rounds(owner: Any, has_trees_only: bool) -> bool:
    """Whether the model before the first tree has one column for each tree of a round."""
    n_columns = owner.n_trees_per_iteration_
    if not (has_trees_only and is_plain_array(owner.estimators_, 2) and owner.estimators_.shape[1] == n_columns):
        return False
    if isinstance(owner.init_, str):
        return True
    # Its columns and rows do not depend on the values of the rows it gets. That of another learner could.
    has_simple_start = type(owner.init_) in (DummyClassifier, DummyRegressor)
    rows = np.zeros((2, owner.n_features_in_), np.float32)
    return has_simple_start and owner._raw_predict_init(rows).shape == (len(rows), n_columns)


def _is_valid_tree(tree: Any, n_features: int) -> bool:
    left, right = tree.children_left, tree.children_right
    is_leaf = left == _LEAF
    return bool(
        tree.n_features == n_features
        and tree.n_outputs >= 1
        and tree.max_n_classes >= 1
        and len(left)
        and (is_leaf == (right == _LEAF)).all()
        and _children_come_later(left, right, ~is_leaf)
        and are_within(tree.feature[~is_leaf], n_features)
    )


def _is_valid_predictor(predictor: Any, n_features: int, is_categorical: Array) -> bool:
    nodes, bitsets = predictor.nodes, predictor.raw_left_cat_bitsets
    if not (is_plain_array(nodes, 1, "V") and is_plain_array(bitsets, 2, "u")):
        return False
    is_split = nodes["is_leaf"] == 0
    categorical = nodes[is_split & (nodes["is_categorical"] != 0)]
    return bool(
        len(nodes)
        and _children_come_later(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_split)
        and are_within(nodes["feature_idx"][is_split], n_features)
        and bitsets.shape[1] == _BITSET_WORDS
        and are_within(categorical["bitset_idx"], len(bitsets))
        and is_categorical[categorical["feature_idx"]].all()
    )


def _children_come_later(left: Array, right: Array, is_split: Array) -> bool:
    """Whether every path from the root moves forward, and so ends."""
    parents = np.flatnonzero(is_split)
    children = np.concatenate([left[parents], right[parents]])
    return bool((children > np.tile(parents, 2)).all() and (children < len(left)).all())
