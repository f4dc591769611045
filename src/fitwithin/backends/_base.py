"""The protocols that every backend implements, and the records that its runners return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.records import NO_LIMITS, Answers, Estimate, Exam, FitLimits, Influence, Margins, Mask, Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import Pool
from fitwithin.backends._early_stopping.registry import EarlyStoppingFit
from fitwithin.backends._scoring import Scoring
from fitwithin.backends._unpredicted import Unpredicted


@dataclass(frozen=True)
class FitReport:
    """Result of `Runner.fit`.

    Parameters
    ----------
    handover_seconds, fit_seconds : float
        Seconds to bring the rows to the learner, and to train.
    skipped_seconds : float
        Seconds that training would still have taken when it was stopped early.
    peak_memory, memory_before : int or None
        Most bytes of anonymous memory that the learner and its children took during the fit, and those before it.
    setup_seconds : float or None
        Seconds of `fit_seconds` until the first step, which no signal can stop; None if the steps are unknown.
    steps, planned_steps : int or None
        Steps that were done, and those of a complete fit, at most; None if unknown, and for a fit without limits.
    gave_up : bool
        Whether it ended after a few steps because of `FitLimits.give_up_over`; it then has no exams.
    model_bytes : int or None
        Size of the model if it is saved.
    exams : tuple of ExamReport
        The results of the requested exams.
    """

    handover_seconds: float
    fit_seconds: float
    skipped_seconds: float = 0.0
    peak_memory: int | None = None
    memory_before: int | None = None
    setup_seconds: float | None = None
    steps: int | None = None
    planned_steps: int | None = None
    gave_up: bool = False
    model_bytes: int | None = None
    exams: tuple[ExamReport, ...] = ()

    @property
    def was_cut_short(self) -> bool:
        """Whether the fit was stopped before its end."""
        return self.skipped_seconds > 0 or (self.steps or 0) < (self.planned_steps or 0)


@dataclass(frozen=True, eq=False)
class ExamReport:
    """Result of an exam.

    Parameters
    ----------
    wrong : array of bool
        Which rows the model got wrong. The first rows of the exam, if `Exam.seconds` ended it.
    handover_seconds, exam_seconds : float
        Seconds to bring the rows to the model, and to predict and score them.
    margins : array of float or None
        Difference between the probabilities of each row's two most probable classes, if requested.
    peak_memory : int or None
        Most bytes of anonymous memory since the start of the last fit.
    score : Estimate or None
        Score over these rows, for every purpose but "mistakes".
    influence : array of float or None
        What each row, or each resample of them, adds to the error of the score, if known; see `Answers`.
    problem : str or None
        Why the score, or the ends of its interval, are unknown, for a warning.
    unpredicted : Unpredicted or None
        Those of the rows that the model could not predict. They are wrong, and no part of the score.
    """

    wrong: Mask
    handover_seconds: float
    exam_seconds: float
    margins: Margins | None = None
    peak_memory: int | None = None
    score: Estimate | None = None
    influence: Influence | None = None
    problem: str | None = None
    unpredicted: Unpredicted | None = None

    def leave_out_unpredicted(self, answers: Answers) -> Answers:
        """Return the answers on the rows that the model could predict; on all if it could not predict many."""
        if self.unpredicted is None:
            return answers
        is_kept = ~self.unpredicted.mask
        answers = replace(answers, unpredicted=int(np.count_nonzero(~is_kept)))
        if answers.lacks_rows:
            return replace(answers, influence=None)
        return replace(answers, rows=answers.rows[is_kept], wrong=answers.wrong[is_kept])

    @property
    def n_rows(self) -> int:
        """Rows that were examined: the first ones of the request."""
        return len(self.wrong)


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Result of `Runner.score`.

    Parameters
    ----------
    overall, selected : Estimate or None
        Score over all examined rows, and over the selected ones; None if there are none.
    seconds : float
        Seconds that scoring took.
    problem : str or None, default=None
        Why a score, or the ends of its interval, are unknown, for a warning.
    """

    overall: Estimate | None
    selected: Estimate | None
    seconds: float
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class FitSettings:
    """Settings that stay the same for every fit of a session.

    Parameters
    ----------
    scoring : Scoring
        How models are scored.
    fit_params : dict
        Arguments of the learner's `fit` other than those with one entry per row.
    seed : int or None
        Seed for learners that use the global random state.
    classes : array or None
        All classes, for learners that are trained by `partial_fit`.
    early_stopping : callable or None
        Fits the learner so that it can be stopped early; None if it cannot.
    memory_limit : int or None
        Bytes of anonymous memory that each learner and its children may take; None for no limit.
    n_jobs : int
        Learners that run at the same time: that of the runner, and those of ``n_jobs - 1`` siblings.
    other_learners : tuple of estimator
        Other learners that `Runner.fit` will be given, so that their libraries can be imported ahead.
    """

    scoring: Scoring = field(default_factory=Scoring)
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    classes: Array | None = None
    early_stopping: EarlyStoppingFit | None = None
    memory_limit: int | None = None
    n_jobs: int = 1
    other_learners: tuple[Any, ...] = ()


