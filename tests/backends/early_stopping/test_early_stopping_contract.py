"""What every fit that can be stopped has in common; one list of learners, one contract."""

import itertools
import pickle
from dataclasses import dataclass
from functools import cached_property, partial

import cloudpickle
import numpy as np
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import has_fit_parameter
from xgboost import XGBClassifier, XGBRegressor

from fitwithin.backends._early_stopping import StopSignal, find_early_stopping

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # a few iterations are enough here
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM 4.6 says so of any array
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=len(X)) > 0, 1, 0)
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
NUMBERS = X[:, 0] + X[:, 1] ** 2
MOST = 12


@dataclass(frozen=True, eq=False)
class Case:
    learner: BaseEstimator
    y: np.ndarray
    # The parameter for the number of steps, where a fit cut short is one with a smaller number.
    by_number: str = ""
    # Whether it is asked once in every step.
    often: bool = False

    @cached_property
    def plain(self):
        return clone(self.learner).fit(X, self.y)


told = partial(Case, often=True)


def count(model):
    """Trees, members or iterations."""
    if hasattr(model, "booster_"):
        return model.booster_.current_iteration()
    if hasattr(model, "get_booster"):
        return model.get_booster().num_boosted_rounds()
    if hasattr(model, "tree_count_"):
        return model.tree_count_
    return len(model.estimators_) if hasattr(model, "estimators_") else int(np.max(model.n_iter_))


