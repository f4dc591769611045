"""Every new model is evaluated on the test set, with the session's clock paused."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline, Process
from fitwithin.testing import FakeClock
from fitwithin_paper.study.evaluation_backend import EvaluationBackend, PausableClock

TRAIN = 1500


@pytest.fixture(scope="module")
def table():
    return make_classification(2000, random_state=0)


def fit_and_evaluate(table, backend, teacher="double", learner=None, limit=60):
    clock = PausableClock() if backend is None else backend.clock
    X, y = table
    evaluation = EvaluationBackend(backend or Process(clock=clock), clock, X[TRAIN:], y[TRAIN:])
    model = TimeConstrainedClassifier(
        learner or DecisionTreeClassifier(max_depth=3),
        time_limit=limit,
        teacher=teacher,
        backend=evaluation,
        random_state=0,
    )
    return model.fit(X[:TRAIN], y[:TRAIN]), evaluation


def test_a_paused_clock_stands_still_and_continues_afterwards():
    underlying = FakeClock()
    clock = PausableClock(underlying)
    underlying.advance(1)

    with clock.paused():
        underlying.advance(10)
        during = clock()
    underlying.advance(2)

    assert during == 1.0
    assert clock() == 3.0


def test_a_clock_continues_after_an_error():
    underlying = FakeClock()
    clock = PausableClock(underlying)

    with pytest.raises(ZeroDivisionError), clock.paused():
        underlying.advance(10 / 0)

    underlying.advance(1)
    assert clock() == 1.0


@pytest.mark.parametrize("start", [None, pytest.param("spawn", marks=pytest.mark.slow), "inline"])
def test_the_accuracy_of_every_model_is_that_of_the_model_itself(table, start):
    clock = PausableClock()
    backend = Inline(clock=clock) if start == "inline" else Process(clock=clock, start=start or "auto")
    X, y = table

    model, evaluation = fit_and_evaluate(table, backend)

    assert len(evaluation.accuracies) == len(model.history_)
    assert evaluation.accuracies[-1] == pytest.approx(model.score(X[TRAIN:], y[TRAIN:]))


def test_the_session_trains_on_the_same_rows_as_without_a_test_set(table):
    X, y = table
    alone = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=60, teacher="tct", backend="inline", random_state=0
    ).fit(X[:TRAIN], y[:TRAIN])

    together, _ = fit_and_evaluate(table, Inline(clock=PausableClock()), "tct")

    assert [finished.rows for finished in together.history_] == [finished.rows for finished in alone.history_]
    assert [finished.estimate for finished in together.history_] == [finished.estimate for finished in alone.history_]
    assert (together.predict(X) == alone.predict(X)).all()


@pytest.mark.slow
def test_a_model_in_a_process_is_evaluated_after_every_mini_batch(table):
    X, y = table

    model, evaluation = fit_and_evaluate(table, None, "sgd", SGDClassifier(random_state=0), limit=5.0)

    assert len(evaluation.accuracies) >= len(model.history_) > 3
    assert evaluation.accuracies[len(model.history_) - 1] == pytest.approx(model.score(X[TRAIN:], y[TRAIN:]))


CLOCK = FakeClock()


class TickingSGD(SGDClassifier):
    """A second passes with every mini-batch."""

    def partial_fit(self, X, y, classes=None):
        CLOCK.advance(1.0)
        return super().partial_fit(X, y, classes)


def test_a_model_is_evaluated_after_every_mini_batch(table):
    X, y = table
    inline = Inline(clock=PausableClock(CLOCK))

    model, evaluation = fit_and_evaluate(table, inline, "sgd", TickingSGD(random_state=0), limit=20)

    assert len(evaluation.accuracies) >= len(model.history_) > 3
    assert evaluation.accuracies[len(model.history_) - 1] == pytest.approx(model.score(X[TRAIN:], y[TRAIN:]))


class TickingTree(DecisionTreeClassifier):
    """An hour passes with every prediction of the test set, and no time with anything else."""

    def predict(self, X):
        if len(X) == 500:
            CLOCK.advance(3600.0)
        return super().predict(X)


def test_a_test_set_that_takes_longer_than_the_limit_uses_none_of_it(table):
    inline = Inline(clock=PausableClock(CLOCK))

    model, evaluation = fit_and_evaluate(table, inline, "double", TickingTree(max_depth=3), limit=3.0)

    assert model.time_used_ < 3.0
    assert len(model.history_) >= 4, "with an hour for the test set after each"
    assert np.isfinite(evaluation.accuracies[: len(model.history_)]).all()


class SlowTree(DecisionTreeClassifier):
    """Takes two seconds for the test set."""

    def predict(self, X):
        if len(X) == 500:
            time.sleep(2.0)
        return super().predict(X)


@pytest.mark.slow
def test_a_test_set_in_a_process_that_takes_longer_than_the_limit_uses_none_of_it(table):
    fit_and_evaluate(table, None)  # starts the process
    model, evaluation = fit_and_evaluate(table, None, "double", SlowTree(max_depth=3), limit=7.0)

    assert model.time_used_ < 7.0
    assert len(model.history_) >= 4, "with two seconds for the test set after each"
    assert np.isfinite(evaluation.accuracies[: len(model.history_)]).all()
