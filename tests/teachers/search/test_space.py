import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fitwithin._presets import LabelEncodedClassifier
from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Space, make_space, make_spaces


def test_a_space_has_the_parameters_of_the_dict():
    space = make_space(LogisticRegression(), {"C": loguniform(0.5, 2), "solver": ["saga", "lbfgs"]})

    assert space.parameters == {"C": FloatRange(0.5, 2.0, log=True), "solver": Choice(("saga", "lbfgs"))}


def test_the_start_is_the_lowest_step_count_and_else_the_learners_own_values():
    distributions = {
        "n_estimators": randint(10, 500),
        "max_depth": [30, 3, None],
        "min_samples_leaf": [1, 5],
        "max_features": [0.2, 0.9],
        "ccp_alpha": norm(0, 1),
    }

    space = make_space(RandomForestClassifier(), distributions)

    assert space.cheap == {"n_estimators": 10, "max_depth": 3, "min_samples_leaf": 1, "max_features": 0.9}
    assert space.steps == "n_estimators"


def test_steps_inside_a_pipeline_are_found_under_their_full_name():
    pipeline = make_pipeline(StandardScaler(), SGDClassifier())

    space = make_space(pipeline, {"sgdclassifier__max_iter": [50, 5, 500], "standardscaler__with_mean": [True, False]})

    assert space.steps == "sgdclassifier__max_iter"
    assert space.cheap == {"sgdclassifier__max_iter": 5, "standardscaler__with_mean": True}


def test_a_step_of_a_pipeline_can_be_searched_itself():
    pipeline = make_pipeline(StandardScaler(), SGDClassifier())

    assert set(make_space(pipeline, {"standardscaler": ["passthrough", StandardScaler()]}).parameters) == {
        "standardscaler"
    }


def test_samples_have_every_parameter_and_complete_ones_keep_what_is_given():
    space = Space({"a": IntRange(1, 9), "b": Choice(("x", "y")), "c": FloatRange(0, 1)}, {"a": 2, "b": "x"})
    random = np.random.RandomState(0)

    assert set(space.sample(random)) == {"a", "b", "c"}
    completed = space.complete({"b": "y"}, random)
    assert (completed["a"], completed["b"]) == (2, "y")
    assert 0 <= completed["c"] <= 1


@pytest.mark.parametrize(
    ("estimator", "name", "words"),
    [
        (LogisticRegression(), "c", "LogisticRegression has no parameter 'c'; it has C, class_weight, "),
        (LogisticRegression(), "max_itr", "Did you mean 'max_iter'?"),
        (LogisticRegression(), "C__x", "LogisticRegression has no parameter 'C__x'"),
        (make_pipeline(StandardScaler(), SGDClassifier()), "max_iter", "Pipeline has no parameter 'max_iter'"),
        (make_pipeline(StandardScaler(), SGDClassifier()), "sgdclassifer__alpha", "Pipeline has no parameter"),
        (make_pipeline(SGDClassifier()), "sgdclassifier__alfa", "Did you mean 'sgdclassifier__alpha'?"),
        (LabelEncodedClassifier(SGDClassifier()), "estimator__alfa", "Did you mean 'estimator__alpha'?"),
    ],
)
def test_an_unknown_parameter_is_refused_with_those_that_exist(estimator, name, words):
    with pytest.raises(ValueError, match="has no parameter") as raised:
        make_space(estimator, {name: [1, 2]})

    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("library", "learner", "good", "bad"),
    [
        ("lightgbm", "LGBMClassifier", ("max_bin", "num_leaf"), "num_leave"),
        ("xgboost", "XGBClassifier", ("max_leaves", "learning_rate"), "learningrate"),
        ("catboost", "CatBoostClassifier", ("iterations", "l2_leaf_reg"), "iteration"),
    ],
)
def test_boosters_take_their_parameters_and_no_misspelt_ones(library, learner, good, bad):
    booster = getattr(pytest.importorskip(library), learner)()

    assert set(make_space(booster, {name: [1, 2] for name in good}).parameters) == set(good)
    with pytest.raises(ValueError, match=f"has no parameter '{bad}'"):
        make_space(booster, {bad: [1, 2]})


def test_each_dict_of_a_list_is_a_space_of_its_own():
    first, second = make_spaces(LogisticRegression(), [{"C": [1, 2]}, {"max_iter": [5], "C": [3]}])

    assert (set(first.parameters), set(second.parameters)) == ({"C"}, {"max_iter", "C"})


@pytest.mark.parametrize("distributions", [[1], None, "C", 3])
def test_what_is_no_dict_is_refused(distributions):
    with pytest.raises(TypeError, match="expected a dict of parameter names"):
        make_spaces(LogisticRegression(), distributions)


def test_an_empty_space_is_refused():
    with pytest.raises(ValueError, match="param_distributions is empty"):
        make_space(LogisticRegression(), {})


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match="A parameter's name is 3"):
        make_space(LogisticRegression(), {3: [1, 2]})
