"""The contract of every early-stopping fit, checked for every known learner."""

import itertools
import pickle
import time
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

from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # a few iterations are enough here
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM 4.6 warns for any array
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=len(X)) > 0, 1, 0)
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
NUMBERS = X[:, 0] + X[:, 1] ** 2
MAX_STEPS = 12


@dataclass(frozen=True, eq=False)
class Case:
    learner: BaseEstimator
    y: np.ndarray
    # Parameter for the number of steps, if a stopped fit equals one with fewer steps.
    steps_param: str = ""
    # Whether the time is checked in every step.
    checks_every_step: bool = False

    @cached_property
    def plain(self):
        return clone(self.learner).fit(X, self.y)


checked_case = partial(Case, checks_every_step=True)


def count_steps(model):
    """Return the number of trees, members or iterations."""
    if hasattr(model, "booster_"):
        return model.booster_.current_iteration()
    if hasattr(model, "get_booster"):
        return model.get_booster().num_boosted_rounds()
    if hasattr(model, "tree_count_"):
        return model.tree_count_
    return len(model.estimators_) if hasattr(model, "estimators_") else int(np.max(model.n_iter_))


LIGHTGBM = {"n_estimators": MAX_STEPS, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "random_state": 0}
XGBOOST = {"n_estimators": MAX_STEPS, "n_jobs": 1, "max_depth": 3, "random_state": 0}
CATBOOST = {"iterations": MAX_STEPS, "thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_state": 0}
HIST = {"max_iter": MAX_STEPS, "random_state": 0}
HIST_EARLY_STOPPING = {**HIST, "early_stopping": True, "n_iter_no_change": MAX_STEPS}
SGD = {"max_iter": 60, "random_state": 0}
NETWORK = {"hidden_layer_sizes": (5,), "max_iter": MAX_STEPS, "random_state": 0}
MEMBERS = {"n_estimators": MAX_STEPS, "random_state": 0}
CASES = {
    "LightGBM, 2 classes": checked_case(LGBMClassifier(**LIGHTGBM), TWO, "n_estimators"),
    "LightGBM, 3 classes": checked_case(LGBMClassifier(**LIGHTGBM), THREE, "n_estimators"),
    "LightGBM, dart": checked_case(LGBMClassifier(**LIGHTGBM, boosting_type="dart"), TWO),
    "LightGBM, numbers": checked_case(LGBMRegressor(**LIGHTGBM), NUMBERS, "n_estimators"),
    "XGBoost, 2 classes": checked_case(XGBClassifier(**XGBOOST), TWO, "n_estimators"),
    "XGBoost, 3 classes": checked_case(XGBClassifier(**XGBOOST), THREE, "n_estimators"),
    "XGBoost, numbers": checked_case(XGBRegressor(**XGBOOST), NUMBERS, "n_estimators"),
    "CatBoost, 2 classes": checked_case(CatBoostClassifier(**CATBOOST), TWO),
    "CatBoost, 3 classes": checked_case(CatBoostClassifier(**CATBOOST), THREE),
    "CatBoost, numbers": checked_case(CatBoostRegressor(**CATBOOST), NUMBERS),
    "gradient, 2 classes": checked_case(GradientBoostingClassifier(**MEMBERS), TWO, "n_estimators"),
    "gradient, 3 classes": checked_case(GradientBoostingClassifier(**MEMBERS, subsample=0.7), THREE, "n_estimators"),
    "gradient, numbers": checked_case(GradientBoostingRegressor(**MEMBERS), NUMBERS, "n_estimators"),
    "histogram, 2 classes": checked_case(HistGradientBoostingClassifier(**HIST), TWO, "max_iter"),
    "histogram, 3 classes": checked_case(HistGradientBoostingClassifier(**HIST, max_features=0.5), THREE, "max_iter"),
    "histogram, early": checked_case(HistGradientBoostingClassifier(**HIST_EARLY_STOPPING), THREE, "max_iter"),
    "histogram, by score": checked_case(
        HistGradientBoostingClassifier(**HIST_EARLY_STOPPING, scoring="accuracy"), THREE, "max_iter"
    ),
    "histogram, numbers": checked_case(HistGradientBoostingRegressor(**HIST), NUMBERS, "max_iter"),
    "forest, 2 classes": Case(RandomForestClassifier(**MEMBERS), TWO, "n_estimators"),
    "forest, balanced": Case(RandomForestClassifier(**MEMBERS, class_weight="balanced"), THREE, "n_estimators"),
    "forest, numbers": Case(RandomForestRegressor(**MEMBERS), NUMBERS, "n_estimators"),
    "extra trees, 3 classes": Case(ExtraTreesClassifier(**MEMBERS), THREE, "n_estimators"),
    "extra trees, numbers": Case(ExtraTreesRegressor(**MEMBERS), NUMBERS, "n_estimators"),
    "bagging, 3 classes": Case(BaggingClassifier(**MEMBERS), THREE, "n_estimators"),
    "bagging, numbers": Case(BaggingRegressor(**MEMBERS, max_samples=0.5), NUMBERS, "n_estimators"),
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
    "network, 3 classes": Case(MLPClassifier(**NETWORK), THREE),
    "network, early": Case(MLPClassifier(**NETWORK, early_stopping=True), THREE),
    "network, adaptive": Case(MLPClassifier(**NETWORK, solver="sgd", learning_rate="adaptive"), TWO),
    "network, lbfgs": Case(MLPClassifier(**NETWORK, solver="lbfgs"), THREE),
    "network, numbers": Case(MLPRegressor(**NETWORK), NUMBERS),
}
EVERY_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def every_case_if(condition):
    """Parametrize over the cases whose learner fulfils a condition."""
    cases = {name: case for name, case in CASES.items() if condition(case.learner)}
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