class PendingDump(Protocol):
    """A model that is being written to a skops file."""

    def wait(self, seconds: float) -> bool:
        """Wait for the file, at most this many seconds; return whether writing has ended, with success or not."""

    def result(self) -> tuple[str, ...]:
        """Return the types in the file that are not on fitwithin's own list, once `wait` has returned True.

        Raises NotStorable if skops cannot store the model, and LearnerDied if the process that wrote it has ended.
        """


class SavedModel(Protocol):
    """A model that outlives the learner's process, and the runner."""

    @property
    def dumps_in_background(self) -> bool:
        """Whether `dump` returns before the file is written."""

    @property
    def save_seconds(self) -> float:
        """Seconds that saving took."""

    @property
    def load_seconds(self) -> float:
        """Seconds that `load` is expected to take. The session reserves them before the deadline."""

    @property
    def n_bytes(self) -> int | None:
        """Size of the saved model; None if it is unknown."""

    def load(self) -> Any:
        """Return the fitted learner in this process, and issue the warnings of its fit again."""

    def dump(self, path: Path) -> PendingDump:
        """Begin to write the model to a skops file; another process may do it while this one goes on.

        Raises NotStorable if skops cannot store the model, and OutOfTime and LearnerDied as a `Runner` does.
        """

    def discard(self) -> None:
        """Release the memory or the file that holds the model. Called once."""


class Runner(Protocol):
    """Run one learner for one session; a context manager.

    The session calls `prepare` once, then `fit` any number of times, and after a fit any of `examine`, `score` and
    `save`. These four raise four exceptions:

    - `OutOfTime`, if the budget is spent before the call or while it runs. A killable runner stops the learner first.
      The session makes no further call but `__exit__`.
    - `LearnerRaised`, if the learner raises. It holds the exception and its traceback. In `save` it also means that the
      model cannot be pickled. The runner can be used again.
    - `LearnerDied`, if the learner's process ends without an exception. The text says how, such as "it was killed by
      SIGSEGV". The next `fit` starts a new process.
    - `OutOfMemory`, if the learner and its children take more than `FitSettings.memory_limit`. A killable runner stops
      them first; the next `fit` starts a new process. One that cannot reports the memory, and the session plans by it.

    Every other exception is an error of the backend, and ends the session. Models that were saved before can be loaded.

    With `FitSettings.n_jobs`, the session opens siblings after `prepare`, and calls each runner from a thread of its
    own. `killable` says whether the runner can stop a running fit, at the deadline and over the memory limit.
    """

    killable: bool

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None:
        """Stop the learner, if it is at work, and release everything except the saved models."""

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Store the unfitted learner, the pool of rows and the settings.

        Raises TypeError if this backend cannot run the learner or read the pool; the message says what to do.
        """

    def open_sibling(self) -> Runner:
        """Return a prepared runner for the same learner, pool, settings and budget, with a learner of its own.

        There are ``FitSettings.n_jobs - 1`` siblings, each at work in a thread of its own. A sibling must be left
        before this runner is; models that it saved outlive it.

        Raises TypeError if this backend runs one learner only; the message says what to do.
        """

    def stop(self) -> None:
        """Stop the learner at once, from any thread.

        A call under way in another thread raises `OutOfTime`, as does every later fit and exam. A runner that is not
        killable raises once its learner returns.
        """

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        """Train on rows of the pool, and examine the new model.

        Parameters
        ----------
        rows : array of int
            Row numbers, in training order; a row may occur twice.
        batch : int, optional
            Continue the newest model by `partial_fit`, this many rows at a time; by default a fresh copy is fitted.
        exams : sequence of Exam, optional
            Exams of the new model.
        limits : FitLimits, optional
            A killable runner raises `LearnerDied` after `kill_after`, also in later calls until the next `fit`.
        learner : estimator, optional
            The learner to train, not fitted; by default the one of `prepare`.
        """

    def examine(self, exam: Exam) -> ExamReport:
        """Predict rows of the pool with the newest model, compare, and score."""

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model on all rows that it was examined on, and on the selected ones, in their order."""

    def save(self) -> SavedModel:
        """Save the newest model, so that it outlives later fits and the learner's process."""


class Backend(Protocol):
    """Where learners run; its `clock` times its sessions. `fitwithin.testing.BackendContract` tests implementations."""

    clock: Clock

    def open(self, budget: Budget) -> Runner:
        """Return a runner for one session, which may start a process while `fit` is still checking its input.

        Raises ValueError for an invalid parameter of the backend.
        """
