"""A learner that can be stopped early ends its fit within the seconds of a lesson."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import FitLimits, FitSettings, Inline, Process, register_early_stopping
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.teachers import Lesson
from fitwithin.testing import FakeClock


class FitAllRows:
    """Fits all rows once, within a number of seconds."""

    returns = "last"

    def __init__(self, stop_after):
        self.stop_after = stop_after

    def teach(self, deck):
        yield Lesson(deck.opening(deck.size), stop_after=self.stop_after)
        return "all rows"


@pytest.fixture(scope="module")
def table():
    return make_classification(2000, random_state=0)


def fit_all_rows(learner, table, stop_after, backend="process"):
    model = TimeConstrainedClassifier(
        learner, time_limit=60, teacher=FitAllRows(stop_after), backend=backend, random_state=0, progress=False
    )
    return model.fit(*table)


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("process", marks=pytest.mark.slow),
        "inline",
        pytest.param(Process(start="spawn"), marks=pytest.mark.slow),
    ],
    ids=["process", "inline", "spawn"],
)
def test_a_forest_keeps_the_trees_that_it_has_when_the_time_is_up(table, backend):
    model = fit_all_rows(RandomForestClassifier(100_000), table, 1.0, backend)

    assert model.stop_reason_ == "all rows"
    assert 1 <= len(model.best_estimator_.estimators_) < 100_000
    assert model.best_estimator_.n_estimators == 100_000
    assert model.score(*table) > 0.8


@pytest.mark.slow
def test_a_pipeline_that_ends_in_a_forest_keeps_its_trees(table):
    model = fit_all_rows(make_pipeline(StandardScaler(), RandomForestClassifier(100_000)), table, 1.0)

    assert 1 <= len(model.best_estimator_[-1].estimators_) < 100_000


@pytest.mark.parametrize("backend", [pytest.param("process", marks=pytest.mark.slow), "inline"])
def test_a_learner_that_cannot_be_stopped_fits_as_usual(table, backend):
    plain = DecisionTreeClassifier(random_state=0).fit(*table)

    model = fit_all_rows(DecisionTreeClassifier(random_state=0), table, 0.0, backend)

    assert (model.predict(table[0]) == plain.predict(table[0])).all()


@pytest.mark.parametrize("backend", [pytest.param("process", marks=pytest.mark.slow), "inline"])
def test_without_a_limit_a_forest_is_complete(table, backend):
    model = fit_all_rows(RandomForestClassifier(20, random_state=0), table, None, backend)

    assert len(model.best_estimator_.estimators_) == 20


class StepByStep(ClassifierMixin, BaseEstimator):
    """Takes steps of one second until it is stopped."""

    clock = FakeClock()

    def fit(self, X, y):
        self.classes_, self.steps_ = np.unique(y), 1000
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def fit_step_by_step(learner, X, y, stop_signal, params):
    learner.fit(X, y, **params)
    learner.steps_ = 0
    while not stop_signal.is_set():
        learner.steps_ += 1
        StepByStep.clock.advance(1)


def test_a_registered_learner_is_stopped_by_the_clock_of_the_session(table):
    register_early_stopping(StepByStep, fit_step_by_step)

    model = fit_all_rows(StepByStep(), table, 7.0, Inline(clock=StepByStep.clock))

    assert model.best_estimator_.steps_ == 7


class SlowPool(TablePool):
    """Takes three seconds to read rows."""

    def read(self, rows):
        StepByStep.clock.advance(3)
        return super().read(rows)


def test_reading_the_rows_counts_towards_the_time_of_a_fit(table):
    backend = Inline(clock=StepByStep.clock)
    pool = SlowPool(table[0], Labels.encode(table[1]))

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(StepByStep(), pool, FitSettings(early_stopping=fit_step_by_step))
        report = runner.fit(np.arange(10), limits=FitLimits(stop_after=7.0))

    assert (report.handover_seconds, report.fit_seconds) == (3, 4)


@pytest.mark.parametrize(
    "start",
    ["inline", pytest.param("fork", marks=pytest.mark.slow), pytest.param("spawn", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("trees", "is_stopped"), [(10**6, True), (3, False)])
def test_a_stopped_fit_reports_its_skipped_seconds(table, start, trees, is_stopped):
    backend = Inline() if start == "inline" else Process(start=start)
    forest = RandomForestClassifier(trees, random_state=0)

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(
            forest,
            TablePool(table[0], Labels.encode(table[1])),
            FitSettings(early_stopping=find_early_stopping(forest)),
        )
        # Three trees get enough time for a process to start.
        report = runner.fit(np.arange(500), limits=FitLimits(stop_after=1.0 if is_stopped else 50.0))
        complete = runner.fit(np.arange(500)) if not is_stopped else None

    assert (report.skipped_seconds > 0) is is_stopped
    assert complete is None or complete.skipped_seconds == 0


class AsksForSteps:
    """Fits all rows once; notes whether a fit on more rows could be measured by its first steps."""

    returns = "last"

    def teach(self, deck):
        yield Lesson(deck.opening(deck.size), stop_after=50.0)
        self.can_measure = deck.costs.can_stop_early and deck.costs.knows_steps
        return "all rows"


@pytest.mark.parametrize(
    ("learner", "can_measure"),
    [(RandomForestClassifier(5), True), (SGDClassifier(), False), (make_pipeline(SGDClassifier()), False)],
    ids=["forest", "SGD", "pipeline"],
)
def test_a_learner_whose_steps_are_unknown_is_not_measured(learner, can_measure):
    teacher = AsksForSteps()
    X = np.random.default_rng(0).normal(size=(200, 3))

    TimeConstrainedClassifier(
        learner, time_limit=60, teacher=teacher, backend="inline", random_state=0, progress=False
    ).fit(X, X[:, 0] > 0)

    assert teacher.can_measure is can_measure
