"""The one loop: a teacher asks, a learner answers, until the budget is spent."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostModel
from fitwithin._core.exceptions import LearnerDied, LearnerFailed, LearnerRaised, OutOfTime
from fitwithin._core.records import Answers, Estimate, Exam, Lesson, OnRound, Round, Rows, StopReason
from fitwithin._core.scoring import accuracy_interval
from fitwithin._core.target import Labels
from fitwithin._session.result import Outcome, nothing_to_show
from fitwithin._session.round_tracker import RoundTracker
from fitwithin._session.selection import is_worse, prefers
from fitwithin.backends import ExamReport, Runner, SavedModel
from fitwithin.teachers import Deck, Requests, Teacher


class Watcher(Protocol):
    """Somebody who is told what goes on, such as a progress display."""

    def doing(self, activity: str, rows: int) -> None:
        """What the learner begins to do, and with how many rows."""
        ...

    def round_over(self, finished: Round) -> None:
        """A round is over."""
        ...


@dataclass(frozen=True, eq=False)
class _Best:
    model: SavedModel
    rows: int
    by_class: Rows | None
    estimate: Estimate | None
    fresh: Estimate | None


@dataclass(frozen=True, eq=False)
class _Settled:
    """A round's model that became the best one, and when."""

    model: SavedModel
    elapsed: float


