"""Trees that point to where there is nothing are refused before anybody follows them."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fitwithin._any_labels import AnyLabels
from fitwithin._exceptions import Unusable
from fitwithin._model_file._sound_trees import refuse_unsound_trees

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (400, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] > 7).astype(int)


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
        make_pipeline("passthrough", AnyLabels(DecisionTreeClassifier())),
    ],
    ids=str,
)
def test_trees_that_were_grown_are_sound(model):
    refuse_unsound_trees(model.fit(X, Y))


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
def test_a_tree_with_a_wrong_number_is_refused(field, value):
    model = with_nodes(DecisionTreeClassifier().fit(X, Y), field, value)

    with pytest.raises(Unusable, match="point to where there is nothing"):
        refuse_unsound_trees([model])


def test_a_wrong_tree_is_found_in_a_forest():
    forest = RandomForestClassifier(3).fit(X, Y)
    with_nodes(forest.estimators_[2], "left_child", 10**6)

    with pytest.raises(Unusable):
        refuse_unsound_trees(forest)


def test_a_tree_for_wider_rows_is_refused():
    tree = DecisionTreeClassifier().fit(X, Y)
    tree.n_features_in_ = 2

    with pytest.raises(Unusable):
        refuse_unsound_trees(tree)


def test_a_forest_of_trees_for_wider_rows_is_refused():
    forest = RandomForestClassifier(3).fit(X, Y)
    forest.n_features_in_ = 2

    with pytest.raises(Unusable):
        refuse_unsound_trees(forest)


@pytest.mark.parametrize(
    ("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 4), ("is_categorical", 1), ("feature_idx", -1)]
)
def test_a_booster_with_a_wrong_number_is_refused(field, value):
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    model._predictors[1][0].nodes[field][0] = value

    with pytest.raises(Unusable):
        refuse_unsound_trees(model)


def test_a_set_of_categories_that_is_not_there_is_refused():
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 1, 2, 3]).fit(X, Y)
    model._predictors[0][0].nodes["bitset_idx"][0] = 10**6

    with pytest.raises(Unusable):
        refuse_unsound_trees(model)
