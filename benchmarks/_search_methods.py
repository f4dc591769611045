"""Ways of this package to get a model by a deadline: a search, a vote, "auto" with own hyperparameters, every row."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from _accuracy_rivals import Outcome, Rival, RivalTask
from _peak_memory import measure_peak_memory
from _search_learners import LEARNERS, make_learners
from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin.teachers import Full, TBatch
from fitwithin_paper.study.study_run import describe_error

SEARCH, VOTE, AUTO, FULL = "search", "vote", "auto", "full"
FLAML, FLAML_BUDGET, AUTOGLUON = "flaml", "flaml, retrain within budget", "autogluon"
SEARCH_AS_LONG = "search, as long as flaml"
"""Names of the methods."""

# Seconds that stand for no limit: ten days.
_NO_LIMIT_SECONDS = 10 * 24 * 3600.0

# Rows of the fit that imports the learner's library in the helper process before the measurement.
_WARM_UP_ROWS = 50

# Seconds between samples of the memory; sampling more often would take time from learners on two cores.
_MEMORY_PERIOD_SECONDS = 0.2


def make_search(estimator: Any, task: RivalTask, **settings: Any) -> Any:
    """Return an unfitted search over settings."""
    from fitwithin import TimeConstrainedSearch

    common = {"time_limit": task.limit, "random_state": task.seed, "progress": False}
    return TimeConstrainedSearch(estimator, **{**common, **settings})


def make_classifier(learner: Any, task: RivalTask, **settings: Any) -> TimeConstrainedClassifier:
    """Return an unfitted classifier whose learner has its own hyperparameters."""
    common = {"time_limit": task.limit, "random_state": task.seed, "progress": False}
    return TimeConstrainedClassifier(learner, **{**common, **settings})


@dataclass(frozen=True)
class OwnMethod:
    """A method of this package, with a running helper process.

    Parameters
    ----------
    build : callable
        Takes the task and returns the unfitted model.
    memory_period : float
        Seconds between samples of the memory.
    warm_up : callable or None
        Takes the task and fits something before the measurement; by default every learner of the task.
    """

    build: Callable[[RivalTask], Any]
    memory_period: float = _MEMORY_PERIOD_SECONDS
    warm_up: Callable[[RivalTask], None] | None = field(default=None)

    def applies(self, learner: str) -> bool:
        return True

    def run(self, task: RivalTask) -> Outcome:
        with warnings.catch_warnings():
            # Warnings of learners, such as too few iterations, and of candidates that fail, are irrelevant here.
            warnings.simplefilter("ignore")
            (self.warm_up or _warm_up_learners)(task)
            model = self.build(task)
            with measure_peak_memory(self.memory_period) as memory:
                seconds, error = _fit_timed(model, *task.train)
            if error is not None:
                return Outcome(seconds, error=error, memory=memory.pss)
            accuracy = float(np.mean(np.ravel(model.predict(task.test[0])) == task.test[1]))
        return _make_outcome(model, task, seconds, accuracy, memory.pss)


def warm_up(learner: Any, task: RivalTask) -> None:
    """Start the helper process, and import the learner's library there."""
    make_classifier(learner, task, teacher=TBatch(_WARM_UP_ROWS), time_limit=_NO_LIMIT_SECONDS).fit(*task.train)


def _warm_up_learners(task: RivalTask) -> None:
    for name in task.learner.split("+"):
        warm_up(LEARNERS[name](), task)


def _fit_timed(model: Any, X: Any, y: Any) -> tuple[float, str | None]:
    start = time.perf_counter()
    try:
        model.fit(X, y)
    except NoModelInTime as error:
        return time.perf_counter() - start, describe_error(error)
    return time.perf_counter() - start, None


def _make_outcome(model: Any, task: RivalTask, seconds: float, accuracy: float, memory: int) -> Outcome:
    history = model.history_
    results = getattr(model, "cv_results_", None)
    # Distinct rows are at most those of the largest fit and those of the largest prediction.
    rows_used = max(one.rows for one in history) + max(one.examined for one in history)
    return Outcome(
        seconds,
        accuracy,
        fit_seconds=sum(one.seconds_fit for one in history),
        rows=model.n_rows_trained_,
        rounds=len(history),
        stop=model.stop_reason_,
        memory=memory,
        used_bytes=round(min(rows_used, task.rows.n_train) * measure_row_bytes(*task.train)),
        settings=None if results is None else len(results["params"]),
        params=None if results is None else str(model.best_params_),
    )


def measure_row_bytes(X: Any, y: Any) -> float:
    """Return the mean bytes of a row, its label included."""
    table = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    return (int(table) + int(y.nbytes)) / len(y)


def make_race_methods() -> dict[str, Rival]:
    """Return the methods of the race that run in this interpreter."""
    search = OwnMethod(lambda task: make_search(make_learners(task.learner), task))
    return {
        AUTO: OwnMethod(lambda task: make_classifier(LEARNERS[task.learner](), task)),
        SEARCH: search,
        SEARCH_AS_LONG: search,
        VOTE: OwnMethod(lambda task: make_search(make_learners(task.learner), task, ensemble=True)),
    }


def make_full_method() -> Rival:
    """Return the fit on every row, which has no limit."""
    return OwnMethod(
        lambda task: make_classifier(LEARNERS[task.learner](), task, teacher=Full(), time_limit=_NO_LIMIT_SECONDS)
    )
