"""One run of a study: a teacher trains a learner on a data set, and the result is logged as lines."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fitwithin import LearnerFailedWarning, NoModelInTime, Round, TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.teachers import Deck, TBatch
from fitwithin_paper.study.evaluation_backend import EvaluationBackend, PausableClock
from fitwithin_paper.study.plan import RunSpec
from fitwithin_paper.study.preprocessing import PreparedDataset
from fitwithin_paper.study.result_log import ResultLine

_UNLIMITED_SECONDS = 10 * 24 * 3600.0
"""Time limit of a full training, in seconds; longer than any of them takes."""


_WARM_UP_ROWS = 50
"""Rows of the fit before each run that starts the worker and imports the learner; the limit excludes that time."""


TOO_SLOW = "a training took longer than --max-seconds"
"""Error of a full training that was ended."""


@dataclass(frozen=True, eq=False)
class TrainTestRows:
    """The training rows of an experiment, followed by its test rows.

    Parameters
    ----------
    X, y : table and array
        Training rows first.
    n_train : int
        Number of training rows.
    """

    X: Any
    y: Any
    n_train: int

    @classmethod
    def from_dataset(
        cls, dataset: PreparedDataset, max_train: int | None = None, max_test: int | None = None, seed: int = 0
    ) -> TrainTestRows:
        """Return all rows of a data set, or some of its training and test rows; every class stays in training.

        The seed chooses the training rows. It is the same for all runs, which are compared with each other.
        """
        X, y = dataset.X_train, dataset.y_train
        if max_train is not None and max_train < len(y):
            classes, strata = np.unique(y, return_inverse=True)
            smallest_type = np.min_scalar_type(len(classes) - 1)
            chosen = Deck(len(y), np.random.default_rng(seed), strata.astype(smallest_type)).opening(max_train)
            X, y = X.iloc[chosen] if isinstance(X, pd.DataFrame) else X[chosen], y[chosen]
        X_test, y_test = dataset.X_test[:max_test], dataset.y_test[:max_test]
        join = pd.concat if isinstance(X, pd.DataFrame) else sparse.vstack if sparse.issparse(X) else np.concatenate
        return cls(join([X, X_test]), np.concatenate([y, y_test]), len(y))

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return len(self.y) - self.n_train


def measure_fit_seconds(spec: RunSpec, rows: TrainTestRows, n_rows: int) -> float:
    """Fit the learner once on this many training rows and return the seconds."""
    learner, _ = spec.build()
    model = _build_classifier(learner, TBatch(n_rows), seed=spec.seed)
    _fit_training_rows(model, rows)
    return float(model.history_[0].seconds_fit)


def execute_run(spec: RunSpec, rows: TrainTestRows, limit_seconds: float | None) -> list[ResultLine]:
    """Carry out a run and return its rounds, and then its result, as lines.

    If the learner failed after its first model, the result has the accuracy of that model and an error, because the
    run did not use its time.

    Parameters
    ----------
    spec : RunSpec
        The run.
    rows : TrainTestRows
        Rows of its data set.
    limit_seconds : float or None
        Time limit; None for a full training without a limit.

    Raises
    ------
    KeyboardInterrupt
        If the user stopped the run; the estimator alone would return the best model so far.
    """
    clock = PausableClock()
    key = {"dataset": spec.dataset, "learner": spec.learner, "teacher": spec.teacher, "seed": spec.seed}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    header: ResultLine = {"kind": "run", **key, "limit": limit_seconds, "load": load}
    try:
        learner, teacher = spec.build()
        measure_fit_seconds(spec, rows, _WARM_UP_ROWS)
        test_rows = slice(rows.n_train, None)
        backend = EvaluationBackend(Process(clock=clock), clock, rows.X[test_rows], rows.y[test_rows])
        model = _build_classifier(learner, teacher, seed=spec.seed, limit_seconds=limit_seconds, backend=backend)
        learner_error = _fit_training_rows(model, rows)
        rounds = list(zip(model.history_, backend.accuracies, strict=False))
        result = _summarize_run(model, rounds, rows, limit_seconds)
    except Exception as error:
        # An error in one run is a result, and the study continues.
        return [{**header, **_summarize_failure(error)}]
    lines = [{"kind": "round", **key, **_round_to_line(finished, accuracy)} for finished, accuracy in rounds]
    return [*lines, {**header, **result, "error": learner_error}]


def execute_full_run(spec: RunSpec, rows: TrainTestRows, max_seconds: float | None) -> list[ResultLine]:
    """Train on all rows without a time limit, and return the round and the result as lines.

    Parameters
    ----------
    spec : RunSpec
        The run.
    rows : TrainTestRows
        Rows of its data set.
    max_seconds : float or None
        End a training that takes longer; its error is `TOO_SLOW`.
    """
    *rounds, result = execute_run(spec, rows, max_seconds)
    if max_seconds is None:
        return [*rounds, result]
    is_too_slow = str(result["error"]).startswith(NoModelInTime.__name__)
    result = {**result, "limit": None, "used": rounds[-1]["seconds_fit"] if rounds else None}
    return [*rounds, {**result, "error": TOO_SLOW} if is_too_slow else result]


def describe_error(error: Exception) -> str:
    """Return the type and the first line of an exception.

    Examples
    --------
    >>> describe_error(ValueError("too few rows"))
    'ValueError: too few rows'
    """
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _fit_training_rows(model: TimeConstrainedClassifier, rows: TrainTestRows) -> str | None:
    """Fit on the training rows; return an error message if the learner failed after its first model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows.X[: rows.n_train], rows.y[: rows.n_train])
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if model.stop_reason_ != "learner failed":
        return None
    failures = [str(each.message) for each in caught if each.category is LearnerFailedWarning]
    message = failures[-1] if failures else "The learner failed."
    summary, _, traceback = message.strip().partition("\n")
    return " ".join([summary, *traceback.splitlines()[-1:]])


def _build_classifier(
    learner: Any, teacher: Any, *, seed: int, limit_seconds: float | None = None, backend: Any = "process"
) -> TimeConstrainedClassifier:
    return TimeConstrainedClassifier(
        learner,
        time_limit=_UNLIMITED_SECONDS if limit_seconds is None else limit_seconds,
        teacher=teacher,
        backend=backend,
        progress=False,
        random_state=seed,
    )


def _summarize_run(
    model: Any, rounds: list[tuple[Round, float | None]], rows: TrainTestRows, limit_seconds: float | None
) -> ResultLine:
    chosen, accuracy = [each for each in rounds if each[0].best][-1]
    if accuracy is None:
        accuracy = float(model.score(rows.X[rows.n_train :], rows.y[rows.n_train :]))
    return {
        "accuracy": accuracy,
        "rows": model.n_rows_trained_,
        "rounds": len(rounds),
        "used": chosen.seconds_fit if limit_seconds is None else model.time_used_,
        "stop": model.stop_reason_,
    }


def _summarize_failure(error: Exception) -> ResultLine:
    return {
        "accuracy": None,
        "rows": 0,
        "rounds": 0,
        "used": None,
        "stop": None,
        "error": describe_error(error),
    }


def _round_to_line(finished: Round, accuracy: float | None) -> ResultLine:
    return {
        "number": finished.number,
        "rows": finished.rows,
        "new_mistakes": finished.new_mistakes,
        "examined": finished.examined,
        "elapsed": finished.elapsed,
        "accuracy": accuracy,
        "estimate": finished.estimate,
        "low": finished.low,
        "best": finished.best,
        "seconds_fit": finished.seconds_fit,
        "seconds_exam": finished.seconds_exam,
    }
