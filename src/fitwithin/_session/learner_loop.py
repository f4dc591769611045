"""The only loop: a teacher asks, a runner answers, until the budget is spent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, LearnerFailedWarning, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.preference import Candidate, is_worse, paired_error
from fitwithin._core.records import Answer, Answers, Exam, FitLimits, Lesson, LessonReport, StopReason, Wait
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.round_tracker import OpenRound, RoundTracker
from fitwithin._session.selection import KeptModel, is_finite
from fitwithin.backends import ExamReport, FitReport, Runner
from fitwithin.teachers import Requests

if TYPE_CHECKING:
    from fitwithin._session.session import Session

LearnerFailure = LearnerRaised | LearnerDied | OutOfMemory
LEARNER_FAILURES = (LearnerRaised, LearnerDied, OutOfMemory)

# Least time left, in slowest choices so far: choices grow with their lessons, which at most double or quadruple.
_CHOICE_FACTOR = 3
# Rows of a lesson from which on counting its classes and marking its rows, before it begins, takes long.
_LARGE_LESSON = 1 << 20
_COUNT_SECONDS = 2.5e-7  # that each of these rows may take: they lie all over the pool
_MAX_FALLBACK_ROWS = 10_000  # random rows that a fallback is fitted on
_MAX_FALLBACK_SHARE = 0.1  # of the time left, after which its fit is stopped


@dataclass(eq=False)
class LearnerLoop:
    """One learner at work: carry out the requests of a teacher's generator, one after the other."""

    session: Session  # what it shares with the other loops: the budget, the costs and the best model
    runner: Runner
    tracker: RoundTracker  # its round under way, and the rounds of all loops
    # A context for a call of the runner, in which other loops go on. Everything else happens under one lock.
    released: Callable[[], AbstractContextManager[None]] = nullcontext
    wait: Callable[[], None] = lambda: None  # until another loop's learner has done something; see `Wait`
    activity: str = "getting ready"  # what the learner does, in words
    status: str = "the learner had not started"

    def __post_init__(self) -> None:
        self.budget, self._selector = self.session.budget, self.session.selector

    def carry_out(self, requests: Requests) -> StopReason:
        """Carry out requests until there is no more, or the budget is spent; return why it ended."""
        answer: Answer | LearnerFailure = None
        while True:
            request = self._ask_teacher(requests, answer)
            if not isinstance(request, Lesson | Exam | Wait):
                return self._finish_last_round(request)
            try:
                if isinstance(request, Wait):
                    self.wait()
                    answer = None
                elif isinstance(request, Exam):
                    answer = self._examine(request)
                elif self._finish_round():
                    return "on_round"
                elif not _may_begin(request, self.session.costs_of(request)):
                    return "time"
                else:
                    answer = self._teach(request)
            except LEARNER_FAILURES as failure:
                self._note_failure(failure, request)
                answer = failure

    def _ask_teacher(self, requests: Requests, answer: Answer | LearnerFailure) -> Lesson | Exam | Wait | StopReason:
        current = self.tracker.current
        # A model that cannot be compared yet would be lost, so its next exam is chosen in any case.
        is_waiting_for_exam = current is not None and not (current.is_comparable or current.was_compared)
        if not is_waiting_for_exam and self.budget.remaining() < _CHOICE_FACTOR * self.tracker.slowest_choice:
            return "time"
        try:
            with self.tracker.timing_choice():
                request = requests.throw(answer) if isinstance(answer, LEARNER_FAILURES) else requests.send(answer)
        except StopIteration as end:
            return end.value or "all rows"
        except OutOfTime:
            # There is no time left to deal these rows.
            return "time"
        return request if isinstance(request, Wait) else self.tracker.check_request(request)

    def _note_failure(self, failure: LearnerFailure, request: Lesson | Exam | Wait) -> None:
        """Forget the round under way if the teacher can go on after it; otherwise raise the failure."""
        current = self.tracker.current
        candidate = request.candidate if isinstance(request, Lesson) else self.tracker.open_round.lesson.candidate
        if not isinstance(failure, OutOfMemory):
            failure.where = f"in round {len(self.tracker.history) + 1}, {self.activity}"
        if candidate is None and self._selector.best is None:
            raise failure
        memory = None if current is None else self.session.costs_of(current.lesson).memory
        if current is not None and memory is not None and isinstance(failure, OutOfMemory):
            memory.observe_stop(len(current.lesson.rows))
        self.abandon_round()

    def abandon_round(self) -> None:
        """Forget the round under way, which cannot be finished; if its model is saved, note it."""
        current = self.tracker.current
        if current is not None and current.saved is not None:
            # The exam that was cut off adds nothing, but the scores of those before it stay.
            self._close_round(current)
        self.tracker.abandon()

    def _teach(self, lesson: Lesson) -> LessonReport:
        """Fit a model and examine it, as one request; a first model is saved before its exams."""
        costs, n_rows = self.session.costs_of(lesson), len(lesson.rows)
        memory = costs.memory
        if memory is not None and not memory.fits(n_rows):
            raise OutOfMemory(max(memory.predict(n_rows) or 0, memory.limit + 1), memory.limit)
        self._announce("training on", n_rows, lesson.candidate)
        fit_seconds = costs.fit_seconds(n_rows) if costs.cost.fits.n_sizes else None
        with self.tracker.timing_choice():
            # Counting the rows of a large lesson takes long too.
            current = self.tracker.begin(lesson, fit_seconds, costs.cost.setup_seconds(n_rows))
        accepts = self._selector.accepts_unseen
        is_saved_first = not lesson.refit and accepts(current)
        report = self._fit(lesson, () if is_saved_first else lesson.exams)
        if report.gave_up:
            return current.make_report()
        if is_saved_first:
            if accepts(current):
                self._save(current, accepts)
            answers = {exam.purpose: self._examine(exam) for exam in lesson.exams}
        else:
            reports = zip(lesson.exams, report.exams, strict=True)
            answers = {exam.purpose: self._note_exam(exam, exam_report) for exam, exam_report in reports}
            self._choose_by_validation(current)
        if self._selector.members.wants(current):
            model = current.saved
            if model is None:
                with self.released():
                    model = self.runner.save()
            self.budget.reserves.vote = self._selector.keep_for_vote(KeptModel.of_round(current, model))
        return current.make_report(answers)

    def _fit(self, lesson: Lesson, exams: Sequence[Exam]) -> FitReport:
        learner, rows = None if lesson.candidate is None else lesson.candidate.estimator, lesson.rows
        with self.released():
            report = self.runner.fit(rows, batch=lesson.batch, exams=exams, limits=lesson.limits, learner=learner)
        self.tracker.add_fit(report)
        costs = self.session.costs_of(lesson)
        if costs.memory is not None:
            costs.memory.observe_fit(len(rows), report.peak_memory, report.memory_before)
        skipped_seconds = report.skipped_seconds * (costs.cost.traits.later_step_cost if report.gave_up else 1.0)
        seconds = report.fit_seconds + skipped_seconds
        is_guess = report.was_cut_short and not costs.knows_steps
        costs.cost.observe_fit(len(rows), seconds, report.setup_seconds, is_guess=is_guess)
        costs.cost.observe_handover(len(rows), report.handover_seconds)
        return report

    def _examine(self, exam: Exam) -> Answers:
        """Carry out an exam of the newest model, and choose by it at once if it is on validation rows."""
        current = self.tracker.open_round
        self._announce("predicting", len(exam.rows), current.lesson.candidate)
        try:
            with self.released():
                report = self.runner.examine(exam)
        except LEARNER_FAILURES as failure:
            raised_at_once = isinstance(failure, LearnerRaised) and not self.tracker.history
            is_proved = current.is_comparable and not (raised_at_once and exam.purpose == "holdout")
            if not (current.saved is None or is_proved or self._selector.accepts_every_model):
                # A first model that cannot predict is no model.
                if self._selector.holds(current.saved):
                    self._selector.withdraw_best()
                current.withdraw()
            raise
        answers = self._note_exam(exam, report)
        if exam.purpose == "validation":
            self._choose_by_validation(current)
        elif current.saved is not None:
            # The deadline may come before the end of the round, and the model's score must not be lost.
            self._estimate(current)
        return answers

    def _note_exam(self, exam: Exam, report: ExamReport) -> Answers:
        current, rows = self.tracker.open_round, exam.rows[: len(report.wrong)]
        costs, seconds = self.session.costs_of(current.lesson), report.handover_seconds + report.exam_seconds
        if costs.memory is not None:
            costs.memory.observe_exam(len(current.lesson.rows), report.peak_memory)
        costs.cost.observe_exam(len(rows), seconds, current.n_rows_trained)
        self.tracker.add_exam(rows, report, exam.purpose)
        self._selector.note_problem(current.n_rows_trained, len(rows), report.score, report.problem)
        answers = Answers(rows, report.wrong, report.margins, report.score, report.influence)
        self.session.note_unpredicted(current.n_rows_trained, report.unpredicted)
        if exam.purpose == "validation" and report.score is not None:
            current.validation = answers = report.leave_out_unpredicted(answers)
            current.estimate = report.score
        if exam.purpose == "holdout":
            return Answers(rows, np.zeros_like(report.wrong), report.margins)
        return self._selector.make_comparable(answers)

    def _choose_by_validation(self, current: OpenRound) -> None:
        validation = current.validation
        if validation is None:
            return
        if current.lesson.refit:
            self._compare_refit(current, validation)
        elif self._selector.holds(current.saved):
            # A model that is validated again stays the best one, with its last score.
            self._selector.update_best(current)
        else:
            # Another loop may have replaced a first model, which had no score yet.
            current.withdraw()
            if self._selector.prefers(current):
                if current.fresh.any():
                    # The deadline may come right after the model is saved, and its score on holdout rows is known.
                    self._estimate(current)
                self._save(current, self._selector.prefers)

    def _compare_refit(self, current: OpenRound, validation: Answers) -> None:
        """Replace the best model by itself with more rows, unless it is clearly worse; the scores stay."""
        best = self._selector.best
        if best is None or current.fit.was_cut_short or current.saved is not None:
            return
        estimate, score = best.record.estimate, validation.score
        is_scored = is_finite(estimate) and best.validation is not None
        if is_scored and is_worse(score, estimate, paired_error(validation, best.validation), tolerated=1.0):  # type: ignore[arg-type]  # checked above
            return
        current.validation, current.estimate = best.validation, estimate
        current.fresh_estimate = best.record.fresh_estimate
        # If another loop finds a better model meanwhile, this one is not that model with more rows.
        self._save(current, lambda _: False)

    def _finish_round(self) -> bool:
        """Choose between the new model and the best one, and note the round; True if the user says stop."""
        current = self.tracker.current
        if current is None:
            return False
        if not (current.lesson.refit or current.fit.gave_up):
            self._estimate(current)
            if current.validation is None and current.saved is None and self._selector.prefers(current):
                self._save(current, self._selector.prefers)
        return self._close_round(current)

    def _finish_last_round(self, reason: StopReason) -> StopReason:
        """Note the last round, and return why the session ends; without an exam its model is lost."""
        last = self.tracker.current
        stopped = self._finish_round()
        if not (last is None or last.fresh_masks or last.was_compared or self._selector.accepts_every_model):
            self.tracker.lost_seconds += self.budget.clock() - last.began_at
        return "on_round" if stopped else reason

    def _estimate(self, current: OpenRound) -> None:
        """Note the new model's score over all rows of its exams, and over the fresh ones, unless they are known."""
        if current.is_scored or not current.fresh_masks:
            return
        fresh_estimate = current.holdout_estimate
        if fresh_estimate is None:
            with self.released():
                report = self.runner.score(current.fresh)
            current.exam_seconds += report.seconds
            fresh_estimate = report.selected
            if current.validation is None:
                current.estimate = report.overall
            self._selector.note_problem(current.n_rows_trained, len(current.fresh), report.overall, report.problem)
        if current.holdout and fresh_estimate is not None and self.session.widen is not None:
            rows = np.concatenate([answers.rows for answers in current.holdout])
            wrong = np.concatenate([answers.wrong for answers in current.holdout])
            fresh_estimate = self.session.widen(fresh_estimate, rows, wrong)
        current.fresh_estimate, current.is_scored = fresh_estimate, True
        self._selector.update_best(current)

    def _save(self, current: OpenRound, accepts: Callable[[OpenRound], bool]) -> None:
        """Make the new model the best one, if it can be loaded in time and `accepts` one that was found meanwhile."""
        current.is_wanted = True
        self._announce("saving the model of", current.n_rows_trained, current.lesson.candidate)
        best = self._selector.best
        with self.released():
            model = self.runner.save()
        if (best is None or not self._selector.holds(best.model)) and not accepts(current):
            current.is_wanted = False
            model.discard()
            return
        if self.budget.until_deadline() < model.load_seconds:
            model.discard()
            raise OutOfTime
        costs = self.session.costs_of(current.lesson)
        costs.cost.observe_save(len(current.lesson.rows), model.save_seconds + model.load_seconds, model.n_bytes)
        self.budget.reserves.load = model.load_seconds
        if self.session.checkpoint is not None:
            self.budget.reserves.checkpoint = self.session.checkpoint.reserved_seconds(model)
        self._selector.replace_best(KeptModel.of_round(current, model))
        current.saved, current.saved_at = model, self.budget.elapsed()

    def _close_round(self, current: OpenRound) -> bool:
        self._selector.update_best(current)
        finished = self.tracker.close(self.budget.elapsed())
        self.session.write()
        for listener in self.session.listeners:
            listener.on_round(finished)
        return self.session.on_round is not None and bool(self.session.on_round(finished))

    def _announce(self, activity: str, n_rows: int, candidate: Candidate | None) -> None:
        self.activity = f"{activity} {n_rows:,} rows"
        self.status = f"the learner was still {self.activity}"
        for listener in self.session.listeners:
            listener.on_activity(activity, n_rows, None if candidate is None else candidate.number)

    def fit_fallback(self, learner: Any) -> KeptModel | None:
        """Fit a simple model, to return if there is no other one in time; None if that fails."""
        seconds, deck = _MAX_FALLBACK_SHARE * self.budget.remaining(), self.session.deck
        try:
            rows = np.unique(deck.sample(min(_MAX_FALLBACK_ROWS, deck.size)))
            self.runner.fit(rows, limits=FitLimits(seconds, seconds), learner=learner)
            model = self.runner.save()
        except (*LEARNER_FAILURES, OutOfTime) as error:
            text = f"There is no fallback, since its fit failed. {type(error).__name__}: {error}"
            warnings.warn(text, LearnerFailedWarning, stacklevel=4)
            return None
        self.budget.reserves.load = model.load_seconds
        return KeptModel(model, ModelRecord(0, len(rows), rows))

    def fit_again(self, lost: ModelRecord) -> None:
        """Fit the best model of an earlier call, which could not be stored, on the same rows."""
        has_other_model = self._selector.best is not None or not self.runner.killable
        if lost.rows is None or (has_other_model and not self.session.costs.may_finish(len(lost.rows))):
            return
        try:
            self._teach(Lesson(lost.rows, stop_after=lost.fit_seconds if lost.was_cut_short else None))
        except OutOfMemory:
            if self._selector.best is None:
                raise
            self.abandon_round()
            return
        current = self.tracker.open_round
        current.estimate, current.fresh_estimate = lost.estimate, lost.fresh_estimate
        if current.saved is None:
            self._save(current, lambda _: True)
        self.session.lost = None
        self._close_round(current)


def _may_begin(lesson: Lesson, costs: CostEstimates) -> bool:
    n_rows = len(lesson.rows)
    if n_rows > _LARGE_LESSON and costs.seconds_left < _COUNT_SECONDS * n_rows:
        return False
    is_planned = lesson.stop_after is not None or lesson.give_up_over is not None
    return (costs.may_begin if is_planned else costs.may_finish)(n_rows)