LIGHT = {"n_estimators": MOST, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "random_state": 0}
XG = {"n_estimators": MOST, "n_jobs": 1, "max_depth": 3, "random_state": 0}
CAT = {"iterations": MOST, "thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_state": 0}
HIST = {"max_iter": MOST, "random_state": 0}
EARLY = {**HIST, "early_stopping": True, "n_iter_no_change": MOST}
SGD = {"max_iter": 60, "random_state": 0}
NET = {"hidden_layer_sizes": (5,), "max_iter": MOST, "random_state": 0}
MANY = {"n_estimators": MOST, "random_state": 0}
CASES = {
    "LightGBM, 2 classes": told(LGBMClassifier(**LIGHT), TWO, "n_estimators"),
    "LightGBM, 3 classes": told(LGBMClassifier(**LIGHT), THREE, "n_estimators"),
    "LightGBM, dart": told(LGBMClassifier(**LIGHT, boosting_type="dart"), TWO),
    "LightGBM, numbers": told(LGBMRegressor(**LIGHT), NUMBERS, "n_estimators"),
    "XGBoost, 2 classes": told(XGBClassifier(**XG), TWO, "n_estimators"),
    "XGBoost, 3 classes": told(XGBClassifier(**XG), THREE, "n_estimators"),
    "XGBoost, numbers": told(XGBRegressor(**XG), NUMBERS, "n_estimators"),
    "CatBoost, 2 classes": told(CatBoostClassifier(**CAT), TWO),
    "CatBoost, 3 classes": told(CatBoostClassifier(**CAT), THREE),
    "CatBoost, numbers": told(CatBoostRegressor(**CAT), NUMBERS),
    "gradient, 2 classes": told(GradientBoostingClassifier(**MANY), TWO, "n_estimators"),
    "gradient, 3 classes": told(GradientBoostingClassifier(**MANY, subsample=0.7), THREE, "n_estimators"),
    "gradient, numbers": told(GradientBoostingRegressor(**MANY), NUMBERS, "n_estimators"),
    "histogram, 2 classes": told(HistGradientBoostingClassifier(**HIST), TWO, "max_iter"),
    "histogram, 3 classes": told(HistGradientBoostingClassifier(**HIST, max_features=0.5), THREE, "max_iter"),
    "histogram, early": told(HistGradientBoostingClassifier(**EARLY), THREE, "max_iter"),
    "histogram, by score": told(HistGradientBoostingClassifier(**EARLY, scoring="accuracy"), THREE, "max_iter"),
    "histogram, numbers": told(HistGradientBoostingRegressor(**HIST), NUMBERS, "max_iter"),
    "forest, 2 classes": Case(RandomForestClassifier(**MANY), TWO, "n_estimators"),
    "forest, balanced": Case(RandomForestClassifier(**MANY, class_weight="balanced"), THREE, "n_estimators"),
    "forest, numbers": Case(RandomForestRegressor(**MANY), NUMBERS, "n_estimators"),
    "extra trees, 3 classes": Case(ExtraTreesClassifier(**MANY), THREE, "n_estimators"),
    "extra trees, numbers": Case(ExtraTreesRegressor(**MANY), NUMBERS, "n_estimators"),
    "bagging, 3 classes": Case(BaggingClassifier(**MANY), THREE, "n_estimators"),
    "bagging, numbers": Case(BaggingRegressor(**MANY, max_samples=0.5), NUMBERS, "n_estimators"),
    "lbfgs, 2 classes": Case(LogisticRegression(tol=1e-9), TWO),
    "lbfgs, 3 classes": Case(LogisticRegression(tol=1e-9), THREE),
    "newton-cg, 3 classes": Case(LogisticRegression(solver="newton-cg", tol=1e-9), THREE),
    "newton-cholesky, 3 classes": Case(LogisticRegression(solver="newton-cholesky", tol=1e-9), THREE),
    "sag, 2 classes": Case(LogisticRegression(solver="sag", max_iter=40, random_state=0), TWO),
    "saga, 3 classes": Case(LogisticRegression(solver="saga", max_iter=40, random_state=0), THREE),
    "SGD, 2 classes": Case(SGDClassifier(**SGD), TWO),
    "SGD, 3 classes": Case(SGDClassifier(**SGD, loss="log_loss", average=True), THREE),
    "SGD, early": Case(SGDClassifier(**SGD, early_stopping=True, class_weight="balanced"), THREE),
    "SGD, adaptive": Case(SGDClassifier(**SGD, learning_rate="adaptive", eta0=0.1), THREE),
    "SGD, numbers": Case(SGDRegressor(**SGD), NUMBERS),
    "perceptron, 3 classes": Case(Perceptron(**SGD), THREE),
    "network, 3 classes": Case(MLPClassifier(**NET), THREE),
    "network, early": Case(MLPClassifier(**NET, early_stopping=True), THREE),
    "network, adaptive": Case(MLPClassifier(**NET, solver="sgd", learning_rate="adaptive"), TWO),
    "network, lbfgs": Case(MLPClassifier(**NET, solver="lbfgs"), THREE),
    "network, numbers": Case(MLPRegressor(**NET), NUMBERS),
}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def every(can):
    """Every case whose learner can do something."""
    able = {name: case for name, case in CASES.items() if can(case.learner)}
    return pytest.mark.parametrize("case", able.values(), ids=able.keys())


class Questions:
    """A clock on which a second passes with every question."""

    def __init__(self):
        self._ticks = itertools.count()
        self.asked = -1  # the first reading starts the time

    def __call__(self):
        self.asked += 1
        return float(next(self._ticks))


def fitted(learner, y, stop_signal, **params):
    model = clone(learner)
    find_early_stopping(model)(model, X, y, stop_signal, params)
    return model


def answers(model):
    said = [model.predict(X)]
    said += [getattr(model, name)(X) for name in ("predict_proba", "decision_function") if hasattr(model, name)]
    return said


def assert_same(model, other):
    for one, another in zip(answers(model), answers(other), strict=True):
        np.testing.assert_array_equal(one, another)


def assert_usable(model, y):
    assert model.predict(X).shape[0] == len(X)
    assert all(np.isfinite(said).all() for said in answers(model))
    if is_classifier(model):
        np.testing.assert_array_equal(model.classes_, np.unique(y))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)
    if hasattr(model, "feature_importances_"):
        assert len(model.feature_importances_) == X.shape[1]


@EVERY
def test_with_time_enough_it_is_the_model_of_a_plain_fit(case):
    model = fitted(case.learner, case.y, StopSignal(1e6))

    assert count(model) == count(case.plain)
    if case.learner.get_params().get("solver") == "newton-cg":
        np.testing.assert_allclose(model.coef_, case.plain.coef_, rtol=1e-6)
    else:
        assert_same(model, case.plain)