class TickingClock:
    """A clock that advances a second with every reading."""

    def __init__(self):
        self._ticks = itertools.count()
        self.n_checks = -1  # the first reading starts the stop signal

    def __call__(self):
        self.n_checks += 1
        return float(next(self._ticks))


def fit_clone(learner, y, stop_signal, **params):
    model = clone(learner)
    find_early_stopping(model)(model, X, y, stop_signal, params)
    return model


def predictions(model):
    predicted = [model.predict(X)]
    predicted += [getattr(model, name)(X) for name in ("predict_proba", "decision_function") if hasattr(model, name)]
    return predicted


def assert_same(model, other):
    for one, another in zip(predictions(model), predictions(other), strict=True):
        np.testing.assert_array_equal(one, another)


def assert_usable(model, y):
    assert model.predict(X).shape[0] == len(X)
    assert all(np.isfinite(predicted).all() for predicted in predictions(model))
    if is_classifier(model):
        np.testing.assert_array_equal(model.classes_, np.unique(y))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)
    if hasattr(model, "feature_importances_"):
        assert len(model.feature_importances_) == X.shape[1]


@EVERY_CASE
def test_with_enough_time_the_model_equals_that_of_a_plain_fit(case):
    model = fit_clone(case.learner, case.y, StopSignal(1e6))

    assert count_steps(model) == count_steps(case.plain)
    if case.learner.get_params().get("solver") == "newton-cg":
        np.testing.assert_allclose(model.coef_, case.plain.coef_, rtol=1e-6)
    else:
        assert_same(model, case.plain)


@EVERY_CASE
@pytest.mark.parametrize("seconds", [6, 1e6])
def test_the_fitted_learner_holds_nothing_of_fitwithin(case, seconds):
    model = fit_clone(case.learner, case.y, StopSignal(seconds, clock=TickingClock()))

    assert set(vars(model)) == set(vars(case.plain))
    expected = case.plain.get_params()
    if "Bagging" in type(model).__name__:
        expected["n_estimators"] = len(model.estimators_)  # predict divides by it
    assert repr(model.get_params()) == repr(expected)
    for pickler in (pickle, cloudpickle):
        assert b"fitwithin" not in pickler.dumps(model)
        assert_same(pickle.loads(pickler.dumps(model)), model)


