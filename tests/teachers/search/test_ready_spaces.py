import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

from fitwithin._presets import CLASSIFIERS, REGRESSORS, LabelEncodedClassifier, make_preset
from fitwithin.backends._early_stopping.registry import find_inner_learner
from fitwithin.teachers._search.ready_spaces import READY_SPACES, DataShape
from fitwithin.teachers._search.ready_spaces import find_ready_space as find_space
from fitwithin.teachers._search.space import Space

SKLEARN_LEARNERS = dict(all_estimators())
QUIET = {"lightgbm": {"verbose": -1, "n_jobs": 1}, "xgboost": {"n_jobs": 1}}
QUIET["catboost"] = {"verbose": False, "allow_writing_files": False, "thread_count": 1}


def find_ready_space(learner, n_rows, n_classes=3):
    return find_space(learner, DataShape(n_rows, 10, n_classes), find_inner_learner(learner))


def make_learner(package, name):
    if package == "sklearn":
        return SKLEARN_LEARNERS[name]()
    return getattr(pytest.importorskip(package), name)(**QUIET[package])


LEARNERS = pytest.mark.parametrize(("package", "name"), READY_SPACES, ids=lambda key: key)


def fit(learner):
    """Fit on 200 rows, and return the predictions."""
    is_regressor = type(learner).__name__.endswith(("Regressor", "SVR", "Ridge"))
    make_rows = make_regression if is_regressor else make_classification
    X, y = make_rows(200, 10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps do not converge
        return learner.fit(StandardScaler().fit_transform(X), y).predict(X)


@LEARNERS
def test_a_learner_is_fitted_with_its_cheap_settings_and_with_drawn_ones(package, name):
    learner = make_learner(package, name)
    space = find_ready_space(learner, 200)
    drawn = space.sample(np.random.RandomState(0))
    if space.steps is not None:
        drawn[space.steps] = 8

    for values in (space.complete({}, np.random.RandomState(0)), drawn):
        assert fit(clone(learner).set_params(**values)).shape == (200,)


@LEARNERS
def test_the_cheap_settings_are_complete_and_lie_in_the_space(package, name):
    space = find_ready_space(make_learner(package, name), 10**6)

    assert set(space.cheap) == set(space.parameters)
    for parameter_name, parameter in space.parameters.items():
        assert parameter.nearest(space.cheap[parameter_name]) == space.cheap[parameter_name]


@LEARNERS
def test_the_steps_are_a_range_of_the_space(package, name):
    space = find_ready_space(make_learner(package, name), 10**6)

    assert space.steps is None or space.cheap[space.steps] == space.parameters[space.steps].low


@LEARNERS
def test_the_portfolio_has_settings_of_the_space_that_the_learner_takes(package, name):
    learner = make_learner(package, name)

    for n_classes in (0, 2, 3):
        space = find_ready_space(learner, 10**6, n_classes)
        for values in space.portfolio:
            for parameter_name, value in values.items():
                parameter = space.parameters.get(parameter_name)
                assert parameter is None or parameter.nearest(value) == value
            assert clone(learner).set_params(**values).get_params().items() >= values.items()
            assert not {"random_state", "verbose"} & set(values)


@settings(max_examples=30)
@given(n_rows=st.integers(1, 10**7))
def test_no_tree_has_more_leaves_than_half_of_the_rows(n_rows):
    leaves = find_ready_space(make_preset("hist-gradient-boosting"), n_rows).parameters["max_leaf_nodes"]

    assert leaves.high <= max(8, min(4096, n_rows // 2))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_named_classifier_has_a_ready_space(name):
    check_preset(name, regression=False)


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_named_regressor_has_a_ready_space(name):
    check_preset(name, regression=True)


def check_preset(name, regression):
    if name in {"lightgbm", "xgboost", "catboost"}:
        pytest.importorskip(name)
    learner = make_preset(name, regression=regression)
    space = find_ready_space(learner, 1000)
    values = space.sample(np.random.RandomState(0))

    assert clone(learner).set_params(**values).get_params().items() >= values.items()


def test_parameters_inside_a_wrapper_and_a_pipeline_get_its_prefix():
    learner = LabelEncodedClassifier(Pipeline([("scale", StandardScaler()), ("tree", make_preset("decision-tree"))]))

    space = find_ready_space(learner, 1000)

    assert set(space.parameters) == {
        f"estimator__tree__{name}" for name in ("max_depth", "min_samples_leaf", "criterion")
    }


def test_steps_inside_a_pipeline_get_its_prefix():
    assert find_ready_space(make_pipeline(make_preset("sgd-log")), 100).steps == "sgdclassifier__max_iter"


def test_a_subclass_of_a_known_learner_has_its_space():
    class OwnForest(SKLEARN_LEARNERS["RandomForestClassifier"]):
        pass

    assert isinstance(find_ready_space(OwnForest(), 1000), Space)


@pytest.mark.parametrize("learner", [GaussianNB(), make_pipeline(StandardScaler()), make_pipeline(GaussianNB())])
def test_other_learners_have_none(learner):
    assert find_ready_space(learner, 1000) is None


def test_names_that_the_user_chose_in_catboost_stay():
    catboost = pytest.importorskip("catboost")
    learner = catboost.CatBoostClassifier(n_estimators=5, max_depth=3, **QUIET["catboost"])

    space = find_ready_space(learner, 200)

    assert space.steps == "n_estimators"
    assert {"n_estimators", "max_depth"} < set(space.parameters)
    assert fit(learner.set_params(**space.cheap)).shape == (200,)
