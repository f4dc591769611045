"""The only loop: a teacher asks, a runner answers, until the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.candidate import Candidate
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.memory_cost import MemoryModel
from fitwithin._core.records import (
    Answers,
    Estimate,
    Exam,
    FitLimits,
    Lesson,
    OnRound,
    Round,
    Rows,
    StopReason,
    Wait,
    is_worse,
)
from fitwithin._session.continuation import Continuation
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.round_tracker import OpenRound, RoundForecast, RoundTracker
from fitwithin._session.selection import KeptModel, ModelSelector, ValidationExam
from fitwithin.backends import FitReport, Runner
from fitwithin.teachers import Requests

# The session ends when less time is left than this many times the teacher's slowest choice so far: choices grow with
# their lessons, which at most double or quadruple.
_CHOICE_FACTOR = 3

# Rows of a lesson from which on counting its classes and marking its rows, before it begins, takes long, and the
# seconds that each row may take: the rows lie all over the pool.
_LARGE_LESSON = 1 << 20
_COUNT_SECONDS = 2.5e-7


class Listener(Protocol):
    """An object that is told what a session does, such as a progress display."""

    def on_activity(self, activity: str, rows: int, candidate: int | None = None) -> None:
        """Note that the learner, or this candidate of a search, begins an activity with this number of rows."""
        ...

    def on_round(self, finished: Round) -> None:
        """Note that a round is over."""
        ...


@dataclass(frozen=True, eq=False)
class SessionParts:
    """What all loops of a session share.

    Parameters
    ----------
    budget : Budget
        The time limit.
    costs : CostEstimates
        Predicts lessons and exams, and learns from them.
    selector : ModelSelector
        Holds the best model.
    continuation : Continuation
        Stores the session while it runs.
    listeners : sequence of Listener
        Told what the session does.
    on_round : callable or None
        Called with each finished `Round`; stops the session by returning True.
    """

    budget: Budget
    costs: CostEstimates
    selector: ModelSelector
    continuation: Continuation
    listeners: Sequence[Listener]
    on_round: OnRound | None


class LoopLock(Protocol):
    """Lock that the loops of a session share."""

    def released(self) -> AbstractContextManager[None]:
        """Return a context for a call of the runner, in which other loops go on."""
        ...

    def wait(self) -> None:
        """Wait until another loop's learner has done something; see `Wait`."""
        ...


class _NoLock:
    """Lock of a loop without others."""

    def released(self) -> AbstractContextManager[None]:
        return nullcontext()

    def wait(self) -> None:
        """Return at once."""


