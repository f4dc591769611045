"""Known and registered learners can be stopped, but none with a `fit` of the user."""

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

from fitwithin.backends._early_stopping import registry
from fitwithin.backends._early_stopping.registry import find_early_stopping, register_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal


@pytest.fixture(autouse=True)
def restore_registry(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))


class Stepwise(BaseEstimator):
    def fit(self, X, y):
        self.steps_ = 1000
        return self


def fit_step_by_step(learner, X, y, stop_signal, params):
    learner.steps_ = 1
    while learner.steps_ < 1000 and not stop_signal.is_set():
        learner.steps_ += 1


NOT_STOPPABLE = [
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


@pytest.mark.parametrize("learner", NOT_STOPPABLE, ids=lambda learner: type(learner).__name__)
def test_other_learners_cannot_be_stopped(learner):
    assert find_early_stopping(learner) is None


def test_a_registered_learner_is_stopped():
    register_early_stopping(Stepwise, fit_step_by_step)
    learner = Stepwise()

    find_early_stopping(learner)(learner, None, None, StopSignal(0), {})

    assert learner.steps_ == 1


def test_a_subclass_of_a_registered_class_is_found():
    class Sub(Stepwise):
        pass

    register_early_stopping(Stepwise, fit_step_by_step)

    assert find_early_stopping(Sub()) is fit_step_by_step


def test_a_registered_class_takes_precedence_over_a_known_one():
    register_early_stopping(RandomForestClassifier, fit_step_by_step)

    assert find_early_stopping(RandomForestClassifier()) is fit_step_by_step
    assert find_early_stopping(RandomForestRegressor()) is not fit_step_by_step


def test_a_registered_base_class_takes_precedence_over_a_known_class():
    base_class = next(kind for kind in RandomForestClassifier.__mro__ if "fit" in vars(kind))
    register_early_stopping(base_class, fit_step_by_step)

    assert find_early_stopping(RandomForestClassifier()) is fit_step_by_step


def test_the_nearest_of_two_registered_classes_is_used():
    class Sub(Stepwise):
        pass

    register_early_stopping(Sub, fit_step_by_step)
    register_early_stopping(Stepwise, lambda *_: None)

    assert find_early_stopping(Sub()) is fit_step_by_step


def test_a_subclass_of_a_known_class_is_found():
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
def test_a_class_with_its_own_fit_is_not_stopped(kind):
    register_early_stopping(Stepwise, fit_step_by_step)

    assert find_early_stopping(kind()) is None
    assert find_early_stopping(make_pipeline(kind())) is None


def test_an_object_with_its_own_fit_is_not_stopped():
    forest = RandomForestClassifier()
    forest.fit = lambda X, y: forest

    assert find_early_stopping(forest) is None


def test_a_class_with_its_own_fit_can_be_registered():
    register_early_stopping(WithItsOwnFit, fit_step_by_step)

    assert find_early_stopping(WithItsOwnFit()) is fit_step_by_step


class OnlyDepth(RandomForestClassifier):
    """A subclass that hides most parameters, as scikit-learn's documentation allows."""

    def __init__(self, depth=2):
        super().__init__(n_estimators=5, max_depth=depth, random_state=0)
        self.depth = depth


def test_a_subclass_that_hides_parameters_can_be_stopped():
    X, y = np.random.default_rng(0).random((50, 3)), np.arange(50) % 2
    learner = OnlyDepth()

    find_early_stopping(learner)(learner, X, y, StopSignal(1e6), {})

    assert learner.get_params() == {"depth": 2}
    np.testing.assert_array_equal(learner.predict_proba(X), clone(learner).fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("learner_class", "early_stopping"),
    [(Stepwise(), fit_step_by_step), (Stepwise, "fit"), ("Stepwise", fit_step_by_step)],
)
def test_only_a_class_and_a_callable_can_be_registered(learner_class, early_stopping):
    with pytest.raises(TypeError, match="takes a class and a callable"):
        register_early_stopping(learner_class, early_stopping)


@pytest.mark.parametrize(
    "learner",
    [
        "sklearn.ensemble.RandomForestClassifier",
        pytest.param("sklearn.dummy.DummyClassifier", marks=pytest.mark.slow),
    ],
)
def test_no_booster_is_imported_for_learners_of_other_libraries(learner):
    module, _, name = learner.rpartition(".")
    code = (
        f"import sys; from {module} import {name}; "
        "from fitwithin.backends._early_stopping.registry import find_early_stopping; "
        f"find_early_stopping({name}()); print([m for m in ('lightgbm', 'xgboost', 'catboost') if m in sys.modules])"
    )

    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert seen.stdout.strip() == "[]"
