"""One run of a study: a teacher, a learner, a data set, and what came of it as lines."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.records import Round
from fitwithin._core.tables import concatenate, take_rows
from fitwithin._core.target import Labels
from fitwithin._pools import TablePool
from fitwithin._research.study.observing import Observing, PausableClock
from fitwithin._research.study.plan import Job
from fitwithin._research.study.preparing import Prepared
from fitwithin._research.study.results import Line
from fitwithin.backends import Process
from fitwithin.teachers import Deck, TBatch

# No limit at all, for the clock.
_NO_LIMIT = 10 * 24 * 3600.0


_WARM_UP_ROWS = 50


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one pair: those to learn from, and after them those to test on.

    Parameters
    ----------
    X, y : table and array
        Training rows first.
    train : int
        How many there are to learn from.
    """

    X: Any
    y: Any
    train: int

    @classmethod
    def of(cls, prepared: Prepared, train: int | None = None, test: int | None = None) -> Rows:
        """A data set, or so many of its training and test rows; every class stays among the former."""
        X, y = prepared.X_train, prepared.y_train
        if train is not None and train < len(y):
            chosen = Deck(len(y), np.random.default_rng(0), Labels.encode(y).codes).opening(train)
            X, y = take_rows(X, chosen), y[chosen]
        X_test, y_test = prepared.X_test[:test], prepared.y_test[:test]
        return cls(concatenate([X, X_test]), np.concatenate([y, y_test]), len(y))

    @property
    def test(self) -> int:
        """How many there are to test on."""
        return len(self.y) - self.train


def seconds_to_learn(job: Job, rows: Rows, count: int) -> float:
    """What training on so many of the rows takes, once."""
    learner, _ = job.cast()
    model = _classifier(learner, TBatch(count), seed=job.seed)
    _fit(model, rows)
    return float(model.history_[0].seconds_fit)


def run(job: Job, rows: Rows, limit: float | None) -> list[Line]:
    """Do a run; its rounds and at last the run itself, as lines.

    A run in which the learner failed has the accuracy of the model that was returned, and an error all the same: it
    was not given its time.

    Parameters
    ----------
    job : Job
        What to run.
    rows : Rows
        Of its data set.
    limit : float or None
        Seconds; None for a training on all rows that takes as long as it takes.

    Raises
    ------
    KeyboardInterrupt
        If the user stopped it; the estimator alone would return the best model so far.
    """
    clock = PausableClock()
    name = {"dataset": job.dataset, "learner": job.learner, "teacher": job.teacher, "seed": job.seed}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    about: Line = {"kind": "run", **name, "limit": limit, "load": load}
    try:
        learner, teacher = job.cast()
        seconds_to_learn(job, rows, _WARM_UP_ROWS)
        whole = TablePool(rows.X, Labels.encode(rows.y))
        observing = Observing(Process(clock=clock), clock, whole, rows.train)
        model = _classifier(learner, teacher, seed=job.seed, limit=limit, backend=observing)
        trouble = _fit(model, rows)
        rounds = list(zip(model.history_, observing.accuracies, strict=False))
        result = _result(model, rounds, rows, limit)
    except Exception as error:
        # Whatever goes wrong in one run is a result, and the study goes on.
        return [{**about, **_failed(error)}]
    lines = [{"kind": "round", **name, **_as_line(finished, accuracy)} for finished, accuracy in rounds]
    return [*lines, {**about, **result, "error": trouble}]


def in_a_line(error: Exception) -> str:
    """An exception as a result tells it.

    Examples
    --------
    >>> in_a_line(ValueError("too few rows"))
    'ValueError: too few rows'
    """
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _fit(model: TimeConstrainedClassifier, rows: Rows) -> str | None:
    """Fit it on the rows to learn from; what became of the learner if it failed with a model in hand."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows.X[: rows.train], rows.y[: rows.train])
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if model.stop_reason_ != "learner failed":
        return None
    told = (str(one.message) for one in caught)
    story = next((words for words in told if words.startswith("The learner failed")), "The learner failed.")
    where, _, how = story.strip().partition("\n")
    return " ".join([where, *how.splitlines()[-1:]])


def _classifier(
    learner: Any, teacher: Any, *, seed: int, limit: float | None = None, backend: Any = "process"
) -> TimeConstrainedClassifier:
    return TimeConstrainedClassifier(
        learner,
        time_limit=_NO_LIMIT if limit is None else limit,
        teacher=teacher,
        backend=backend,
        progress=False,
        random_state=seed,
    )


def _result(model: Any, rounds: list[tuple[Round, float | None]], rows: Rows, limit: float | None) -> Line:
    chosen, accuracy = [each for each in rounds if each[0].best][-1]
    if accuracy is None:
        accuracy = float(model.score(rows.X[rows.train :], rows.y[rows.train :]))
    return {
        "accuracy": accuracy,
        "rows": model.n_rows_taught_,
        "rounds": len(rounds),
        "used": chosen.seconds_fit if limit is None else model.time_used_,
        "stop": model.stop_reason_,
    }


def _failed(error: Exception) -> Line:
    return {
        "accuracy": None,
        "rows": 0,
        "rounds": 0,
        "used": None,
        "stop": None,
        "error": in_a_line(error),
    }


def _as_line(finished: Round, accuracy: float | None) -> Line:
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
