"""Every run returns its rounds and its result, or an error as its result."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fitwithin._core.exceptions import LearnerFailedWarning
from fitwithin_paper.study import study_run
from fitwithin_paper.study.plan import RunSpec
from fitwithin_paper.study.preprocessing import PreparedDataset
from fitwithin_paper.study.study_run import (
    TOO_SLOW,
    TrainTestRows,
    execute_full_run,
    execute_run,
    measure_fit_seconds,
)

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def prepared():
    X, y = make_classification(6000, n_classes=3, n_informative=5, random_state=0)
    X = X.astype(np.float32)
    return PreparedDataset(
        "made up", "a test", "none", X[:5000], y[:5000], X[5000:], y[5000:], tuple(map(str, range(20))), (0, 1, 2)
    )


def test_training_rows_come_before_test_rows(prepared):
    rows = TrainTestRows.from_dataset(prepared)

    assert (rows.n_train, rows.n_test) == (5000, 1000)
    assert (np.concatenate([prepared.X_train, prepared.X_test]) == rows.X).all()
    assert (rows.y == np.concatenate([prepared.y_train, prepared.y_test])).all()


def test_a_part_of_the_rows_has_every_class_and_the_first_test_rows(prepared):
    rows = TrainTestRows.from_dataset(prepared, max_train=60, max_test=100)

    assert (rows.n_train, rows.n_test) == (60, 100)
    assert set(rows.y[:60]) == {0, 1, 2}
    assert (rows.X[60:] == prepared.X_test[:100]).all()


def test_a_full_training_has_no_limit_and_reports_its_seconds(prepared):
    *rounds, result = execute_run(
        RunSpec("made up", "decision-tree", "full", 0), TrainTestRows.from_dataset(prepared), None
    )

    assert [line["kind"] for line in rounds] == ["round"]
    assert result["limit"] is None
    assert result["rows"] == 5000
    assert result["used"] == rounds[0]["seconds_fit"] > 0
    assert result["accuracy"] == rounds[0]["accuracy"] > 0.5


@pytest.mark.parametrize("teacher", ["double", "tct", pytest.param("osct-best", marks=pytest.mark.slow), "tct_al"])
def test_a_run_under_a_limit_reports_every_round_and_its_result(prepared, teacher):
    *rounds, result = execute_run(
        RunSpec("made up", "decision-tree", teacher, 1), TrainTestRows.from_dataset(prepared), 10.0
    )

    assert result["error"] is None
    assert result["rounds"] == len(rounds) > 1
    assert result["used"] < 10.0
    assert result["accuracy"] == [line["accuracy"] for line in rounds if line["best"]][-1]
    assert [line["number"] for line in rounds] == list(range(1, len(rounds) + 1))
    assert all(line["seed"] == 1 and line["teacher"] == teacher for line in rounds)


@pytest.mark.slow
def test_mini_batches_run_too(prepared):
    *rounds, result = execute_run(RunSpec("made up", "linear-svm", "sgd", 0), TrainTestRows.from_dataset(prepared), 5.0)

    assert result["error"] is None
    assert len(rounds) > 5


def test_a_limit_too_short_for_any_model_is_a_result_too(prepared):
    (result,) = execute_run(RunSpec("made up", "random-forest", "full", 0), TrainTestRows.from_dataset(prepared), 0.02)

    assert result["accuracy"] is None
    assert result["error"].startswith("NoModelInTime")


def test_a_full_training_is_ended_when_it_takes_too_long(prepared):
    spec, rows = RunSpec("made up", "random-forest", "full", 0), TrainTestRows.from_dataset(prepared)

    (result,) = execute_full_run(spec, rows, 0.02)
    assert (result["accuracy"], result["error"]) == (None, TOO_SLOW)

    round_, result = execute_full_run(spec, rows, 60.0)
    assert (result["limit"], result["error"]) == (None, None)
    assert result["used"] == round_["seconds_fit"]


def test_the_same_seed_trains_on_the_same_rows(prepared):
    once, again = (
        [
            line["rows"]
            for line in execute_run(
                RunSpec("made up", "decision-tree", "tct", 3), TrainTestRows.from_dataset(prepared), 5.0
            )
        ]
        for _ in range(2)
    )

    assert once == again


def test_the_seconds_of_a_fit_are_measured(prepared):
    assert (
        measure_fit_seconds(
            RunSpec("made up", "decision-tree", "full", 0), TrainTestRows.from_dataset(prepared, max_test=0), 100
        )
        > 0
    )


@pytest.fixture
def run_that_stops(monkeypatch, prepared):
    """A run whose estimator stops for this reason after its first model."""

    def run_with(reason, says=None):
        fit = study_run.TimeConstrainedClassifier.fit

        def fit_and_end(self, X, y):
            fit(self, X, y)
            if self.time_limit == 2.0:
                self.stop_reason_ = reason
                if says:
                    warnings.warn(says, LearnerFailedWarning, stacklevel=1)
            return self

        monkeypatch.setattr(study_run.TimeConstrainedClassifier, "fit", fit_and_end)
        return execute_run(RunSpec("made up", "decision-tree", "double", 0), TrainTestRows.from_dataset(prepared), 2.0)

    return run_with


def test_an_interrupted_run_is_not_a_result(run_that_stops):
    with pytest.raises(KeyboardInterrupt):
        run_that_stops("interrupted")


def test_a_run_with_a_failed_learner_has_an_accuracy_and_an_error(run_that_stops):
    says = "The learner failed in round 3, training on 80 rows; the best model so far is returned.\nTraceback:\nOh: no"

    *rounds, result = run_that_stops("learner failed", says)

    assert result["accuracy"] == [line["accuracy"] for line in rounds if line["best"]][-1]
    assert result["error"] == f"{says.splitlines()[0]} Oh: no"


def test_a_learner_that_fails_during_the_warm_up_is_a_result_too(prepared, monkeypatch):
    def fail(*arguments):
        raise MemoryError("no room\nat all")

    monkeypatch.setattr(study_run, "measure_fit_seconds", fail)

    (result,) = execute_run(RunSpec("made up", "decision-tree", "full", 0), TrainTestRows.from_dataset(prepared), None)

    assert (result["accuracy"], result["error"]) == (None, "MemoryError: no room")