@EVERY_CASE
def test_a_fit_without_time_takes_one_step(case):
    model = fit_clone(case.learner, case.y, StopSignal(0))

    assert count_steps(model) == 1
    assert_usable(model, case.y)


@EVERY_CASE
def test_a_fit_stops_when_the_time_is_up(case):
    model = fit_clone(case.learner, case.y, StopSignal(6, clock=TickingClock()))

    assert 1 < count_steps(model) < count_steps(case.plain)
    assert_usable(model, case.y)


@EVERY_CASE
@pytest.mark.parametrize("seconds", [0, 1e6])
def test_the_setup_is_a_part_of_the_fit(case, seconds):
    start, stop_signal = time.monotonic(), StopSignal(seconds)

    fit_clone(case.learner, case.y, stop_signal)

    assert 0 <= stop_signal.setup_seconds <= time.monotonic() - start


@EVERY_CASE
def test_a_fit_never_takes_more_steps_than_the_user_set(case):
    limit = case.learner.get_params().get("max_iter") or MAX_STEPS
    for seconds in (3, 5, 9, 20):
        model = fit_clone(case.learner, case.y, StopSignal(seconds, clock=TickingClock()))

        assert count_steps(model) <= limit
        assert_usable(model, case.y)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.steps_param])
def test_a_stopped_fit_equals_a_fit_with_fewer_steps(name):
    case = CASES[name]

    model = fit_clone(case.learner, case.y, StopSignal(6, clock=TickingClock()))

    smaller = clone(case.learner).set_params(**{case.steps_param: count_steps(model)})
    assert_same(model, smaller.fit(X, case.y))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.checks_every_step])
def test_the_time_is_checked_in_every_step(name):
    clock = TickingClock()

    model = fit_clone(CASES[name].learner, CASES[name].y, StopSignal(1e6, clock=clock))

    assert clock.n_checks >= count_steps(model) - 1


@every_case_if(lambda learner: has_fit_parameter(learner, "sample_weight"))
def test_sample_weights_reach_the_learner(case):
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)
    plain = clone(case.learner).fit(X, case.y, sample_weight=weights)

    model = fit_clone(case.learner, case.y, StopSignal(1e6), sample_weight=weights)

    for one, another in zip(predictions(model), predictions(plain), strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-6)


@EVERY_CASE
def test_a_fit_that_fails_leaves_the_learner_unchanged(case):
    model = clone(case.learner)
    before = repr(model.get_params())

    with pytest.raises((TypeError, ValueError)):
        find_early_stopping(model)(model, X, case.y, StopSignal(1e6), {"nonsense": 1})

    assert repr(model.get_params()) == before
    assert not {"fit", "_should_stop", "_backprop", "_skl_callbacks"} & set(vars(model))


@EVERY_CASE
def test_a_stopped_learner_can_be_fitted_again(case):
    model = fit_clone(case.learner, case.y, StopSignal(0))
    again = clone(model) if "Bagging" not in type(model).__name__ else clone(case.learner)

    assert_same(again.fit(X, case.y), case.plain)


@every_case_if(lambda learner: hasattr(learner, "warm_start"))
def test_the_users_warm_start_does_not_change_the_first_fit(case):
    learner = clone(case.learner).set_params(warm_start=True)

    model = fit_clone(learner, case.y, StopSignal(1e6))

    assert model.warm_start is True
    for one, another in zip(predictions(model), predictions(case.plain), strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-6)


@EVERY_CASE
def test_a_fit_of_one_step_equals_a_plain_fit(case):
    number = "max_iter" if hasattr(case.learner, "max_iter") else "n_estimators"
    number = "iterations" if "iterations" in case.learner.get_params() else number
    learner = clone(case.learner).set_params(**{number: 1})

    model = fit_clone(learner, case.y, StopSignal(1e6))

    assert count_steps(model) == 1
    assert_same(model, clone(learner).fit(X, case.y))
