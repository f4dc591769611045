"""A session: from a teacher and a runner to the best model by the deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.deadline_thread import DeadlineThread
from fitwithin._core.exceptions import (
    CheckpointWarning,
    LearnerDied,
    LearnerFailed,
    LearnerFailedWarning,
    LearnerRaised,
    NoModelInMemory,
    NoModelInTime,
    OutOfMemory,
    OutOfTime,
    ReadingFailed,
)
from fitwithin._core.log import LOGGER
from fitwithin._core.records import Estimate, Lesson, Mask, Rows, StopReason
from fitwithin._core.rounds import OnRound
from fitwithin._core.target import Labels
from fitwithin._session.checkpoint import Checkpoint
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.learner_loop import LearnerLoop
from fitwithin._session.listeners import Listener
from fitwithin._session.parallel_loops import ParallelLoops
from fitwithin._session.result import SessionResult, no_memory_error, no_model_error
from fitwithin._session.round_tracker import RoundTracker
from fitwithin._session.selection import KeptModel, ModelSelector
from fitwithin.backends import Runner, SavedModel
from fitwithin.backends._unpredicted import Unpredicted
from fitwithin.teachers import Deck, ParallelTeacher, Teacher
from fitwithin.teachers._validation import examine_held_out

# Size of a model above which the program loads it in a thread: no other process may have loaded it before.
_LARGE_MODEL_BYTES = 32 << 20
_MIN_LOAD_SECONDS = 0.1  # for the best model, however late it is: a busy machine may delay a small one


@dataclass(eq=False)
class Session:
    """One teacher, one learner, one budget."""

    teacher: Teacher
    runner: Runner  # prepared for the learner
    deck: Deck
    budget: Budget
    costs: CostEstimates
    selector: ModelSelector
    labels: Labels | None = None  # to count the classes that a model was trained on; teachers do not see them
    listeners: Sequence[Listener] = ()
    on_round: OnRound | None = None
    past: FitState | None = None  # on the same rows
    checkpoint: Checkpoint | None = None
    n_jobs: int = 1  # that the runner can have; a teacher may need fewer
    # The estimate from holdout rows, for their groups; takes also the rows, and which of them are predicted wrongly.
    widen: Callable[[Estimate, Rows, Mask], Estimate] | None = None
    fallback: Any = None  # the learner that is fitted first, and returned if there is no other model

    def __post_init__(self) -> None:
        self._tracker = RoundTracker(self.deck, self.budget.clock, self.labels)
        # The best model of the earlier fit, if it could not be stored and is not fitted again yet.
        self.lost = None if self.past is None else self.past.lost_best
        if (past := self.past) is not None:
            self._tracker.restore(past.marks, past.history)
            self.costs.cost.restore(past.cost)
            if past.teacher == type(self.teacher).__name__:
                # Another teacher may have taught the rows that this one keeps for validation.
                self._tracker.last_exams.update({"validation": past.validation_rows, "holdout": past.holdout_rows})
                self.deck.resume_point = past.resume_point
                self.deck.notes.update(past.notes)
        # The loop that decides how the session ends; of several, the first one unless another one fails.
        self._loop = LearnerLoop(self, self.runner, self._tracker)
        self._warnings: dict[type[Warning], str] = {}

    def costs_of(self, lesson: Lesson) -> CostEstimates:
        """Return the costs of the learner of a lesson."""
        return self.costs if lesson.candidate is None else lesson.candidate.costs

    def run(self) -> SessionResult:
        """Teach until the time is up or nothing is left to teach, and return the best model."""
        fallback: KeptModel | None = None
        try:
            reason = self._find_reason_to_end_at_once()
            if reason is None and self.selector.best is None and self.fallback is not None:
                fallback = self._loop.fit_fallback(self.fallback)
            return self._result(reason) if reason is not None else self._teach()
        except Exception as error:
            if fallback is not None and isinstance(error, NoModelInTime | NoModelInMemory | LearnerFailed):
                text = f"The fallback is returned, since there is no other model. {error}"
                self._warnings = {LearnerFailedWarning: text}
                history, lost = self._tracker.history, self._tracker.lost_seconds
                model, warnings = fallback.model.load(), self._list_warnings()
                return SessionResult(model, history, "fallback", fallback.record, lost, warnings)
            LOGGER.warning("There is no model. %s: %s", type(error).__name__, error)
            self.selector.members.close()
            raise
        finally:
            self.selector.close()
            if fallback is not None:
                fallback.model.discard()

    def _find_reason_to_end_at_once(self) -> StopReason | None:
        """Return why the stored model is all that can be returned; None if there is something to do."""
        past = self.past
        if past is None or not past.is_over(self.budget):
            return None
        reason = past.stop_reason if past.is_finished else "time"
        if past.stop_reason is None:
            # It was killed with nothing left to do.
            self.write(reason)
        elif self.lost is not None and self.checkpoint is not None:
            self.checkpoint.report_older_model(past)
        return reason

    def _teach(self) -> SessionResult:
        """Teach until the session ends, and store it; a first interrupt of what comes after that is a reason to end."""
        self.write()
        reason = self._check_reason(self._teach_until_stopped())
        try:
            self.write(reason)
            return self._result(reason)
        except KeyboardInterrupt:
            if reason == "interrupted":
                raise
            return self._result("interrupted")

    def _check_reason(self, reason: StopReason) -> StopReason:
        """Return why the session ends, as it is true of the best model: a teacher does not know which one that is."""
        best = self.selector.best
        if reason != "all rows" or best is None:
            return reason
        n_rows = best.record.n_rows
        if any(n_rows < one.rows for one in self._tracker.history if one.examined or one.best):
            return "no gain"
        return "time" if self.deck.left and n_rows < self.deck.size else reason

    def state(self, reason: StopReason | None = None) -> FitState:
        """Return the fit so far, for a later one to resume."""
        exams, last, none = self._tracker.last_exams, self._tracker.last, np.zeros(0, dtype=np.int32)
        return FitState(
            seconds=self.budget.elapsed(),
            stop_reason=reason,
            history=tuple(self._tracker.history),
            cost=self.costs.cost.observations(),
            marks=self._tracker.marks,
            was_cut_short=last is not None and last.fit.was_cut_short,
            best=self._find_best(),
            validation_rows=exams.get("validation", none),
            holdout_rows=exams.get("holdout", none),
            teacher=type(self.teacher).__name__,
            notes=dict(self.deck.notes),
            model_record=self.selector.record,
        )

    def _find_best(self) -> ModelRecord | None:
        """Return the best model of all calls; it may be one that was not stored, and is not fitted again yet."""
        best, lost = self.selector.best, self.lost
        if best is None or lost is None:
            return lost if best is None else best.record
        # The lost one had replaced the stored one, perhaps with a lower score on more rows.
        score, lost_score = best.record.estimate, lost.estimate
        if best is self.selector.stored or score is None or lost_score is None:
            return lost
        return lost if score.value < lost_score.value else best.record

    def note_unpredicted(self, n_rows: int, unpredicted: Unpredicted | None) -> None:
        """Note that a model that was trained on `n_rows` could not predict some rows; the first one is reported."""
        if unpredicted is None or RuntimeWarning in self._warnings:
            return
        n_unpredicted, n_examined = np.count_nonzero(unpredicted.mask), len(unpredicted.mask)
        self._warnings[RuntimeWarning] = (
            f"A model that was trained on {n_rows:,} rows could not predict {n_unpredicted:,} of {n_examined:,} other "
            "rows, which are no part of its score. A model that cannot predict more than 1 % gives way to one that "
            f"can. {unpredicted.reason}"
        )

    def write(self, reason: StopReason | None = None) -> None:
        """Store the session, and its best model if that is new and there is time; `reason` says why it ended."""
        if self.checkpoint is None:
            return
        if reason is not None:
            # The time that was kept for this.
            self.budget.reserves.checkpoint = 0.0
        model = None if self.selector.best is None else self.selector.best.model
        self.checkpoint.write(self.state(reason), model, is_last=reason is not None)

    def _teach_until_stopped(self) -> StopReason:
        past = self.past
        try:
            if past is not None and self.lost is not None and not getattr(self.teacher, "fits_lost_model", False):
                self._loop.fit_again(self.lost)
                if past.is_finished and past.stop_reason is not None:
                    return past.stop_reason
            return self._run_loops()
        except OutOfTime as error:
            self._loop.status = str(error) or self._loop.status
            reason: StopReason = "time"
        except OutOfMemory as error:
            if self.selector.best is None:
                raise no_memory_error(error, len(self._tracker.history) + 1, self._loop.activity) from None
            LOGGER.warning("No further fit stays within the memory limit: %s.", error)
            reason = "memory"
        except (KeyboardInterrupt, ReadingFailed) as failure:
            if self.selector.best is None:
                raise
            if isinstance(failure, ReadingFailed):
                LOGGER.warning("%s", failure)
            reason = "interrupted"
        except (LearnerRaised, LearnerDied) as failure:
            self._report_failure(failure)
            reason = "learner failed"
        self._loop.abandon_round()
        return reason

    def _run_loops(self) -> StopReason:
        teacher, deck = self.teacher, self.deck
        if self.n_jobs > 1 and isinstance(teacher, ParallelTeacher):
            requests = teacher.teach_parallel(deck, self.n_jobs)
        else:
            requests = [teacher.teach(deck)]
        if deck.validation_rows is not None and not getattr(teacher, "validates", False):
            requests = examine_held_out(requests, deck, teacher.returns)
        if len(requests) == 1:
            return self._loop.carry_out(requests[0])
        loops = ParallelLoops(self._loop, requests)
        try:
            return loops.run()
        finally:
            if loops.deciding is not self._loop:
                self._loop.abandon_round()
            self._loop = loops.deciding

    def _report_failure(self, failure: LearnerRaised | LearnerDied) -> None:
        """Warn of a learner that failed; without a model in hand, raise its error."""
        where = failure.where or f"in round {len(self._tracker.history) + 1}, {self._loop.activity}"
        if self.selector.best is not None:
            cause = f"The learner's process died: {failure}."
            if isinstance(failure, LearnerRaised):
                cause = failure.traceback
            self._warn_of_failure(f"The learner failed {where}; the best model so far is returned.\n{cause}")
        elif isinstance(failure, LearnerDied):
            raise LearnerFailed(f"The learner's process died {where}: {failure}.") from None
        else:
            failure.error.add_note(f"Raised by the learner {where}.\n{failure.traceback}")
            raise failure.error from failure.error.__cause__

    def _warn_of_failure(self, text: str) -> None:
        LOGGER.warning("%s", text)
        self._warnings[LearnerFailedWarning] = text

    def _result(self, reason: StopReason) -> SessionResult:
        if self.selector.best is None:
            raise no_model_error(self.budget, len(self._tracker.history), self._loop.status)
        model = self._load_best()
        best, problem = self.selector.best, self.selector.describe_problem()
        if problem is not None:
            self._warnings[UndefinedMetricWarning] = problem
        return SessionResult(
            model,
            self._tracker.history,
            "learner failed" if LearnerFailedWarning in self._warnings else reason,
            best.record,
            self._tracker.lost_seconds,
            self._list_warnings(),
            candidate=best.candidate_number,
            members=self.selector.members,
            row_seconds=best.row_seconds,
            held_out=self._tracker.last_exams,
            costs=self.costs if best.candidate is None else best.candidate.costs,
        )

    def _list_warnings(self) -> list[tuple[str, type[Warning]]]:
        messages = [] if self.checkpoint is None else self.checkpoint.messages
        found = [(text, category) for category, text in self._warnings.items()]
        return found + [(message, CheckpointWarning) for message in messages]

    def _load_best(self) -> Any:
        """Return the best model, or the one before it if the best one cannot be loaded here, or not in time."""
        error = None
        while (best := self.selector.best) is not None:
            try:
                return self._load(best.model)
            except TimeoutError:
                LOGGER.warning("The best model was not loaded by the deadline, so the one before it is returned.")
            except Exception as failure:  # the learner's own unpickling may raise anything
                error = failure
                self._warn_of_failure(
                    f"The best model cannot be loaded in this process, so the one before it is returned: {error!r}"
                )
            self.selector.withdraw_best()
            self._tracker.withdraw_best()
        raise LearnerFailed(f"The model cannot be loaded in this process: {error!r}.") from error

    def _load(self, model: SavedModel) -> Any:
        """Load a model; raise TimeoutError if it is not there at the deadline, and there is one before it."""
        former = self.selector.former
        if former is None or (model.n_bytes or 0) <= _LARGE_MODEL_BYTES:
            return model.load()
        seconds = self.budget.until_deadline() - former.model.load_seconds
        with closing(DeadlineThread("load")) as thread:
            return thread.call(model.load, Budget(max(seconds, _MIN_LOAD_SECONDS)))
