"""Which learners can be stopped: known ones, a user's, and never one whose fit is the user's own."""

import subprocess
import sys

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDOneClassSVM
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBRFClassifier

from fitwithin.backends._early_stopping import StopSignal, base, find_early_stopping, register_early_stopping


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch):
    monkeypatch.setattr(base, "_ADDED", dict(base._ADDED))


class Stepwise(BaseEstimator):
    def fit(self, X, y):
        self.steps_ = 1000
        return self


def step_by_step(learner, X, y, stop_signal, params):
    learner.steps_ = 1
    while learner.steps_ < 1000 and not stop_signal.is_set():
        learner.steps_ += 1


BLACK_BOXES = [
    DecisionTreeClassifier(),
    SVC(),
    LogisticRegression(solver="liblinear"),
    LogisticRegressionCV(),
    SGDOneClassSVM(),
    IsolationForest(),
    RandomTreesEmbedding(),
    BaggingClassifier(oob_score=True),
    XGBRFClassifier(),
    CatBoostClassifier(task_type="GPU"),
    GridSearchCV(RandomForestClassifier(), {"max_depth": [1]}),
    VotingClassifier([("forest", RandomForestClassifier())]),
    TransformedTargetRegressor(RandomForestRegressor()),
    make_pipeline(SVC()),
    make_pipeline("passthrough"),
    Stepwise(),
    object(),
]


@pytest.mark.parametrize("learner", BLACK_BOXES, ids=lambda learner: type(learner).__name__)
def test_what_cannot_be_stopped_is_a_black_box(learner):
    assert find_early_stopping(learner) is None


def test_a_user_adds_a_learner():
    register_early_stopping(Stepwise, step_by_step)
    learner = Stepwise()

    find_early_stopping(learner)(learner, None, None, StopSignal(0), {})

    assert learner.steps_ == 1


def test_a_subclass_is_found():
    class Sub(Stepwise):
        pass

    register_early_stopping(Stepwise, step_by_step)

    assert find_early_stopping(Sub()) is step_by_step


def test_a_users_way_goes_before_ours():
    register_early_stopping(RandomForestClassifier, step_by_step)

    assert find_early_stopping(RandomForestClassifier()) is step_by_step
    assert find_early_stopping(RandomForestRegressor()) is not step_by_step


def test_a_users_way_for_a_base_class_goes_before_ours_for_the_class_itself():
    base = next(kind for kind in RandomForestClassifier.__mro__ if "fit" in vars(kind))
    register_early_stopping(base, step_by_step)

    assert find_early_stopping(RandomForestClassifier()) is step_by_step


def test_the_nearest_of_two_ways_of_the_users_is_taken():
    class Sub(Stepwise):
        pass

    register_early_stopping(Sub, step_by_step)
    register_early_stopping(Stepwise, lambda *_: None)

    assert find_early_stopping(Sub()) is step_by_step


def test_a_subclass_of_a_known_class_is_stopped_like_it():
    class Mine(RandomForestClassifier):
        pass

    assert find_early_stopping(Mine()) is find_early_stopping(RandomForestClassifier())


class WithItsOwnFit(RandomForestClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(np.asarray(X) * 2, y, sample_weight)


class BoosterWithItsOwnFit(LGBMClassifier):
    def fit(self, X, y, **params):
        return super().fit(X, y, **params)


class StepwiseWithItsOwnFit(Stepwise):
    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.parametrize("kind", [WithItsOwnFit, BoosterWithItsOwnFit, StepwiseWithItsOwnFit])
def test_a_fit_of_the_users_own_is_left_alone(kind):
    register_early_stopping(Stepwise, step_by_step)

    assert find_early_stopping(kind()) is None
    assert find_early_stopping(make_pipeline(kind())) is None


def test_a_fit_of_the_users_own_in_one_object_is_left_alone():
    forest = RandomForestClassifier()
    forest.fit = lambda X, y: forest

    assert find_early_stopping(forest) is None


def test_a_user_can_add_a_class_with_its_own_fit():
    register_early_stopping(WithItsOwnFit, step_by_step)

    assert find_early_stopping(WithItsOwnFit()) is step_by_step


class OnlyDepth(RandomForestClassifier):
    """A subclass that hides most parameters, as the documentation of scikit-learn allows."""

    def __init__(self, depth=2):
        super().__init__(n_estimators=5, max_depth=depth, random_state=0)
        self.depth = depth


def test_a_subclass_that_hides_its_parameters_can_be_stopped():
    X, y = np.random.default_rng(0).random((50, 3)), np.arange(50) % 2
    learner = OnlyDepth()

    find_early_stopping(learner)(learner, X, y, StopSignal(1e6), {})

    assert learner.get_params() == {"depth": 2}
    np.testing.assert_array_equal(learner.predict_proba(X), clone(learner).fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("kind", "stopping"), [(Stepwise(), step_by_step), (Stepwise, "fit"), ("Stepwise", step_by_step)]
)
def test_anything_but_a_class_and_a_callable_is_refused(kind, stopping):
    with pytest.raises(TypeError, match="takes a class and a callable"):
        register_early_stopping(kind, stopping)


@pytest.mark.parametrize("learner", ["sklearn.ensemble.RandomForestClassifier", "sklearn.dummy.DummyClassifier"])
def test_no_booster_is_imported_for_a_learner_of_another_library(learner):
    module, _, name = learner.rpartition(".")
    code = (
        f"import sys; from {module} import {name}; from fitwithin.backends._early_stopping import find_early_stopping;"
        f"find_early_stopping({name}()); print([m for m in ('lightgbm', 'xgboost', 'catboost') if m in sys.modules])"
    )

    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert seen.stdout.strip() == "[]"
