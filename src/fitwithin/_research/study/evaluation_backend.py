"""The paper's protocol: every new model is evaluated on the test set, with the clock paused."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.records import NO_LIMITS, Exam, FitLimits, Mask, Rows
from fitwithin._pools.pool import Pool
from fitwithin._pools.table_pool import TablePool
from fitwithin.backends import Backend, ExamReport, FitReport, FitSettings, Runner, SavedModel, ScoreReport


class PausableClock:
    """A clock that can be paused.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        The underlying clock.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> underlying = FakeClock()
    >>> clock = PausableClock(underlying)
    >>> with clock.paused():
    ...     underlying.advance(5)
    >>> underlying.advance(2)
    >>> clock()
    2.0
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._paused_seconds = 0.0
        self._paused_at: float | None = None

    def __call__(self) -> float:
        """Return the seconds of the underlying clock, less those of the pauses."""
        return (self._clock() if self._paused_at is None else self._paused_at) - self._paused_seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause until the end of the block."""
        self._paused_at = self._clock()
        try:
            yield
        finally:
            self._paused_seconds += self._clock() - self._paused_at
            self._paused_at = None


class EvaluationBackend:
    """A backend that evaluates every new model on a test set, with the clock paused.

    Parameters
    ----------
    backend : Backend
        Backend that runs the learner; it uses `clock`.
    clock : PausableClock
        Clock that is paused during the evaluation.
    all_rows : TablePool
        The training rows, followed by the test rows.
    n_train : int
        Number of training rows.

    Attributes
    ----------
    accuracies : list of float or None
        Test accuracy of every model; None for a model that was ready only at the deadline.
    """

    def __init__(self, backend: Backend, clock: PausableClock, all_rows: TablePool, n_train: int) -> None:
        self.clock: Clock = clock
        self.accuracies: list[float | None] = []
        self._backend = backend
        self._pausable_clock = clock
        self._all_rows = all_rows
        self._test_rows = np.arange(n_train, len(all_rows))

    def open(self, budget: Budget) -> Runner:
        """Return a runner for one session."""
        return _EvaluationRunner(self._backend.open(budget), self, budget)

    def evaluate(self, runner: Runner, budget: Budget) -> int:
        """Add the test accuracy of the runner's model, with the clock paused; return the number of test rows."""
        if budget.is_spent:
            self.accuracies.append(None)
            return 0
        with self.paused():
            self.accuracies.append(1.0 - float(runner.examine(Exam(self._test_rows)).wrong.mean()))
        return len(self._test_rows)

    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which the clock is paused."""
        return self._pausable_clock.paused()

    def add_test_rows(self, pool: Pool) -> TablePool:
        """Return the session's pool with the test rows after its own rows."""
        n_train = len(self._all_rows) - len(self._test_rows)
        if len(pool) != n_train:
            raise ValueError(f"The pool has {len(pool)} rows; expected the {n_train} training rows.")
        return self._all_rows


class _EvaluationRunner:
    """A runner whose pool also holds the test rows, and that evaluates after every fit."""

    def __init__(self, runner: Runner, backend: EvaluationBackend, budget: Budget) -> None:
        self.killable = runner.killable
        self._runner = runner
        self._backend = backend
        self._budget = budget
        self._n_evaluated = 0

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._runner.__exit__(*exc_info)

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Prepare the learner with all rows; the session knows only those of the pool."""
        self._runner.prepare(learner, self._backend.add_test_rows(pool), settings)

    def open_sibling(self) -> Runner:
        """Refuse: the accuracies are those of one model after the other."""
        raise TypeError("The study evaluates one model after the other; leave n_jobs out.")

    def stop(self) -> None:
        """Stop the learner."""
        self._runner.stop()

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        """Fit, evaluate, then examine."""
        report = self._runner.fit(rows, batch=batch, limits=limits, learner=learner)
        self._n_evaluated = self._backend.evaluate(self._runner, self._budget)
        return report if report.gave_up else replace(report, exams=tuple(map(self.examine, exams)))

    def examine(self, exam: Exam) -> ExamReport:
        """Predict rows of the session's pool."""
        return self._runner.examine(exam)

    def score(self, selected: Mask) -> ScoreReport:
        """Score the session's exams, without the test rows, which the runner examined before them."""
        test_rows = np.zeros(self._n_evaluated, dtype=np.bool_)
        with self._backend.paused():
            chosen = self._runner.score(np.concatenate([test_rows, selected]))
            overall = self._runner.score(np.concatenate([test_rows, np.ones_like(selected)]))
        return ScoreReport(overall.selected, chosen.selected, overall.seconds + chosen.seconds)

    def save(self) -> SavedModel:
        """Save the newest model."""
        return self._runner.save()