class LearnerLoop:
    """One learner at work: carry out the requests of a teacher's generator, one after the other.

    Parameters
    ----------
    parts : SessionParts
        What it shares with the other loops.
    runner : Runner
        Carries out lessons and exams; prepared for the learner.
    tracker : RoundTracker
        Its round under way, and the rounds of all loops.

    Attributes
    ----------
    lock : LoopLock
        Lets the other loops run while its runner is called. Everything else happens under the lock.
    activity, status : str
        What the learner does, in words.
    """

    def __init__(self, parts: SessionParts, runner: Runner, tracker: RoundTracker) -> None:
        self.runner = runner
        self.tracker = tracker
        self.budget = parts.budget
        self.costs = parts.costs
        self._parts = parts
        self._selector = parts.selector
        self._continuation = parts.continuation
        self.lock: LoopLock = _NoLock()
        self.activity = "getting ready"
        self.status = "the learner had not started"

    @property
    def has_best_model(self) -> bool:
        """Whether the session has a model, of any loop."""
        return self._selector.best is not None

    def open_sibling(self) -> LearnerLoop:
        """Return a loop of the same session with a learner of its own."""
        return LearnerLoop(self._parts, self.runner.open_sibling(), self.tracker.open_loop())

    def carry_out(self, requests: Requests) -> StopReason:
        """Carry out requests until there is no more, or the budget is spent; return why it ended."""
        answers: Answers | None = None
        refusal: OutOfMemory | LearnerRaised | LearnerDied | None = None
        while True:
            if self._has_no_time_to_choose():
                return self._finish_last_round("time")
            try:
                with self.tracker.timing_choice():
                    request = requests.send(answers) if refusal is None else requests.throw(refusal)
            except StopIteration as end:
                return self._finish_last_round(end.value or "all rows")
            except OutOfTime:
                # There is no time left to deal these rows.
                return self._finish_last_round("time")
            answers = refusal = None
            if isinstance(request, Wait):
                self.lock.wait()
                continue
            rows = self.tracker.check_request(request)
            try:
                if isinstance(request, Exam):
                    answers = self._examine(rows, request)
                    continue
                if self._finish_round():
                    return "on_round"
                if not self._may_begin(request, len(rows)):
                    return "time"
                self._teach(rows, request)
            except (OutOfMemory, LearnerRaised, LearnerDied) as error:
                self._note_failure(error, request)
                refusal = error

    def _note_failure(self, failure: OutOfMemory | LearnerRaised | LearnerDied, request: Lesson | Exam) -> None:
        """Forget the round under way if the teacher can go on after it; otherwise raise the failure."""
        current = self.tracker.current
        candidate = request.candidate if isinstance(request, Lesson) else self._current().candidate
        is_memory = isinstance(failure, OutOfMemory)
        can_go_on = candidate is not None or (is_memory and self._selector.best is not None)
        if not can_go_on:
            raise failure
        if current is not None and is_memory:
            self._current_costs.memory.observe_stop(current.rows)
        self.abandon_round()

    def abandon_round(self) -> None:
        """Forget the round under way, which cannot be finished; if its model is saved, note it."""
        current, best = self.tracker.current, self._selector.best
        if current is not None and current.saved is not None and best is not None:
            # The exam that was cut off adds nothing, but the scores of those before it stay.
            is_best = best.model is current.saved
            self._close_round(
                current,
                best.record.estimate if is_best else current.validation_estimate,
                best.record.fresh_estimate if is_best else None,
            )
        self.tracker.abandon()

    def _has_no_time_to_choose(self) -> bool:
        """Whether the teacher's next choice might outlast the budget; in a very large pool choosing rows takes long.

        A model that cannot be compared yet would be lost, so its next exam is chosen in any case.
        """
        current = self.tracker.current
        is_waiting_for_exam = current is not None and not current.is_comparable and current.saved is None
        return not is_waiting_for_exam and self.budget.remaining() < _CHOICE_FACTOR * self.tracker.slowest_choice

    def _may_begin(self, lesson: Lesson, n_rows: int) -> bool:
        if n_rows > _LARGE_LESSON and self.budget.remaining() < _COUNT_SECONDS * n_rows:
            return False
        costs = self._costs_for(lesson)
        return (costs.may_finish if lesson.within is None else costs.may_begin)(n_rows)

    def _costs_for(self, lesson: Lesson) -> CostEstimates:
        return self.costs if lesson.candidate is None else lesson.candidate.costs

    @property
    def _current_costs(self) -> CostEstimates:
        """Predicts the learner of the round under way."""
        candidate = self._current().candidate
        return self.costs if candidate is None else candidate.costs

    def _teach(self, rows: Rows, lesson: Lesson) -> None:
        costs = self._costs_for(lesson)
        _check_memory(costs.memory, len(rows))
        self._announce("training on", len(rows), lesson.candidate)
        prediction = costs.cost.predict(len(rows))
        predicted = None if prediction is None else prediction.fit_seconds
        if predicted is not None:
            lesson = self._continuation.write_before_fit(lesson, predicted)
        with self.tracker.timing_choice():
            # Counting the rows of a large lesson takes long too.
            if lesson.is_measurement:
                current = self.tracker.begin_measurement(rows)
            else:
                plan = RoundForecast(predicted, costs.cost.setup_seconds(len(rows)), lesson.expected_score)
                current = self.tracker.begin(rows, plan, continues=lesson.batch is not None)
        current.candidate = lesson.candidate
        report = self._fit(rows, lesson)
        current.add_fit(report)
        costs.memory.observe_fit(len(rows), report.peak_memory, report.memory_before)
        if not lesson.is_measurement or report.skipped_seconds:
            # A learner that takes a few steps and does not know how many are left says nothing about its cost.
            costs.cost.observe_fit(len(rows), report.fit_seconds + report.skipped_seconds, report.setup_seconds)
        current.is_refit = lesson.refit
        if not lesson.refit and self._selector.accepts_unseen(current.n_rows_trained):
            # Save it before its exams, which may take long.
            self._save(current)

    def _fit(self, rows: Rows, lesson: Lesson) -> FitReport:
        if lesson.is_measurement:
            limits = FitLimits(kill_after=lesson.at_most, give_up_over=0.0)
        else:
            limits = FitLimits(stop_after=lesson.within, kill_after=lesson.at_most)
        learner = None if lesson.candidate is None else lesson.candidate.estimator
        with self.lock.released():
            return self.runner.fit(rows, batch=lesson.batch, limits=limits, learner=learner)

    def _compare_refit(self, current: OpenRound, estimate: Estimate) -> None:
        """Make the best model that was fitted again with more rows the best one; its scores stay those of the former.

        One that was stopped early, or is clearly worse on rows that it was trained on, is not better than the former.
        """
        best = self._selector.best
        if best is None or current.was_cut_short or current.saved is not None:
            return
        if best.record.estimate is None or not is_worse(estimate, best.record.estimate, tolerated=1.0):
            current.validation_exam = best.exam
            # If another loop finds a better model meanwhile, this one is not that model with more rows.
            self._save(current, best.record.estimate, best.record.fresh_estimate, lambda: False)

    def _examine(self, rows: Rows, exam: Exam) -> Answers:
        self._announce("predicting", len(rows), self._current().candidate)
        with self.lock.released():
            report = self.runner.examine(replace(exam, rows=rows))
        rows = rows[: report.n_rows]
        costs = self._current_costs
        costs.memory.observe_exam(self._current().rows, report.peak_memory)
        self.tracker.add_exam(rows, report, exam.purpose)
        costs.cost.observe_exam(
            len(rows), report.handover_seconds + report.exam_seconds, self._current().n_rows_trained
        )
        if exam.purpose == "validation" and report.score is not None:
            self._compare_by_validation(report.score, ValidationExam(rows, report.influence))
        elif self._current().saved is not None:
            # The deadline may come before the end of the round, and the model's score must not be lost.
            self._estimates(self._current())
        if exam.purpose == "holdout":
            # The teacher learns nothing from these rows.
            return Answers(rows, np.zeros_like(report.wrong), report.margins)
        return Answers(rows, report.wrong, report.margins, report.score, report.influence)

    def _compare_by_validation(self, estimate: Estimate, exam: ValidationExam) -> None:
        """Choose between the new model and the best one, and save the winner at once."""
        current = self._current()
        if current.is_refit:
            self._compare_refit(current, estimate)
            return
        current.validation_estimate, current.validation_exam = estimate, exam
        if current.saved is not None:
            # A model that is validated again stays the best one, with its last score.
            self._update_best(current)
            return
        is_preferred = partial(
            self._selector.prefers,
            estimate,
            validated=True,
            exam=exam,
            n_rows=current.n_rows_trained,
            same_rows=self._continuation.has_validation_rows(exam.rows),
            candidate=current.candidate,
        )
        if is_preferred():
            # The deadline may come right after the model is saved, and its score on holdout rows is known.
            _, fresh_estimate = self._estimates(current) if current.fresh.any() else (None, None)
            self._save(current, estimate, fresh_estimate, is_preferred)

    def _finish_round(self) -> bool:
        """Choose between the new model and the best one, and note the round; True if the user says stop."""
        current = self.tracker.current
        if current is None:
            return False
        if current.is_refit:
            # A score on rows that it was trained on would mislead.
            return self._close_round(current, None, None)
        estimate, fresh_estimate = self._estimates(current)
        if current.validation_estimate is not None:
            estimate = current.validation_estimate
        elif current.saved is None and not current.is_measurement:
            is_preferred = partial(self._prefers_unvalidated, current, estimate)
            if is_preferred():
                self._save(current, estimate, fresh_estimate, is_preferred)
        return self._close_round(current, estimate, fresh_estimate)

    def _prefers_unvalidated(self, current: OpenRound, estimate: Estimate | None) -> bool:
        """Whether a model without an exam on validation rows replaces the best one."""
        return self._selector.prefers(
            # A first model has no other to be compared with.
            estimate if current.is_comparable or self._selector.best is None else None,
            has_every_row=current.has_every_row,
            n_rows=current.n_rows_trained,
        )

    def _finish_last_round(self, reason: StopReason) -> StopReason:
        """Note the last round, and return why the session ends; without an exam its model is lost."""
        last = self.tracker.current
        stopped = self._finish_round()
        if not (last is None or last.is_examined or last.saved or self._selector.accepts_every_model):
            self.tracker.add_lost_round(last)
        return "on_round" if stopped else reason

    def _estimates(self, current: OpenRound) -> tuple[Estimate | None, Estimate | None]:
        """Return the new model's score over all rows of its exams, and over the fresh ones."""
        if current.estimates is None and current.is_examined:
            with self.lock.released():
                report = self.runner.score(current.fresh)
            current.add_score(report)
            current.estimates = report.overall, report.selected
            self._update_best(current)
        return current.estimates or (None, None)

    def _update_best(self, current: OpenRound) -> None:
        """Set the scores of the new model as far as they are known, if it is the best one."""
        best = self._selector.best
        if best is None or best.model is not current.saved:
            return
        overall, fresh_estimate = current.estimates or (None, best.record.fresh_estimate)
        self._selector.update_best(current.validation_estimate or overall, fresh_estimate, current.validation_exam)

    def _save(
        self,
        current: OpenRound,
        estimate: Estimate | None = None,
        fresh_estimate: Estimate | None = None,
        is_preferred: Callable[[], bool] = lambda: True,
    ) -> None:
        """Make the new model the best one, if it can still be loaded in time.

        If another loop has found a better model while this one was saved, `is_preferred` decides again.
        """
        current.is_wanted = True
        self._announce("saving the model of", current.n_rows_trained, current.candidate)
        best = self._selector.best
        with self.lock.released():
            model = self.runner.save()
        if self._has_other_best(best) and not is_preferred():
            current.is_wanted = False
            model.discard()
            return
        if self.budget.seconds - self.budget.elapsed() < model.load_seconds:
            model.discard()
            raise OutOfTime
        self._current_costs.cost.observe_write(current.n_rows_trained, self._continuation.reserve_seconds(model))
        record = ModelRecord(
            number=current.number,
            n_rows=current.n_rows_trained,
            rows=current.lesson,
            class_counts=current.class_counts,
            estimate=estimate,
            fresh_estimate=fresh_estimate,
            fit_seconds=current.fit_seconds,
            was_cut_short=current.was_cut_short,
        )
        self._selector.replace_best(KeptModel(model, record, current.validation_exam, current.candidate))
        current.saved, current.saved_at = model, self.budget.elapsed()

    def _has_other_best(self, former: KeptModel | None) -> bool:
        """Whether another model than the former one is the best."""
        best = self._selector.best
        return best is not None and (former is None or best.model is not former.model)

    def _close_round(self, current: OpenRound, estimate: Estimate | None, fresh_estimate: Estimate | None) -> bool:
        """Note the round, and tell everyone; True if the user says stop."""
        best = self._selector.best
        if best is not None and best.model is current.saved and not current.is_refit:
            self._selector.update_best(estimate, fresh_estimate, current.validation_exam)
        costs = self.costs if current.candidate is None else current.candidate.costs
        finished = self.tracker.close(current, estimate, self.budget.elapsed())
        load_seconds = 0.0 if current.saved is None else current.saved.load_seconds
        costs.cost.observe_round(finished, load_seconds)
        self._continuation.write()
        for listener in self._parts.listeners:
            listener.on_round(finished)
        return self._parts.on_round is not None and bool(self._parts.on_round(finished))

    def _current(self) -> OpenRound:
        if self.tracker.current is None:
            raise RuntimeError("No round is under way; a teacher must yield a Lesson before its first Exam.")
        return self.tracker.current

    def _announce(self, activity: str, n_rows: int, candidate: Candidate | None) -> None:
        self.activity = f"{activity} {n_rows:,} rows"
        self.status = f"the learner was still {self.activity}"
        for listener in self._parts.listeners:
            listener.on_activity(activity, n_rows, None if candidate is None else candidate.number)

    def fit_again(self, lost: ModelRecord) -> None:
        """Fit the best model of an earlier call, which could not be stored, on the same rows."""
        has_other_model = self._selector.best is not None or not self.runner.killable
        if lost.rows is None or (has_other_model and not self.costs.may_finish(len(lost.rows))):
            return
        try:
            self._teach(lost.rows, Lesson(lost.rows, within=lost.fit_seconds if lost.was_cut_short else None))
        except OutOfMemory:
            if self._selector.best is None:
                raise
            self.abandon_round()
            return
        current = self._current()
        if current.saved is None:
            self._save(current, lost.estimate, lost.fresh_estimate)
        self._continuation.lost = None
        # Once more it would take as long as this fit.
        self._continuation.write_model(within=current.fit_seconds)
        self._close_round(current, lost.estimate, lost.fresh_estimate)


def _check_memory(memory: MemoryModel, n_rows: int) -> None:
    """Raise `OutOfMemory` if a lesson of this size is expected to take more than the limit."""
    if memory.limit is not None and not memory.fits(n_rows):
        raise OutOfMemory(max(memory.predict(n_rows) or 0, memory.limit + 1), memory.limit)
