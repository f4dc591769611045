"""The paper's protocol: every new model is evaluated on the test set, with the clock stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.records import Mask, Rows
from fitwithin._pools import Pool, TablePool
from fitwithin.backends import Backend, ExamReport, FitReport, FitSettings, Runner, SavedModel, ScoreReport


class PausableClock:
    """A clock that can be stopped.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        The clock behind it.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> behind = FakeClock()
    >>> clock = PausableClock(behind)
    >>> with clock.paused():
    ...     behind.advance(5)
    >>> behind.advance(2)
    >>> clock()
    2.0
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._missed = 0.0
        self._stopped: float | None = None

    def __call__(self) -> float:
        """Seconds, less those for which it stood still."""
        return (self._clock() if self._stopped is None else self._stopped) - self._missed

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still until the end of the block."""
        self._stopped = self._clock()
        try:
            yield
        finally:
            self._missed += self._clock() - self._stopped
            self._stopped = None


class Observing:
    """A backend whose learners also classify a test set, as soon as they are taught, off the clock.

    Parameters
    ----------
    backend : Backend
        Where the learner runs; its clock is `clock`.
    clock : PausableClock
        Stopped while the test set is classified.
    whole : TablePool
        The rows to learn from, and after them those of the test set.
    train : int
        How many of them are there to learn from.

    Attributes
    ----------
    accuracies : list of float or None
        On the test set, of every model that was trained; None for one that came at the very deadline.
    """

    def __init__(self, backend: Backend, clock: PausableClock, whole: TablePool, train: int) -> None:
        self.clock: Clock = clock
        self.accuracies: list[float | None] = []
        self._backend = backend
        self._pausable = clock
        self._whole = whole
        self._test = np.arange(train, len(whole))

    def open(self, budget: Budget) -> Runner:
        """A runner for one session."""
        return _ObservedSeat(self._backend.open(budget), self, budget)

    def observe(self, runner: Runner, budget: Budget) -> None:
        """Classify the test set, off the clock."""
        if budget.spent:
            self.accuracies.append(None)
            return
        with self._pausable.paused():
            self.accuracies.append(1.0 - float(runner.examine(self._test).wrong.mean()))

    def pool(self, pool: Pool) -> TablePool:
        """What the learner's process is shown in place of the pool: the same rows, and after them the test set."""
        if len(pool) + len(self._test) != len(self._whole):
            raise ValueError(f"The pool has {len(pool)} rows; {len(self._whole) - len(self._test)} were announced.")
        return self._whole


class _ObservedSeat:
    """A runner that is one row of desks longer."""

    def __init__(self, runner: Runner, observer: Observing, budget: Budget) -> None:
        self.killable = runner.killable
        self._seat = runner
        self._observer = observer
        self._budget = budget

    def __enter__(self) -> Self:
        self._seat.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._seat.__exit__(*exc_info)

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Runner the learner before all rows, of which the session knows those of the pool."""
        self._seat.prepare(learner, self._observer.pool(pool), settings)

    def fit(self, rows: Rows, batch: int | None = None, within: float | None = None) -> FitReport:
        """Teach, and observe."""
        taught = self._seat.fit(rows, batch, within)
        self._observer.observe(self._seat, self._budget)
        return taught

    def examine(self, rows: Rows, margins: bool = False) -> ExamReport:
        """An exam of the session's own."""
        return self._seat.examine(rows, margins)

    def score(self, fresh: Mask) -> ScoreReport:
        """The session's exams, scored."""
        return self._seat.score(fresh)

    def save(self) -> SavedModel:
        """The newest model."""
        return self._seat.save()