@EVERY
@pytest.mark.parametrize("seconds", [6, 1e6])
def test_nothing_of_ours_is_left_in_the_learner(case, seconds):
    model = fitted(case.learner, case.y, StopSignal(seconds, clock=Questions()))

    assert set(vars(model)) == set(vars(case.plain))
    expected = case.plain.get_params()
    if "Bagging" in type(model).__name__:
        expected["n_estimators"] = len(model.estimators_)  # it divides by it
    assert repr(model.get_params()) == repr(expected)
    for pickler in (pickle, cloudpickle):
        assert b"fitwithin" not in pickler.dumps(model)
        assert_same(pickle.loads(pickler.dumps(model)), model)


@EVERY
def test_one_that_is_late_from_the_start_takes_one_step(case):
    model = fitted(case.learner, case.y, StopSignal(0))

    assert count(model) == 1
    assert_usable(model, case.y)


@EVERY
def test_it_ends_when_its_time_is_up(case):
    model = fitted(case.learner, case.y, StopSignal(6, clock=Questions()))

    assert 1 < count(model) < count(case.plain)
    assert_usable(model, case.y)


@EVERY
def test_it_never_takes_more_steps_than_the_user_set(case):
    limit = case.learner.get_params().get("max_iter") or MOST
    for seconds in (3, 5, 9, 20):
        model = fitted(case.learner, case.y, StopSignal(seconds, clock=Questions()))

        assert count(model) <= limit
        assert_usable(model, case.y)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.by_number])
def test_a_fit_cut_short_is_one_with_a_smaller_number_of_steps(name):
    case = CASES[name]

    model = fitted(case.learner, case.y, StopSignal(6, clock=Questions()))

    smaller = clone(case.learner).set_params(**{case.by_number: count(model)})
    assert_same(model, smaller.fit(X, case.y))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.often])
def test_a_learner_that_tells_of_its_steps_is_asked_in_every_one(name):
    clock = Questions()

    model = fitted(CASES[name].learner, CASES[name].y, StopSignal(1e6, clock=clock))

    assert clock.asked >= count(model) - 1


@every(lambda learner: has_fit_parameter(learner, "sample_weight"))
def test_weights_reach_the_learner(case):
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)
    plain = clone(case.learner).fit(X, case.y, sample_weight=weights)

    model = fitted(case.learner, case.y, StopSignal(1e6), sample_weight=weights)

    for one, another in zip(answers(model), answers(plain), strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-6)


@EVERY
def test_a_fit_that_fails_leaves_the_learner_as_it_was(case):
    model = clone(case.learner)
    before = repr(model.get_params())

    with pytest.raises((TypeError, ValueError)):
        find_early_stopping(model)(model, X, case.y, StopSignal(1e6), {"nonsense": 1})

    assert repr(model.get_params()) == before
    assert not {"fit", "_should_stop", "_backprop", "_skl_callbacks"} & set(vars(model))


@EVERY
def test_a_learner_that_was_stopped_can_be_fitted_again(case):
    model = fitted(case.learner, case.y, StopSignal(0))
    again = clone(model) if "Bagging" not in type(model).__name__ else clone(case.learner)

    assert_same(again.fit(X, case.y), case.plain)


@every(lambda learner: hasattr(learner, "warm_start"))
def test_warm_start_of_the_users_makes_no_difference_to_the_first_fit(case):
    learner = clone(case.learner).set_params(warm_start=True)

    model = fitted(learner, case.y, StopSignal(1e6))

    assert model.warm_start is True
    for one, another in zip(answers(model), answers(case.plain), strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-6)


@EVERY
def test_one_step_is_one_step(case):
    number = "max_iter" if hasattr(case.learner, "max_iter") else "n_estimators"
    number = "iterations" if "iterations" in case.learner.get_params() else number
    learner = clone(case.learner).set_params(**{number: 1})

    model = fitted(learner, case.y, StopSignal(1e6))

    assert count(model) == 1
    assert_same(model, clone(learner).fit(X, case.y))
