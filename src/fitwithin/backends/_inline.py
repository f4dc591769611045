"""The learner in this process: no overhead, and nobody who could stop it."""

from __future__ import annotations

import copy
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import clone

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.exceptions import LearnerRaised, OutOfTime
from fitwithin._core.records import Mask, Rows
from fitwithin._pools import LabeledRows, Pool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._early_stopping import StopSignal
from fitwithin.backends._model_runner import ModelRunner, repeat

_PIECE_ROWS = 1 << 16


_PIECE_BYTES = 16 << 20


class Inline:
    """Run the learner in this process.

    A running fit cannot be stopped here, so a lesson is begun only if the cost model says that it
    will end in time; the first lesson has no such prediction, and a fit that takes longer than
    predicted returns late. Use `Process` where the deadline is hard.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        A `fitwithin.testing.FakeClock` runs an hour-long session in a millisecond.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedClassifier
    >>> from fitwithin.backends import Inline
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> TimeConstrainedClassifier(GaussianNB(), time_limit=10, backend=Inline()).fit(X, y).stop_reason_
    'all rows'
    """

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self.clock = clock

    def open(self, budget: Budget) -> InlineRunner:
        """A runner for one session."""
        return InlineRunner(budget)


@dataclass(frozen=True, eq=False)
class InlineModel:
    """A model that is already where it is wanted."""

    pupil: ModelRunner
    save_seconds: float = 0.0
    load_seconds: float = 0.0

    def load(self) -> Any:
        """The fitted learner."""
        repeat(self.pupil.warnings)
        return self.pupil.model

    def discard(self) -> None:
        """Nothing is held."""


class InlineRunner:
    """A learner in this process."""

    killable = False

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._pupil: ModelRunner | None = None
        self._kept: ModelRunner | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Nothing to end."""

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Take in the learner and its pool; the process' own random state is left alone."""
        self._learner = learner
        self._pool = pool
        self._settings = settings

    def fit(self, rows: Rows, batch: int | None = None, within: float | None = None) -> FitReport:
        """Train a fresh copy of the learner, or go on with the newest model."""
        start = self._budget.elapsed()
        stop_signal = None if within is None else StopSignal(within, clock=self._budget.clock)
        portion = self._pool.read(rows)
        handed = self._budget.elapsed()
        if batch is None or self._pupil is None:
            self._pupil = ModelRunner(clone(self._learner, safe=False), self._settings.scoring)
        with self._at_work():
            if batch is None:
                self._pupil.learn(portion, self._settings.fit_params, stop_signal, self._settings.early_stopping)
            else:
                if self._pupil is self._kept:
                    self._pupil = copy.deepcopy(self._kept)
                self._pupil.go_on(portion, batch, self._settings.classes)
        skipped_seconds = 0.0 if stop_signal is None else stop_signal.skipped_seconds
        return FitReport(
            handover_seconds=handed - start,
            fit_seconds=self._budget.elapsed() - handed,
            skipped_seconds=skipped_seconds,
        )

    def examine(self, rows: Rows, margins: bool = False) -> ExamReport:
        """Classify rows with the newest model, a piece at a time: nobody needs a copy of them all."""
        assert self._pupil is not None
        start = self._budget.elapsed()
        with self._at_work():
            paper = self._pupil.sit(self._pieces(rows), margins)
        return ExamReport(paper.wrong, 0.0, self._budget.elapsed() - start, paper.margins)

    def _pieces(self, rows: Rows) -> Iterator[LabeledRows]:
        row_bytes = getattr(self._pool.read(rows[:1]).X, "nbytes", 0)
        size = min(_PIECE_ROWS, max(1, _PIECE_BYTES // max(1, row_bytes)))
        for start in range(0, len(rows), size):
            yield self._pool.read(rows[start : start + size])

    def score(self, fresh: Mask) -> ScoreReport:
        """Score the exams of the newest model."""
        assert self._pupil is not None
        start = self._budget.elapsed()
        with self._at_work():
            overall, unseen = self._pupil.score(fresh)
        return ScoreReport(overall, unseen, self._budget.elapsed() - start)

    def save(self) -> InlineModel:
        """The newest model; what goes on learning after this is a copy."""
        assert self._pupil is not None
        self._kept = self._pupil
        return InlineModel(self._pupil)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        if self._budget.spent:
            raise OutOfTime
        try:
            yield
        except Exception as error:
            raise LearnerRaised(error, traceback.format_exc()) from error
        if self._budget.spent:
            raise OutOfTime
