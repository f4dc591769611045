"""Every new model is evaluated on the test set, and the session's clock does not notice."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.target import Labels
from fitwithin._pools import TablePool
from fitwithin._research.study.observing import Observing, PausableClock
from fitwithin.backends import Inline, Process
from fitwithin.testing import FakeClock

TRAIN = 1500


@pytest.fixture(scope="module")
def table():
    return make_classification(2000, random_state=0)


def observed(table, backend, teacher="double", learner=None, limit=60):
    clock = PausableClock() if backend is None else backend.clock
    X, y = table
    observing = Observing(backend or Process(clock=clock), clock, TablePool(X, Labels.encode(y)), TRAIN)
    model = TimeConstrainedClassifier(
        learner or DecisionTreeClassifier(max_depth=3),
        time_limit=limit,
        teacher=teacher,
        backend=observing,
        random_state=0,
    )
    return model.fit(X[:TRAIN], y[:TRAIN]), observing


def test_a_stopped_clock_stands_still_and_goes_on_where_it_stood():
    behind = FakeClock()
    clock = PausableClock(behind)
    behind.advance(1)

    with clock.paused():
        behind.advance(10)
        during = clock()
    behind.advance(2)

    assert during == 1.0
    assert clock() == 3.0


def test_a_clock_goes_on_after_an_error():
    behind = FakeClock()
    clock = PausableClock(behind)

    with pytest.raises(ZeroDivisionError), clock.paused():
        behind.advance(10 / 0)

    behind.advance(1)
    assert clock() == 1.0


@pytest.mark.parametrize("start", [None, "spawn", "inline"])
def test_the_accuracy_of_every_model_is_that_of_the_model_itself(table, start):
    clock = PausableClock()
    backend = Inline(clock=clock) if start == "inline" else Process(clock=clock, start=start or "auto")
    X, y = table

    model, observing = observed(table, backend)

    assert len(observing.accuracies) == len(model.history_)
    assert observing.accuracies[-1] == pytest.approx(model.score(X[TRAIN:], y[TRAIN:]))


def test_the_session_learns_from_the_same_rows_as_without_a_test_set(table):
    X, y = table
    alone = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=60, teacher="tct", backend="inline", random_state=0
    ).fit(X[:TRAIN], y[:TRAIN])

    together, _ = observed(table, Inline(clock=PausableClock()), "tct")

    assert [finished.rows for finished in together.history_] == [finished.rows for finished in alone.history_]
    assert [finished.estimate for finished in together.history_] == [finished.estimate for finished in alone.history_]
    assert (together.predict(X) == alone.predict(X)).all()


def test_a_model_that_goes_on_learning_is_observed_after_every_lesson(table):
    X, y = table

    model, observing = observed(table, None, "sgd", SGDClassifier(random_state=0), limit=1.5)

    assert len(observing.accuracies) >= len(model.history_) > 3
    assert observing.accuracies[len(model.history_) - 1] == pytest.approx(model.score(X[TRAIN:], y[TRAIN:]))


class SlowToClassify(DecisionTreeClassifier):
    """Takes a second for the test set, and no time for anything else."""

    def predict(self, X):
        if len(X) == 500:
            time.sleep(1.0)
        return super().predict(X)


def test_a_test_set_that_takes_longer_than_the_limit_costs_nothing_of_it(table):
    observed(table, None)  # the helper is there now
    model, observing = observed(table, None, "double", SlowToClassify(max_depth=3), limit=3.0)

    assert model.time_used_ < 3.0
    assert len(model.history_) >= 4, "with a second for the test set after each"
    assert np.isfinite(observing.accuracies[: len(model.history_)]).all()


def test_a_pool_of_another_size_than_was_announced_is_refused(table):
    X, y = table
    observing = Observing(Inline(), PausableClock(), TablePool(X, Labels.encode(y)), TRAIN)

    with pytest.raises(ValueError, match="1400 rows; 1500 were announced"):
        TimeConstrainedClassifier(DecisionTreeClassifier(), backend=observing).fit(X[:1400], y[:1400])
