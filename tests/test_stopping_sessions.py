"""A lesson may say how long a learner should train; one that can be asked to stop ends with what it has."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline, Process, register_stopping
from fitwithin.teachers import Lesson
from fitwithin.testing import FakeClock


class AllAtOnce:
    """One lesson of every row, for so many seconds."""

    returns = "last"

    def __init__(self, within):
        self.within = within

    def teach(self, deck):
        yield Lesson(deck.opening(deck.size), within=self.within)
        return "all rows"


@pytest.fixture(scope="module")
def table():
    return make_classification(2000, random_state=0)


def fitted(learner, table, within, backend="process"):
    model = TimeConstrainedClassifier(
        learner, time_limit=60, teacher=AllAtOnce(within), backend=backend, random_state=0, progress=False
    )
    return model.fit(*table)


@pytest.mark.parametrize("backend", ["process", "inline", Process(start="spawn")], ids=["process", "inline", "spawn"])
def test_a_forest_ends_with_the_trees_that_it_has(table, backend):
    model = fitted(RandomForestClassifier(100_000), table, 1.0, backend)

    assert model.stop_reason_ == "all rows"
    assert 1 <= len(model.best_estimator_.estimators_) < 100_000
    assert model.best_estimator_.n_estimators == 100_000
    assert model.score(*table) > 0.8


def test_so_does_a_pipeline_that_ends_in_one(table):
    model = fitted(make_pipeline(StandardScaler(), RandomForestClassifier(100_000)), table, 1.0)

    assert 1 <= len(model.best_estimator_[-1].estimators_) < 100_000


@pytest.mark.parametrize("backend", ["process", "inline"])
def test_a_black_box_is_left_alone(table, backend):
    plain = DecisionTreeClassifier(random_state=0).fit(*table)

    model = fitted(DecisionTreeClassifier(random_state=0), table, 0.0, backend)

    assert (model.predict(table[0]) == plain.predict(table[0])).all()


def test_without_a_limit_nobody_is_asked_to_stop(table):
    model = fitted(RandomForestClassifier(20, random_state=0), table, None)

    assert len(model.best_estimator_.estimators_) == 20


class StepByStep(ClassifierMixin, BaseEstimator):
    """Takes a second a step, as long as it is let."""

    clock = FakeClock()

    def fit(self, X, y):
        self.classes_, self.steps_ = np.unique(y), 1000
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def step_by_step(learner, X, y, patience, params):
    learner.fit(X, y, **params)
    learner.steps_ = 0
    while not patience.over():
        learner.steps_ += 1
        StepByStep.clock.advance(1)


def test_a_learner_of_the_users_own_can_be_taught_to_stop_and_goes_by_the_sessions_clock(table):
    register_stopping(StepByStep, step_by_step)

    model = fitted(StepByStep(), table, 7.0, Inline(clock=StepByStep.clock))

    assert model.best_estimator_.steps_ == 7
