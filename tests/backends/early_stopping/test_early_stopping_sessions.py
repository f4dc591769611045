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
from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools import TablePool
from fitwithin.backends import Inline, Process, Task, register_early_stopping
from fitwithin.backends._early_stopping import find_early_stopping
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


def step_by_step(learner, X, y, stop_signal, params):
    learner.fit(X, y, **params)
    learner.steps_ = 0
    while not stop_signal.is_set():
        learner.steps_ += 1
        StepByStep.clock.advance(1)


def test_a_learner_of_the_users_own_can_be_taught_to_stop_and_goes_by_the_sessions_clock(table):
    register_early_stopping(StepByStep, step_by_step)

    model = fitted(StepByStep(), table, 7.0, Inline(clock=StepByStep.clock))

    assert model.best_estimator_.steps_ == 7


class SlowPool(TablePool):
    """Takes three seconds to hand over its rows."""

    def read(self, rows):
        StepByStep.clock.advance(3)
        return super().read(rows)


def test_the_time_of_a_lesson_begins_with_the_request_and_not_when_its_rows_are_there(table):
    backend = Inline(clock=StepByStep.clock)
    pool = SlowPool(table[0], Labels.encode(table[1]))

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(StepByStep(), pool, Task(stopping=step_by_step))
        taught = runner.teach(np.arange(10), within=7.0)

    assert (taught.handover, taught.fit) == (3, 4)


@pytest.mark.parametrize("start", ["inline", "fork", "spawn"])
@pytest.mark.parametrize(("trees", "is_cut"), [(10**6, True), (3, False)])
def test_a_lesson_that_was_cut_short_tells_what_it_left_undone(table, start, trees, is_cut):
    backend = Inline() if start == "inline" else Process(start=start)
    forest = RandomForestClassifier(trees, random_state=0)

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(forest, TablePool(table[0], Labels.encode(table[1])), Task(stopping=find_early_stopping(forest)))
        # A process has to start first; without a hurry for three trees.
        taught = runner.teach(np.arange(500), within=1.0 if is_cut else 50.0)
        whole = runner.teach(np.arange(500)) if not is_cut else None

    assert (taught.skipped_seconds > 0) is is_cut
    assert whole is None or whole.skipped_seconds == 0
