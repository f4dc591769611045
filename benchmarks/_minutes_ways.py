"""Ways to get a model by a deadline of minutes: fitwithin, and what a user has without it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from _fault_booster import make_time_callback
from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin_paper.study.study_run import TrainTestRows

PLAIN = "plain fit"
FITWITHIN = "fitwithin"
SIZED = "sized sample"
DOUBLING = "doubling"
CALLBACK = "callback"

# The sized sample: share of the rows of its first fit, and share of the time left that the second one may take.
_FIRST_SHARE = 0.01
_TIME_SHARE = 0.9


@dataclass(frozen=True)
class FittedModel:
    """A model, None if there is none, its training rows, and the seconds from the call to the return."""

    model: Any
    rows: int
    seconds: float
    stop: str = ""


@dataclass(frozen=True, eq=False)
class FitTask:
    """What a way is given: the learner, training rows, the limit in seconds (None: no limit) and the seed."""

    learner: Any
    rows: TrainTestRows
    limit: float | None
    seed: int

    def train(self, chosen: Any = None) -> tuple[Any, Any]:
        """Return features and labels of all training rows, or of the chosen ones."""
        X, y = self.rows.X[: self.rows.n_train], self.rows.y[: self.rows.n_train]
        return (X, y) if chosen is None else (X[chosen], y[chosen])

    def make_learner(self) -> Any:
        """Return a new learner with the seed, if it takes one."""
        learner = clone(self.learner)
        return learner.set_params(random_state=self.seed) if "random_state" in learner.get_params() else learner


def fit_plainly(task: FitTask) -> FittedModel:
    """Fit on every row, without a limit."""
    start = time.perf_counter()
    model = task.make_learner().fit(*task.train())
    return FittedModel(model, task.rows.n_train, time.perf_counter() - start)


def fit_within_limit(task: FitTask, teacher: str = "auto") -> FittedModel:
    """Fit with this package. The limit includes the start of the learner's process, as in any new program."""
    clf = TimeConstrainedClassifier(
        task.learner, time_limit=task.limit, teacher=teacher, progress=False, random_state=task.seed
    )
    start = time.perf_counter()
    try:
        clf.fit(*task.train())
    except NoModelInTime as error:
        return FittedModel(None, 0, time.perf_counter() - start, str(error))
    seconds = time.perf_counter() - start
    return FittedModel(clf.best_estimator_, clf.n_rows_trained_, seconds, clf.stop_reason_)


def fit_sized_sample(task: FitTask) -> FittedModel:
    """Time a fit on 1 % of the rows, then fit as many as 90 % of the time left allows in proportion.

    That is a script of ten lines: nothing stops the second fit, so it may be late.
    """
    assert task.limit is not None
    start = time.perf_counter()
    order = np.random.default_rng(task.seed).permutation(task.rows.n_train)
    n_rows = max(1, round(_FIRST_SHARE * len(order)))
    model = task.make_learner().fit(*task.train(order[:n_rows]))
    seconds = time.perf_counter() - start
    wanted = int(n_rows * _TIME_SHARE * (task.limit - seconds) / seconds)
    if wanted > n_rows:
        n_rows = min(wanted, len(order))
        model = task.make_learner().fit(*task.train(order[:n_rows]))
    return FittedModel(model, n_rows, time.perf_counter() - start)


def fit_with_callback(task: FitTask) -> FittedModel:
    """Fit every row with a callback that ends the fit after the tree that is being grown at the limit."""
    assert task.limit is not None
    learner = task.make_learner()
    start = time.perf_counter()
    learner.fit(*task.train(), callbacks=[make_time_callback(start + task.limit)])
    seconds = time.perf_counter() - start
    return FittedModel(learner, task.rows.n_train, seconds, f"{learner.booster_.current_iteration()} iterations")


WAYS: Mapping[str, Callable[[FitTask], FittedModel]] = {
    PLAIN: fit_plainly,
    FITWITHIN: fit_within_limit,
    SIZED: fit_sized_sample,
    DOUBLING: lambda task: fit_within_limit(task, "double"),
    CALLBACK: fit_with_callback,
}
"""Each way by its name."""


def run_way(way: str, task: FitTask) -> dict[str, Any]:
    """Fit, measure the time, and score the model on the test rows; return values for JSON."""
    with warnings.catch_warnings():
        # Warnings of learners, such as too few iterations, are irrelevant here.
        warnings.simplefilter("ignore")
        fitted = WAYS[way](task)
        X_test, y_test = task.rows.X[task.rows.n_train :], task.rows.y[task.rows.n_train :]
        accuracy = None if fitted.model is None else float(np.mean(fitted.model.predict(X_test) == y_test))
    return {"accuracy": accuracy, "rows": fitted.rows, "seconds": fitted.seconds, "stop": fitted.stop}
