"""Trees that do not exist are refused before anybody follows them."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file.model_checks import validate_model
from fitwithin._presets import LabelEncodedClassifier

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (400, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] > 7).astype(int)
BY_CATEGORY = (X[:, 3] % 2).astype(int)


def with_nodes(model, field, value, at=0):
    """The same tree with one number changed in its nodes."""
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes[field][at] = value
    model.tree_.__setstate__({**state, "nodes": nodes})
    return model


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        RandomForestClassifier(3),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 2]),
        BaggingClassifier(DecisionTreeClassifier(), 3, max_features=2),
        make_pipeline("passthrough", LabelEncodedClassifier(DecisionTreeClassifier())),
    ],
    ids=str,
)
def test_fitted_trees_are_valid(model):
    validate_model(model.fit(X, Y))


@pytest.mark.parametrize("column", range(4))
def test_category_sets_are_valid_in_every_column(column):
    validate_model(HistGradientBoostingClassifier(categorical_features=[column]).fit(X, BY_CATEGORY))
    validate_model(HistGradientBoostingClassifier(categorical_features=[column]).fit(X[:, ::-1], BY_CATEGORY))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 10**6),
        ("right_child", -7),
        ("feature", 4),
        ("feature", -1),
        ("left_child", 0),
        ("left_child", -1),
    ],
)
def test_a_tree_with_a_wrong_index_is_refused(field, value):
    model = with_nodes(DecisionTreeClassifier().fit(X, Y), field, value)

    with pytest.raises(UserInputError, match="do not exist"):
        validate_model([model])


def test_an_invalid_tree_is_found_in_a_forest():
    forest = RandomForestClassifier(3).fit(X, Y)
    with_nodes(forest.estimators_[2], "left_child", 10**6)

    with pytest.raises(UserInputError):
        validate_model(forest)


def test_a_tree_for_wider_rows_is_refused():
    tree = DecisionTreeClassifier().fit(X, Y)
    tree.n_features_in_ = 2

    with pytest.raises(UserInputError):
        validate_model(tree)


def test_a_forest_of_trees_for_wider_rows_is_refused():
    forest = RandomForestClassifier(3).fit(X, Y)
    forest.n_features_in_ = 2

    with pytest.raises(UserInputError):
        validate_model(forest)


@pytest.mark.parametrize(
    ("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 4), ("is_categorical", 1), ("feature_idx", -1)]
)
def test_a_booster_with_a_wrong_index_is_refused(field, value):
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    model._predictors[1][0].nodes[field][0] = value

    with pytest.raises(UserInputError):
        validate_model(model)


def test_a_missing_category_set_is_refused():
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 1, 2, 3]).fit(X, Y)
    model._predictors[0][0].nodes["bitset_idx"][0] = 10**6

    with pytest.raises(UserInputError):
        validate_model(model)


def hist(**changes):
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[3]).fit(X, BY_CATEGORY)
    return with_changes(model, **changes)


def with_changes(model, **changes):
    for name, value in changes.items():
        setattr(model, name, value)
    return model


def a_hidden_wrong_index():
    model = hist(tree_=DecisionTreeClassifier().fit(X, Y).tree_)
    model._predictors[0][0].nodes["left"][0] = 2**31
    return model


def trees_for_wider_rows():
    narrow, wide = (GradientBoostingClassifier(n_estimators=3).fit(rows, Y) for rows in (X, np.hstack([X] * 9)))
    narrow.estimators_[1:] = wide.estimators_[1:]
    return with_changes(narrow, estimators_features_=[])


def more_trees_than_columns():
    model = GradientBoostingClassifier(n_estimators=3).fit(X, Y)
    return with_changes(model, estimators_=np.repeat(model.estimators_, 50, axis=1))


def a_preprocessor_that_drops_columns():
    dropping = make_column_transformer(("passthrough", [0])).fit(X)
    return hist(n_features_in_=50_000, _preprocessor=dropping)


def bins_of(**changes):
    model = hist()
    with_changes(model._bin_mapper, **changes)
    return model


def empty_category_sets():
    model = hist()
    for (tree,) in model._predictors:
        tree.raw_left_cat_bitsets = np.zeros((len(tree.raw_left_cat_bitsets), 0), np.uint32)
    return model


@pytest.mark.parametrize(
    "forge",
    [
        a_hidden_wrong_index,
        trees_for_wider_rows,
        more_trees_than_columns,
        a_preprocessor_that_drops_columns,
        lambda: bins_of(bin_thresholds_=[]),
        lambda: bins_of(is_categorical_=np.zeros(0, np.uint8)),
        empty_category_sets,
        lambda: hist(_bin_mapper=None),
        lambda: hist(_predictors=[["no tree"]]),
    ],
)
def test_a_forged_model_that_reads_or_writes_out_of_bounds_is_refused(forge):
    with pytest.raises(UserInputError, match="do not exist"):
        validate_model(forge())