class Session:
    """One teacher, one learner, one budget; remembers the best model.

    Parameters
    ----------
    teacher : Teacher
        Says what to teach and what to examine.
    runner : Runner
        Where the learner sits.
    budget : Budget
        The seconds that are left.
    cost : CostModel
        Learns what rounds take.
    watchers : sequence of Watcher
        Told what goes on.
    on_round : callable, optional
        Called with each finished `Round`; stops the session by returning True.
    scored : bool, default=False
        Whether the learner's runner computes the score; otherwise it is the accuracy, which the answers tell.
    """

    def __init__(
        self,
        teacher: Teacher,
        runner: Runner,
        budget: Budget,
        cost: CostModel,
        watchers: tuple[Watcher, ...] = (),
        on_round: OnRound | None = None,
        scored: bool = False,
    ) -> None:
        self.teacher = teacher
        self.runner = runner
        self.budget = budget
        self.cost = cost
        self.watchers = watchers
        self.on_round = on_round
        self.scored = scored
        self.history: list[Round] = []
        self._best: _Best | None = None
        self._settled: _Settled | None = None
        self._judged: Estimate | None = None
        self._at = self._doing = "getting ready"

    def run(self, deck: Deck, labels: Labels | None = None) -> Outcome:
        """Teach until the time is up or there is nothing left to teach; the best model.

        Parameters
        ----------
        deck : Deck
            The rows of the pool.
        labels : Labels or None
            The class of each row, to count what is taught; teachers do not see it.

        Raises
        ------
        NoModelInTime
            If the deadline came before the first model.
        LearnerFailed
            If the learner's process died before the first model.
        """
        self._tracker = RoundTracker(deck.size, self.budget.clock, labels)
        self._graceful = deck.outlook.can_stop_early
        try:
            return self._outcome(self._teach_until_the_end(deck))
        finally:
            if self._best is not None:
                self._best.model.discard()

    def _teach_until_the_end(self, deck: Deck) -> StopReason:
        try:
            return self._follow(self.teacher.teach(deck))
        except OutOfTime as end:
            self._doing = str(end) or self._doing
            reason: StopReason = "time"
        except KeyboardInterrupt:
            if self._best is None:
                raise
            reason = "interrupted"
        except (LearnerRaised, LearnerDied) as trouble:
            reason = self._after(trouble)
        if self._settled is not None:
            # The round did not end, and its model is safe all the same.
            self._close_round(self._judged, None)
        return reason

    def _follow(self, requests: Requests) -> StopReason:
        answers: Answers | None = None
        while True:
            if self._tracker.was_examined and self.budget.remaining() < 3 * self._tracker.slowest_choice:
                # In a very large pool choosing takes its time, and the new model is not safe yet.
                return "on_round" if self._finish_round() else "time"
            try:
                with self._tracker.choosing():
                    request = requests.send(answers)
            except StopIteration as end:
                stop = self._finish_round()
                return "on_round" if stop else end.value or "all rows"
            rows = self._tracker.checked(request)
            if isinstance(request, Exam):
                answers = self._examine(rows, request)
                continue
            if self._finish_round():
                return "on_round"
            if not (self._stops_by_itself(request) or self._has_a_chance(len(rows))):
                return "time"
            self._teach(rows, request)
            answers = None

    def _stops_by_itself(self, lesson: Lesson) -> bool:
        return self._graceful and lesson.within is not None

    def _has_a_chance(self, rows: int) -> bool:
        """Whether a lesson of so many rows may end in time.

        A lesson that can be stopped costs nothing but time that nobody else wants, so it is begun if
        it might end in time; one that cannot be stopped only if it nearly surely will.
        """
        prediction = self.cost.predict(rows)
        if prediction is None:
            return True
        needed = prediction.soonest if self.runner.killable else prediction.latest
        return needed <= self.budget.remaining()

    def _teach(self, rows: Rows, lesson: Lesson) -> None:
        self._announce("training on", len(rows))
        prediction = self.cost.predict(len(rows))
        self._tracker.begin(rows, None if prediction is None else prediction.fit, goes_on=lesson.batch is not None)
        taught = self.runner.fit(rows, lesson.batch, lesson.within)
        self._tracker.taught(taught)
        self.cost.taught(len(rows), taught.fit_seconds + taught.skipped_seconds)
        if self.teacher.returns == "last":
            # It is the one to be returned, whatever its exams say and however long they take.
            self._settled = _Settled(self._keep(None, None), self.budget.elapsed())

    def _examine(self, rows: Rows, exam: Exam) -> Answers:
        self._announce("being examined on", len(rows))
        examined = self.runner.examine(rows, exam.margins)
        self._tracker.examined(rows, examined, exam.purpose)
        self.cost.examined(len(rows), examined.handover_seconds + examined.exam_seconds)
        score = self._score(rows, examined) if exam.purpose in ("score", "validation") else None
        if exam.purpose == "validation" and score is not None:
            self._judge(score)
        wrong = np.zeros_like(examined.wrong) if exam.purpose == "holdout" else examined.wrong
        return Answers(rows, wrong, examined.margins, score)

    def _score(self, rows: Rows, examined: ExamReport) -> Estimate | None:
        """The user's score over the exam that was just sat."""
        if not self.scored:
            return accuracy_interval(len(rows) - int(np.count_nonzero(examined.wrong)), len(rows))
        before = len(self._tracker.fresh) - len(rows)
        report = self.runner.score(np.arange(before + len(rows)) >= before)
        self._tracker.scored(report)
        return report.fresh

    def _judge(self, estimate: Estimate) -> None:
        """Choose between the new model and the best one, and make the winner safe at once."""
        self._judged = estimate
        if self._settled is not None:
            # Judged once more: it is the best model, and its score is the last one that it got.
            return
        best = None if self._best is None else self._best.estimate
        if best is None or self._tracker.whole or not is_worse(estimate, best):
            self._settled = _Settled(self._keep(estimate, None), self.budget.elapsed())

    def _finish_round(self) -> bool:
        """Choose between the new model and the best one, note the round; True if the user says stop."""
        if not self._tracker.open:
            return False
        estimate, fresh = self._estimates()
        if self._judged is not None:
            estimate = self._judged
        elif self._settled is None and self._wins(estimate):
            self._settled = _Settled(self._keep(estimate, fresh), self.budget.elapsed())
        return self._close_round(estimate, fresh)

    def _wins(self, estimate: Estimate | None) -> bool:
        best = None if self._best is None else self._best.estimate
        return prefers(self.teacher.returns, estimate, best, whole=self._tracker.whole)

    def _close_round(self, estimate: Estimate | None, fresh: Estimate | None) -> bool:
        """Note the round, and whether its model is the best now; True if the user says stop."""
        settled, self._settled, self._judged = self._settled, None, None
        model = None if settled is None else settled.model
        if model is not None and self._best is not None:
            self._best = replace(self._best, estimate=estimate, fresh=fresh)
        finished = self._tracker.close(
            estimate=estimate,
            best=model is not None,
            store=0.0 if model is None else model.save_seconds,
            elapsed=self.budget.elapsed() if settled is None else settled.elapsed,
        )
        self.history.append(finished)
        self.cost.observe(finished, load=0.0 if model is None else model.load_seconds)
        for watcher in self.watchers:
            watcher.round_over(finished)
        return self.on_round is not None and bool(self.on_round(finished))

    def _estimates(self) -> tuple[Estimate | None, Estimate | None]:
        """The new model's score over all rows that it was examined on, and over the fresh ones."""
        if not self.scored or not len(self._tracker.fresh):
            return self._tracker.estimate(), self._tracker.fresh_estimate()
        self._announce("being scored on", len(self._tracker.fresh))
        report = self.runner.score(self._tracker.fresh)
        self._tracker.scored(report)
        return report.overall, report.fresh

    def _keep(self, estimate: Estimate | None, fresh: Estimate | None) -> SavedModel:
        """Make the new model the best one, if it can still be brought back in time."""
        self._announce("storing the model of", self._tracker.behind)
        model = self.runner.save()
        if self.budget.seconds - self.budget.elapsed() < model.load_seconds:
            model.discard()
            raise OutOfTime
        self.budget.reserved = model.load_seconds
        former, self._best = self._best, self._candidate(model, estimate, fresh)
        if former is not None:
            former.model.discard()
        return model

    def _candidate(self, model: SavedModel, estimate: Estimate | None, fresh: Estimate | None) -> _Best:
        return _Best(model, self._tracker.behind, self._tracker.behind_by_class, estimate, fresh)

    def _announce(self, activity: str, rows: int) -> None:
        self._at = f"{activity} {rows:,} rows"
        self._doing = f"the learner was still {self._at}"
        for watcher in self.watchers:
            watcher.doing(activity, rows)

    def _after(self, trouble: LearnerRaised | LearnerDied) -> StopReason:
        """With a model in hand a failing learner is worth a warning; without one, an error."""
        where = f"in round {len(self.history) + 1}, {self._at}"
        if isinstance(trouble, LearnerRaised):
            story = trouble.traceback
            if self._best is None:
                trouble.error.add_note(f"Raised by the learner {where}.\n{story}")
                raise trouble.error from trouble.error.__cause__
        else:
            story = f"The learner's process died: {trouble}."
            if self._best is None:
                raise LearnerFailed(f"The learner's process died {where}: {trouble}.") from None
        warnings.warn(
            f"The learner failed {where}; the best model so far is returned.\n{story}", RuntimeWarning, stacklevel=5
        )
        return "learner failed"

    def _outcome(self, reason: StopReason) -> Outcome:
        if self._best is None:
            raise nothing_to_show(self.budget, len(self.history), self._doing)
        best = self._best
        try:
            model = best.model.load()
        except KeyboardInterrupt:
            if reason == "interrupted":
                raise
            reason, model = "interrupted", best.model.load()
        return Outcome(model, self.history, reason, best.rows, best.fresh, best.by_class)
