"""The default teacher on a simulated clock: which rows a time limit buys, by what is known of a learner's costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.exceptions import OutOfTime
from fitwithin._core.records import Answer, Answers, Estimate, Exam, Lesson, LessonReport, Rows
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.decks.table_pile import TablePile
from fitwithin.teachers._auto.teacher import Auto

# Share of the steps after which a fit is projected, and given up if it takes too long.
_FIRST_STEPS = 0.05
# Steps of a learner that can stop early: their number does not matter.
_N_STEPS = 100


@dataclass(frozen=True)
class SimulatedModel:
    """The best model of a simulated fit: its rows, and the rows whose complete fit would score the same."""

    n_rows: int = 0
    scored_rows: float = 0.0


class _CountedPile(TablePile):
    """Consecutive row numbers: only their number matters."""

    def draw(self, count: int) -> Rows:
        rows = np.zeros(min(count, self.left), dtype=np.int32)
        self.left -= len(rows)
        return rows

    def draw_first(self, count: int, min_class_rows: int) -> Rows:
        return self.draw(count)


@dataclass(eq=False)
class SimulatedFit:
    """A fit of the default teacher whose learner takes the seconds that are predicted, times a factor.

    Parameters
    ----------
    known : CostEstimates
        Predicts the seconds; the teacher itself begins without them.
    n_rows : int
        Rows that the memory allows to be trained on, at most those of the pool.
    limit : float
        The time limit in seconds.
    deviations : float
        The factor, in standard deviations of the logarithm of seconds.
    expect_score : callable
        The score of a complete model by its rows.
    start_seconds : float, default=0.0
        Seconds of a fit before its first lesson.
    """

    known: CostEstimates
    n_rows: int
    limit: float
    deviations: float
    expect_score: Callable[[float], float]
    start_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._now = self.start_seconds
        learner = {name: getattr(self.known, name) for name in ("can_stop_early", "knows_steps", "killable")}
        budget = Budget(self.limit, lambda: self._now, start=0.0)
        self._costs = CostEstimates(budget, CostModel(self.known.cost.traits), **learner)
        self.best = SimulatedModel()

    def run(self) -> SimulatedModel:
        """Return the best model by the deadline."""
        rng = np.random.default_rng(0)
        deck = Deck(self.n_rows, rng, costs=self._costs, pile=_CountedPile(self.n_rows, rng))
        requests = Auto(oversampling=False).teach(deck)
        answer: Answer = None
        with suppress(StopIteration, OutOfTime):
            while self._costs.seconds_left > 0:
                request = requests.send(answer)
                if isinstance(request, Exam):
                    answer = self._answer(request, self.best.n_rows, 0.0)
                    continue
                assert isinstance(request, Lesson)
                answer = self._carry_out(request)
        return self.best

    def _carry_out(self, lesson: Lesson) -> LessonReport:
        """Take the seconds of a lesson, and observe them as a session does."""
        known, n_rows, cost = self.known, len(lesson.rows), self._costs.cost
        factor = math.exp(self.deviations * known.cost.fits.deviation(n_rows))
        whole, setup = factor * known.cost.fit_seconds(n_rows), known.cost.setup_seconds(n_rows)
        first = min(whole, factor * (setup or 0.0))
        seconds, gave_up = whole, lesson.give_up_over is not None and whole > lesson.give_up_over
        if gave_up:
            seconds = first + _FIRST_STEPS * (whole - first)
        elif known.can_stop_early and lesson.stop_after is not None:
            seconds = min(whole, max(first, lesson.stop_after))
        is_cut, saving = seconds < whole, known.cost.save_and_load_seconds(n_rows)
        handover = max(0.0, known.cost.overhead_seconds(n_rows) - saving)
        self._now += seconds + handover + (0.0 if gave_up else saving)
        is_guess = is_cut and not known.knows_steps
        cost.observe_fit(n_rows, seconds if is_guess else whole, None if setup is None else first, is_guess=is_guess)
        cost.observe_handover(n_rows, handover)
        if not gave_up:
            cost.observe_save(n_rows, saving, int(known.cost.model_bytes(n_rows)))
        if gave_up or self._costs.seconds_left <= 0:
            return LessonReport(seconds, gave_up=True)
        share = (seconds - first) / (whole - first) if is_cut else 1.0
        return self._examine(lesson, seconds, setup, share)

    def _examine(self, lesson: Lesson, seconds: float, setup: float | None, share: float) -> LessonReport:
        n_rows = len(lesson.rows)
        # The rows whose complete fit scores like this one.
        scored_rows = max(1.0, n_rows * min(1.0, share / self.known.worth_share))
        value = self.expect_score(scored_rows)
        answers = {exam.purpose: self._answer(exam, n_rows, value) for exam in lesson.exams}
        is_best = self._costs.seconds_left > 0 and scored_rows > self.best.scored_rows
        if is_best:
            self.best = SimulatedModel(n_rows, scored_rows)
        planned = _N_STEPS if self.known.can_stop_early else None
        steps = None if planned is None else round(share * planned)
        return LessonReport(seconds, setup, steps, planned, share < 1, answers=answers, is_best=is_best)

    def _answer(self, exam: Exam, model_rows: int, value: float) -> Answers:
        expected = self.known.cost.exam_seconds(len(exam.rows), model_rows)
        share = 1.0 if exam.seconds is None or expected <= exam.seconds else exam.seconds / expected
        rows = exam.rows[: max(1, int(share * len(exam.rows)))]
        self._now += share * expected
        if share * expected:
            self._costs.cost.observe_exam(len(rows), share * expected, model_rows)
        return Answers(rows, np.zeros(len(rows), dtype=np.bool_), score=Estimate(value, value, value))
