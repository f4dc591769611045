"""The inline backend: the learner runs in this process, and nothing can stop it."""

from __future__ import annotations

import copy
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from warnings import WarningMessage

from sklearn.base import clone

from fitwithin._core.budget import Budget, Clock, StoppableBudget
from fitwithin._core.exceptions import LearnerRaised, OutOfTime
from fitwithin._core.records import NO_LIMITS, Exam, FitLimits, Mask, Rows
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import make_stop_signal
from fitwithin.backends._memory_use import read_memory_use, reset_peak
from fitwithin.backends._model_runner import ModelRunner, reissue_warnings, rows_per_piece, split_exam


class Inline:
    """Run the learner in this process.

    Nothing can stop a running fit here. So a fit is started only if it is expected to end in time. The first fit has
    no prediction, and `fit` of the estimator returns late if the learner takes longer than predicted. The same holds
    for a memory limit: a fit that takes more than predicted is not stopped. Use `Process` if the limits are hard.

    With a memory limit, the memory of a fit is what this process takes beyond what it had at the start. On Linux it is
    the peak of each fit (`VmHWM`); elsewhere only memory that is kept after a fit is seen.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Returns the time in seconds; deadlines are kept by it. Tests pass a `fitwithin.testing.FakeClock`.

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
        """Return a runner for one session."""
        return InlineRunner(budget)


class FinishedDump:
    """A model that this process has written to a skops file.

    Parameters
    ----------
    model : estimator
        The model.
    path : Path
        The file.
    """

    def __init__(self, model: Any, path: Path) -> None:
        from fitwithin._core.model_file import dump_model

        self._types = dump_model(model, path)

    def wait(self, seconds: float) -> bool:
        """Return True at once."""
        return True

    def result(self) -> tuple[str, ...]:
        """Return the types in the file that are not on fitwithin's own list."""
        return self._types


@dataclass(frozen=True, eq=False)
class InlineModel:
    """A model in this process: of its own learner, or loaded from a checkpoint.

    Parameters
    ----------
    model : estimator
        Fitted.
    warnings : sequence of WarningMessage
        What its learner warned of.
    """

    dumps_in_background: ClassVar[bool] = False
    n_bytes: ClassVar[int | None] = None

    model: Any
    warnings: Sequence[WarningMessage] = ()
    save_seconds: float = 0.0
    load_seconds: float = 0.0

    def load(self) -> Any:
        """Return the fitted learner."""
        reissue_warnings(self.warnings)
        return self.model

    def dump(self, path: Path) -> FinishedDump:
        """Write the model to a skops file."""
        return FinishedDump(self.model, path)

    def discard(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True, eq=False)
class _PreparedLearner:
    """The arguments of `prepare`, and the memory that this process had then; None without a memory limit."""

    learner: Any
    pool: Pool
    settings: FitSettings
    memory_before: int | None


class InlineRunner:
    """Run one learner in this process."""

    killable = False

    def __init__(self, budget: Budget) -> None:
        self._budget = StoppableBudget(budget)
        self._prepared_learner: _PreparedLearner | None = None
        self._newest: ModelRunner | None = None
        self._saved: ModelRunner | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Do nothing: there is nothing to release."""

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Store the learner, its pool and settings. The seed is ignored: this process keeps its random state."""
        # Without a limit there is nothing to plan, and the same fit has the same history.
        memory = None if settings.memory_limit is None else read_memory_use(os.getpid())
        self._prepared_learner = _PreparedLearner(learner, pool, settings, None if memory is None else memory.now)

    def open_sibling(self) -> InlineRunner:
        """Refuse: two learners in one process would take turns, and none could be stopped."""
        raise TypeError(
            "Got n_jobs of more than 1 with backend='inline', which runs one learner at a time, in this process. "
            "Use backend='process', or leave n_jobs out."
        )

    def stop(self) -> None:
        """Let every later call raise `OutOfTime`; a call under way does so once the learner returns."""
        self._budget.stop()

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        """Train a fresh copy of the learner, or continue with the newest model; nothing can kill it."""
        prepared, settings = self._prepared, self._prepared.settings
        early_stopping = settings.early_stopping if learner is None else find_early_stopping(learner)
        start = self._budget.elapsed()
        stop_signal = make_stop_signal(limits, self._budget.clock)
        if prepared.memory_before is not None:
            reset_peak(os.getpid())
        training_rows = prepared.pool.read(rows)
        fit_start = self._budget.elapsed()
        if batch is None or self._newest is None:
            unfitted = clone(prepared.learner if learner is None else learner, safe=False)
            self._newest = ModelRunner(unfitted, settings.scoring)
        with self._at_work():
            if batch is None:
                report = self._newest.fit(training_rows, settings.fit_params, stop_signal, early_stopping)
            else:
                if self._newest is self._saved:
                    self._newest = copy.deepcopy(self._saved)
                report = self._newest.partial_fit(training_rows, batch, settings.classes)
        return replace(
            report,
            handover_seconds=fit_start - start,
            fit_seconds=self._budget.elapsed() - fit_start,
            peak_memory=self._read_peak(),
            memory_before=0,
            exams=() if report.gave_up else tuple(map(self.examine, exams)),
        )

    def _read_peak(self) -> int | None:
        """Return the most memory of the fit beyond what this process had before; None if it is unknown."""
        before, memory = self._prepared.memory_before, read_memory_use(os.getpid())
        if before is None or memory is None:
            return None
        return max(0, memory.now - before, memory.peak_resident - memory.file_backed - before)

    def examine(self, exam: Exam) -> ExamReport:
        """Predict rows with the newest model, a piece at a time to save memory."""
        model_runner = self._fitted
        start = self._budget.elapsed()
        with self._at_work():
            report = model_runner.examine(self._read_in_pieces(exam), exam.purpose, exam.margins)
        return replace(report, exam_seconds=self._budget.elapsed() - start)

    def _read_in_pieces(self, exam: Exam) -> Iterator[LabeledRows]:
        pool = self._prepared.pool
        size = rows_per_piece(getattr(pool.read(exam.rows[:1]).X, "nbytes", 0))
        for piece in split_exam(len(exam.rows), size, exam.seconds, self._budget.clock):
            yield pool.read(exam.rows[piece])

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model on the rows that it was examined on."""
        model_runner = self._fitted
        start = self._budget.elapsed()
        with self._at_work():
            report = model_runner.score(selected)
        return replace(report, seconds=self._budget.elapsed() - start)

    def save(self) -> InlineModel:
        """Return the newest model. A later `fit` that continues training works on a copy."""
        self._saved = self._fitted
        return InlineModel(self._saved.model, self._saved.warnings)

    @property
    def _prepared(self) -> _PreparedLearner:
        if self._prepared_learner is None:
            raise RuntimeError("prepare() must be called before fit().")
        return self._prepared_learner

    @property
    def _fitted(self) -> ModelRunner:
        if self._newest is None:
            raise RuntimeError("fit() must be called before examine(), score() and save().")
        return self._newest

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Turn the learner's exceptions into `LearnerRaised`, and a spent budget into `OutOfTime`."""
        self._check_deadline()
        try:
            yield
        except Exception as error:
            raise LearnerRaised(error, traceback.format_exc()) from error
        self._check_deadline()

    def _check_deadline(self) -> None:
        if self._budget.is_spent:
            raise OutOfTime
