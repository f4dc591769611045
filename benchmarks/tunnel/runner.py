"""A runner that answers from a recording, on a fake clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from recording import N_HELD_OUT, TENTHS, RecordedFit, Recording

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfTime
from fitwithin._core.records import NO_LIMITS, Exam, FitLimits, Lesson, Mask, Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import Pool
from fitwithin.backends import ExamReport, FitReport, FitSettings, PendingDump, ScoreReport
from fitwithin.backends._early_stopping.several_calls import restart_until
from fitwithin.backends._early_stopping.solvers import report_iterations
from fitwithin.backends._early_stopping.stop_signal import StepTimer, StopSignal
from fitwithin.backends._exam_predictions import ExamPredictions
from fitwithin.backends._model_runner import MAX_PIECE_ROWS, ModelRunner, split_exam
from fitwithin.backends._process.saved_model import predict_load_seconds
from fitwithin.backends._scoring import Scoring
from fitwithin.testing import FakeClock

ROUND_SECONDS = 0.015
"""Seconds of a round besides its fit and its predictions (median of `benchmarks/overhead.py`)."""

FIRST_HANDOVER_SECONDS = 0.02
"""Seconds of the first hand-over, which forks a process (LightGBM and a tree on 100,000 x 20)."""

FIRST_SAVE_SECONDS = 0.01
"""Seconds that the first model takes longer to save, since the loader is forked (the same fits)."""

# Standard errors by which the share of misclassified rows must exceed that of the pool to be more than chance.
_CLEAR_EXCESS = 3.0


class TooManyRows(Exception):
    """The learner of an adversary failed."""


@dataclass(frozen=True, eq=False)
class RecordedModel:
    """A fitted model: the rows and the share of the steps that it was trained with, and its test score."""

    rows: int
    share: float
    score: float
    correct: Mask
    fit: RecordedFit


@dataclass(eq=False)
class SavedRecordedModel:
    """A saved model; loading it takes time."""

    model: RecordedModel
    save_seconds: float
    load_seconds: float
    n_bytes: int
    loads_in: float
    clock: Any
    dumps_in_background: bool = True

    def load(self) -> RecordedModel:
        """Return the model."""
        self.clock.advance(self.loads_in)
        return self.model

    def dump(self, path: Path) -> PendingDump:
        """Refuse: there is no checkpoint here."""
        raise NotImplementedError

    def discard(self) -> None:
        """Do nothing."""


@dataclass
class LoggedFit:
    """A fit, as `--show` prints it: when it began, its seconds, its exams, and its result."""

    start: float
    rows: int
    lesson: Lesson | None
    multiple: float
    seconds: float = 0.0
    share: float = 1.0
    score: float = 0.0
    result: str = "deadline"
    is_saved: bool = False
    exams: list[str] = field(default_factory=list)
    end: float = 0.0


def limit_fit(fit: RecordedFit, times: Array, stop_signal: StopSignal, clock: FakeClock) -> None:
    """Take the steps of a fit, with the seconds until each tenth of them, until the stop signal ends it."""
    clock.advance(float(times[0]))
    timer = StepTimer(stop_signal, max(fit.n_steps, fit.n_planned_steps))
    timer.begin_steps()
    for seconds in np.diff(np.interp(np.linspace(0, 1, fit.n_steps + 1), TENTHS, times)).tolist():
        clock.advance(seconds)
        if not timer.finish_step():
            break


def restart_fit(fit: RecordedFit, seconds: float, stop_signal: StopSignal, clock: FakeClock, adds_steps: bool) -> None:
    """Begin a fit of a solver anew with more and more steps, as the package does; `adds_steps` as it does for SGD."""
    step_seconds, planned, calls = seconds / fit.n_steps, max(fit.n_steps, fit.n_planned_steps), [0]

    def start_anew(n_steps: int) -> bool:
        calls.append(n_steps)
        clock.advance(step_seconds * min(n_steps, fit.n_steps))
        return n_steps <= fit.n_steps

    restart_until(stop_signal, planned, start_anew)
    n_steps, has_converged = min(calls[-1], fit.n_steps), calls[-1] > fit.n_steps or calls[-1] == planned
    # Steps that are added have no stopping rule but the time.
    while adds_steps and not has_converged and n_steps < planned and stop_signal.seconds_left() > step_seconds:
        n_steps += 1
        clock.advance(step_seconds)
    report_iterations(stop_signal, n_steps, n_steps if has_converged else planned, step_seconds)


class RecordedRunner:
    """Answer the requests of a session from a recording; a fit or an exam moves the clock.

    Parameters
    ----------
    recording : Recording
        The learner and the data set.
    budget : Budget
        The time limit, by a fake clock.
    scale : float
        Factor on the recorded seconds of fits and predictions.
    seed : int
        Chooses repeats, and the held-out row that each row of the pool answers like.
    in_chain : bool, default=False
        Whether lessons are those of TCT.
    killable : bool, default=True
        Whether a fit that overruns is killed; otherwise it ends late.
    """

    def __init__(
        self,
        recording: Recording,
        budget: Budget,
        scale: float,
        seed: int,
        *,
        in_chain: bool = False,
        killable: bool = True,
    ) -> None:
        self.killable = killable
        self.clock: Any = budget.clock
        self.log: list[LoggedFit] = []
        self.lesson: Lesson | None = None
        self._recording = recording
        self._budget = budget
        self._scale = scale
        self._in_chain = in_chain
        self._rng = np.random.default_rng([seed, 1])
        self._held_out = self._rng.integers(N_HELD_OUT, size=recording.n_rows, dtype=np.int16)
        self._exams = ModelRunner(None, Scoring())
        self._newest: RecordedModel | None = None
        self._judge: Mask | None = None
        self._kill_after: float | None = None
        self._has_saved = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None: ...

    def stop(self) -> None: ...

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None: ...

    def open_sibling(self) -> RecordedRunner:
        """Refuse: a fake clock has no learners side by side."""
        raise TypeError("a replay has one learner")

    def _spend(self, work: float) -> None:
        """Let seconds of work pass, until the learner is killed or the deadline."""
        fast = self._fast_seconds
        seconds = work if work <= fast else fast + self._recording.behaviour.slowdown * (work - fast)
        left = self._budget.remaining()
        until_kill = math.inf if self._kill_after is None or not self.killable else self._kill_after
        is_killed = until_kill < min(seconds, left)
        self.clock.advance(min(seconds, left, until_kill) if self.killable else seconds)
        if self.log:
            self.log[-1].end = self.clock()
        if is_killed:
            self.log[-1].result = "killed"
            raise LearnerDied(f"it was stopped after {self._kill_after:.3g} s, its share of the time")
        if seconds >= left:
            raise OutOfTime

    @property
    def _fast_seconds(self) -> float:
        """Seconds until the machine slows down, at half of the limit."""
        is_steady = self._recording.behaviour.slowdown == 1.0
        return math.inf if is_steady else max(0.0, self._budget.seconds / 2 - self.clock())

    def _work_within(self, seconds: float | None) -> float:
        """Return the seconds of work that are done within some seconds; infinite for None."""
        if seconds is None:
            return math.inf
        fast = self._fast_seconds
        return min(seconds, fast) + max(0.0, seconds - fast) / self._recording.behaviour.slowdown

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        """Take the seconds of a fit on this number of rows."""
        if batch is not None or learner is not None:
            raise TypeError("a recording has one learner, which is fitted anew in each lesson")
        start, is_new_process = self.clock(), not self.log or self.log[-1].result == "killed"
        self._kill_after = None
        self._spend(FIRST_HANDOVER_SECONDS if is_new_process else ROUND_SECONDS)
        began = self.clock()
        stop_after = None if limits.stop_after is None else limits.stop_after - (began - start)
        self._kill_after = limits.kill_after
        report = self._begin_fit(rows, is_new_process, replace(limits, stop_after=stop_after))
        self._spend(report.fit_seconds)
        logged = self.log[-1]
        logged.seconds = self.clock() - began
        logged.result = "gave up" if report.gave_up else "cut" if report.was_cut_short else "done"
        report = replace(report, fit_seconds=logged.seconds, handover_seconds=began - start)
        return report if report.gave_up else replace(report, exams=tuple(map(self.examine, exams)))

    def _begin_fit(self, rows: Rows, is_new_process: bool, limits: FitLimits) -> FitReport:
        """Return the report of a fit, in seconds of work, and make its model the newest one."""
        recording, behaviour, multiple = self._recording, self._recording.behaviour, self._find_multiple(rows)
        fit = recording.fit(len(rows), int(self._rng.integers(1 << 30)), multiple, in_chain=self._in_chain)
        self.log.append(LoggedFit(self.clock(), len(rows), self.lesson, multiple))
        startup = self._scale * recording.startup_seconds if is_new_process else 0.0
        factor = self._scale * (behaviour.first_fit_factor if is_new_process else 1.0)
        seconds = startup + factor * math.exp(behaviour.noise * self._rng.normal()) * fit.cost("fit_seconds")
        if len(rows) > behaviour.fails_above:
            self._spend(seconds / 2)
            self.log[-1].result = "failed"
            raise LearnerRaised(TooManyRows(f"{len(rows)} rows"), "")
        report = FitReport(0.0, seconds)
        if recording.can_stop and (limits.stop_after is not None or limits.give_up_over is not None):
            report = self._limit(fit, startup, seconds, limits)
        share = 1.0 if report.steps is None else min(1.0, report.steps / fit.n_steps)
        score, correct = fit.score(share, recording.n_classes), fit.correct_after(share, recording.n_classes)
        self._newest = RecordedModel(len(rows), share, score, correct, fit)
        self._exams = ModelRunner(self._newest, Scoring())
        self.log[-1].share, self.log[-1].score = share, score
        return report

    def _limit(self, fit: RecordedFit, startup: float, seconds: float, limits: FitLimits) -> FitReport:
        """Return the report of a fit with a stop signal, which has a clock of its own."""
        knows_steps, clock = self._recording.knows_steps, FakeClock()
        give_up_over = self._work_within(limits.give_up_over) if knows_steps else None
        stop_signal = StopSignal(self._work_within(limits.stop_after), clock, give_up_over=give_up_over)
        clock.advance(startup)
        if fit.is_restarted:
            restart_fit(fit, seconds - startup, stop_signal, clock, self._recording.header["family"] == "sgd")
        else:
            limit_fit(fit, fit.times * (seconds - startup), stop_signal, clock)
        skipped = stop_signal.skipped_seconds if knows_steps else min(stop_signal.skipped_seconds, clock())
        return FitReport(
            0.0,
            clock(),
            skipped,
            setup_seconds=stop_signal.setup_seconds,
            steps=stop_signal.n_steps,
            planned_steps=stop_signal.planned_steps,
            gave_up=stop_signal.gave_up,
        )

    def _find_multiple(self, rows: Rows) -> float:
        """Return how many times more frequent rows are that the last model to search for mistakes got wrong."""
        if self._judge is None or self._judge.all():
            return 1.0
        expected = 1 - float(self._judge.mean())
        share = 1 - float(self._judge[self._held_out[rows]].mean())
        is_chance = share - expected < _CLEAR_EXCESS * math.sqrt(expected * (1 - expected) / len(rows))
        return 1.0 if is_chance else share / expected

    @property
    def _model(self) -> RecordedModel:
        assert self._newest is not None
        return self._newest

    def examine(self, exam: Exam) -> ExamReport:
        """Take the seconds of predictions, and tell which rows are wrong."""
        start, fit, n_rows = self.clock(), self._model.fit, 0
        per_row, fixed = fit.cost("predict_seconds_per_row"), fit.cost("predict_seconds_fixed")
        for piece in split_exam(len(exam.rows), MAX_PIECE_ROWS, exam.seconds, self.clock):
            self._spend(self._scale * (fixed + per_row * (piece.stop - piece.start)))
            n_rows = piece.stop
        correct = self._model.correct[self._held_out[exam.rows[:n_rows]]]
        if exam.purpose in ("mistakes", "score"):
            self._judge = self._model.correct
        report = self._exams.add_answers(ExamPredictions(None, correct), exam.purpose)
        self.log[-1].exams.append(f"{exam.purpose} {n_rows}")
        margins = self._rng.random(n_rows).astype(np.float32) if exam.margins else None
        return replace(report, exam_seconds=self.clock() - start, margins=margins)

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model, which takes no time."""
        return replace(self._exams.score(selected), seconds=0.0)

    def save(self) -> SavedRecordedModel:
        """Take the seconds of saving the newest model and loading it once."""
        start, fit, behaviour = self.clock(), self._model.fit, self._recording.behaviour
        scale = self._scale if behaviour.saving_scales else 1.0
        save, load = scale * fit.cost("save_seconds"), scale * fit.cost("load_seconds")
        self._spend(save + load + (0.0 if self._has_saved else FIRST_SAVE_SECONDS))
        self._has_saved = self.log[-1].is_saved = True
        seconds, n_bytes = self.clock() - start, int(fit.cost("model_bytes"))
        return SavedRecordedModel(self._model, seconds, predict_load_seconds(load), n_bytes, load, self.clock)
