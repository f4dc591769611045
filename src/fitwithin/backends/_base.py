"""What every backend is: a place where a learner sits, learns, is examined and can be stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.records import Estimate, Margins, Mask, Rows
from fitwithin._core.scoring import Scoring
from fitwithin._core.target import Array
from fitwithin._pools import Pool
from fitwithin.backends._early_stopping import EarlyStoppingFit


@dataclass(frozen=True)
class FitReport:
    """A lesson is over.

    Parameters
    ----------
    handover_seconds, fit_seconds : float
        Seconds to bring the rows to the learner, and to train.
    skipped_seconds : float, default=0.0
        Seconds that the training would have gone on for, had it not been asked to stop.
    """

    handover_seconds: float
    fit_seconds: float
    skipped_seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class ExamReport:
    """An exam is over.

    Parameters
    ----------
    wrong : array of bool
        Which rows the model got wrong.
    handover_seconds, exam_seconds : float
        Seconds to bring the rows to the learner, and to classify them.
    margins : array of float or None
        How sure it was of each row, if that was asked.
    """

    wrong: Mask
    handover_seconds: float
    exam_seconds: float
    margins: Margins | None = None


@dataclass(frozen=True)
class ScoreReport:
    """The exams of a round are scored.

    Parameters
    ----------
    overall, fresh : Estimate or None
        Over all their rows, and over those that were never seen before.
    seconds : float
        What that took.
    """

    overall: Estimate | None
    fresh: Estimate | None
    seconds: float


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What is asked of a learner besides learning.

    Parameters
    ----------
    scoring : Scoring
        How its models are graded.
    fit_params : dict
        Arguments of its `fit` that do not have one entry for each row.
    seed : int or None
        For learners that draw on the global random state.
    classes : array or None
        Every class there is, for learners that see the rows little by little.
    early_stopping : callable or None
        How to fit the learner so that it can be asked to stop; None for a black box.
    """

    scoring: Scoring = field(default_factory=Scoring)
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    classes: Array | None = None
    early_stopping: EarlyStoppingFit | None = None


class SavedModel(Protocol):
    """A model that is safe: it outlives the learner's process.

    Attributes
    ----------
    save_seconds : float
        Seconds that saving it took.
    load_seconds : float
        Seconds that `load` is expected to take.
    """

    @property
    def save_seconds(self) -> float:
        """Seconds that saving it took."""
        ...

    @property
    def load_seconds(self) -> float:
        """Seconds that `load` is expected to take."""
        ...

    def load(self) -> Any:
        """The fitted learner, in this process; repeats the warnings of its training."""
        ...

    def discard(self) -> None:
        """Let go of what it holds."""
        ...


class Runner(Protocol):
    """One learner at work for one session, a context manager.

    Every call returns in the time that the budget has left or raises `OutOfTime`; a learner that
    raises comes out as `LearnerRaised`, one that dies as `LearnerDied`.

    Attributes
    ----------
    killable : bool
        Whether a running fit can be stopped at the deadline.
    """

    killable: bool

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Take in the unfitted learner, the pool it learns from, and what is asked of it."""
        ...

    def fit(self, rows: Rows, batch: int | None = None, within: float | None = None) -> FitReport:
        """Train a fresh copy of the learner on these rows; or let the last one go on, by so many rows at a time.

        A learner that knows how to stop is asked to after so many seconds.
        """
        ...

    def examine(self, rows: Rows, margins: bool = False) -> ExamReport:
        """Let the model of the last lesson classify these rows, and tell how sure it is of them if that is asked."""
        ...

    def score(self, fresh: Mask) -> ScoreReport:
        """Score the exams of the last lesson's model; `fresh` tells which of their rows were never seen before."""
        ...

    def save(self) -> SavedModel:
        """Make the model of the last lesson safe."""
        ...


class Backend(Protocol):
    """Where a learner runs.

    Attributes
    ----------
    clock : callable
        The clock that its runners are timed by.
    """

    clock: Clock

    def open(self, budget: Budget) -> Runner:
        """A runner for one session. Called first thing in `fit`, before its input is checked."""
        ...
