"""One run leaves its rounds and its result, whatever becomes of it."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fitwithin._research.study import running
from fitwithin._research.study.plan import Job
from fitwithin._research.study.preparing import Prepared
from fitwithin._research.study.running import Rows, run, seconds_to_learn

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def prepared():
    X, y = make_classification(6000, n_classes=3, n_informative=5, random_state=0)
    X = X.astype(np.float32)
    return Prepared(
        "made up", "a test", "none", X[:5000], y[:5000], X[5000:], y[5000:], tuple(map(str, range(20))), (0, 1, 2)
    )


def test_the_rows_of_a_pair_are_its_training_rows_and_then_its_test_rows(prepared):
    rows = Rows.of(prepared)

    assert (rows.train, rows.test) == (5000, 1000)
    assert (np.concatenate([prepared.X_train, prepared.X_test]) == rows.X).all()
    assert (rows.y == np.concatenate([prepared.y_train, prepared.y_test])).all()


def test_a_part_of_the_rows_holds_every_class_and_the_first_of_the_test_rows(prepared):
    rows = Rows.of(prepared, train=60, test=100)

    assert (rows.train, rows.test) == (60, 100)
    assert set(rows.y[:60]) == {0, 1, 2}
    assert (rows.X[60:] == prepared.X_test[:100]).all()


def test_a_training_on_all_rows_has_no_limit_and_tells_its_seconds(prepared):
    *rounds, result = run(Job("made up", "decision-tree", "full", 0), Rows.of(prepared), None)

    assert [line["kind"] for line in rounds] == ["round"]
    assert result["limit"] is None
    assert result["rows"] == 5000
    assert result["used"] == rounds[0]["seconds_fit"] > 0
    assert result["accuracy"] == rounds[0]["accuracy"] > 0.5


@pytest.mark.parametrize("teacher", ["double", "tct", "osct-best", "tct_al"])
def test_a_run_under_a_limit_tells_every_round_and_what_came_of_it(prepared, teacher):
    *rounds, result = run(Job("made up", "decision-tree", teacher, 1), Rows.of(prepared), 2.0)

    assert result["error"] is None
    assert result["rounds"] == len(rounds) > 1
    assert result["used"] < 2.0
    assert result["accuracy"] == [line["accuracy"] for line in rounds if line["best"]][-1]
    assert [line["number"] for line in rounds] == list(range(1, len(rounds) + 1))
    assert all(line["seed"] == 1 and line["teacher"] == teacher for line in rounds)


def test_mini_batches_run_too(prepared):
    *rounds, result = run(Job("made up", "linear-svm", "sgd", 0), Rows.of(prepared), 1.0)

    assert result["error"] is None
    assert len(rounds) > 5


def test_a_limit_that_nothing_can_be_learned_in_is_a_result_too(prepared):
    (result,) = run(Job("made up", "random-forest", "full", 0), Rows.of(prepared), 0.02)

    assert result["accuracy"] is None
    assert result["error"].startswith("NoModelInTime")


def test_the_same_seed_teaches_the_same_rows(prepared):
    once, again = (
        [line["rows"] for line in run(Job("made up", "decision-tree", "tct", 3), Rows.of(prepared), 5.0)]
        for _ in range(2)
    )

    assert once == again


def test_the_seconds_to_learn_some_rows_are_measured(prepared):
    assert seconds_to_learn(Job("made up", "decision-tree", "full", 0), Rows.of(prepared, test=0), 100) > 0


@pytest.fixture
def taught_once_and_then(monkeypatch, prepared):
    """A run whose estimator ends for this reason, with a model in hand."""

    def run_with(reason, says=None):
        fit = running.TimeConstrainedClassifier.fit

        def fit_and_end(self, X, y):
            fit(self, X, y)
            if self.time_limit == 2.0:
                self.stop_reason_ = reason
                if says:
                    warnings.warn(says, RuntimeWarning, stacklevel=1)
            return self

        monkeypatch.setattr(running.TimeConstrainedClassifier, "fit", fit_and_end)
        return run(Job("made up", "decision-tree", "double", 0), Rows.of(prepared), 2.0)

    return run_with


def test_a_run_that_was_interrupted_is_not_a_result(taught_once_and_then):
    with pytest.raises(KeyboardInterrupt):
        taught_once_and_then("interrupted")


def test_a_run_in_which_the_learner_failed_keeps_its_accuracy_and_has_an_error(taught_once_and_then):
    says = "The learner failed in round 3, training on 80 rows; the best model so far is returned.\nTraceback:\nOh: no"

    *rounds, result = taught_once_and_then("learner failed", says)

    assert result["accuracy"] == [line["accuracy"] for line in rounds if line["best"]][-1]
    assert result["error"] == f"{says.splitlines()[0]} Oh: no"


def test_a_learner_that_fails_while_it_is_warming_up_is_a_result_too(prepared, monkeypatch):
    def fail(*arguments):
        raise MemoryError("no room\nat all")

    monkeypatch.setattr(running, "seconds_to_learn", fail)

    (result,) = run(Job("made up", "decision-tree", "full", 0), Rows.of(prepared), None)

    assert (result["accuracy"], result["error"]) == (None, "MemoryError: no room")
