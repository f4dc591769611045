"""Auto, the default teacher: a first model, measurements, and one large fit."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Exam, Lesson, Returns, Rows, StopReason, examine, make_limit
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck, find_largest_size
from fitwithin.teachers._auto.bet import SecondLearner, teach_bets
from fitwithin.teachers._auto.state import SURE_CHANCE, TeachingState
from fitwithin.teachers._base import Requests, Subgenerator

_INSURANCE_TIME = 0.03  # of the time left; then a learner that can stop early is told to
_LONGER = 4  # times that, if it took less than the least share of its steps, or a process was still starting
_LEAST_STEPS = 0.1

# Oversampling
_JUDGE_ONE_IN = 10  # rows of the pool for each row of the lesson whose model finds mistakes
_MIN_JUDGE_ROWS = 1_000
_JUDGE_GROWTH = 2  # times these rows; a smaller lesson is not worth it
_MAX_OVERSAMPLED_SHARE = 0.45  # of the rows: a lesson takes easy rows of one half and misclassified ones of the other
_OVERSAMPLING_CHANCE = 0.5  # that the large lesson ends

# A last fit with the rows kept back: a promise of this much of the score is a gain of 0.0025, since the curve from the
# first model to the best one is flatter than its end (benchmarks/tunnel: by a factor of 1.6).
_LEAST_GAIN = 0.0015


class Auto(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Default teacher: a first model, measurements, and one large fit.

    A lesson is a fit on some rows, an exam a prediction of other rows.

    1. First model. A first lesson on few rows, in about 3 % of the time, leaves a model and shows what rows cost.
    2. Measurements. If every row should end in time, nothing else is measured. Otherwise a learner that can stop early
       begins a large fit, and gives it up after its first steps; any other learner fits a part of the rows. Together,
       measurements take about 10 % of the time.
    3. Large fit. One lesson of the size with the largest expected gain: its chance to end in time, times what more rows
       gain. With time left, larger ones follow.
    4. Oversampling. If time is left, one lesson oversamples rows that the model of a small lesson misclassifies; by
       default only for boosters, where this gains on average.

    The best model is chosen on validation rows, which are the same for all models. `score_estimate_` comes from
    separate holdout rows. If the best model was trained on all other rows, and they promise a gain, a last fit takes
    these rows too. The estimate is then that of the model without them.

    Parameters
    ----------
    oversampling : {"auto"} or bool, default="auto"
        Whether to oversample misclassified rows in the time that is left; "auto" decides by the kind of learner.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Auto, Deck
    >>> requests = Auto().teach(Deck(100_000, np.random.default_rng(0)))
    >>> lesson = next(requests)
    >>> len(lesson.rows), [exam.purpose for exam in lesson.exams]
    (500, ['validation'])
    """

    returns: Returns = "best"
    validates = True
    max_learners: int | None = 2

    def __init__(self, *, oversampling: Literal["auto"] | bool = "auto") -> None:
        self.oversampling = oversampling

    def teach(self, deck: Deck) -> Requests:
        """Yield a first lesson, measurements, and the largest lessons that should end in time."""
        return self._teach(deck)

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return the requests of `teach` and, for a second learner, the large lessons among them."""
        if n_learners < 2:
            return [self.teach(deck)]
        second = SecondLearner()
        return [self._teach(deck, second), second.teach(deck)]

    def _teach(self, deck: Deck, second: SecondLearner | None = None) -> Requests:
        if self.oversampling not in ("auto", True, False):
            raise ValueError(f"oversampling must be 'auto', True or False; got {self.oversampling!r}.")
        state = TeachingState(deck)
        if state.best is None:
            yield from insure(state)
        if second is not None:
            yield from second.teach_beside(state)
        yield from teach_bets(state)
        if state.failure is not None:
            # Fewer rows were tried after it.
            raise state.failure
        if state.must_skip_exams:
            # The one lesson whose model needs no exam to be the best.
            rows = np.arange(deck.pool_size, dtype=state.order.dtype)
            yield Lesson(rows, stop_after=make_limit(state.costs.seconds_left))
            return "all rows"
        is_capped = state.max_rows < state.n_usable
        reason: StopReason = "all rows" if state.n_trained >= state.n_usable else "memory" if is_capped else "time"
        if deck.costs.cost.traits.oversampling_pays if self.oversampling == "auto" else self.oversampling:
            yield from teach_oversampled(state)
        yield from refit_with_every_row(state)
        return reason


def insure(state: TeachingState) -> Subgenerator[None]:
    """Teach a first lesson in a small part of the time, longer only if its model would have next to no steps."""
    seconds = _INSURANCE_TIME * state.costs.seconds_left
    for most_seconds in (seconds, _LONGER * seconds):
        report = yield from state.teach(state.order, most_seconds=most_seconds)
        has_steps = report is not None and (report.steps or 1) >= _LEAST_STEPS * (report.planned_steps or 1)
        if report is None or has_steps or report.seconds > _LONGER * seconds / 2:
            return


def teach_oversampled(state: TeachingState) -> Subgenerator[None]:
    """Teach a small lesson, and then a large one with mistakes of its model among rows that it was not taught."""
    n_judge = max(_MIN_JUDGE_ROWS, state.n_usable // _JUDGE_ONE_IN)
    seconds = state.costs.fit_seconds(n_judge)
    if choose_size(state, seconds) < _JUDGE_GROWTH * n_judge:
        return
    judge = yield from state.teach(state.list_rows(n_judge))
    n_rows = choose_size(state)
    if judge is not None and n_rows > n_judge:
        lesson = yield from _choose_rows(state, n_rows)
        yield from state.teach(lesson, oversampled=True)


def choose_size(state: TeachingState, spent: float = 0.0) -> int:
    """Return the rows of the largest lesson that should end in time after `spent` seconds, with its search."""
    costs, largest = state.costs, min(int(_MAX_OVERSAMPLED_SHARE * state.n_usable), state.max_rows)

    def may_end(n_rows: int) -> bool:
        seconds = state.seconds_for_fit(n_rows) - costs.exam_seconds(n_rows) - spent
        return costs.chance_to_end(n_rows, seconds) >= costs.least_chance(_OVERSAMPLING_CHANCE)

    return find_largest_size(largest, may_end)


def _choose_rows(state: TeachingState, n_rows: int) -> Subgenerator[Rows]:
    """Return the first rows of the order, some of them replaced by mistakes of the last model in as many other rows."""
    others = state.list_rows(2 * n_rows)[n_rows:]
    answers = yield from examine(others)
    mistakes = answers.rows[answers.wrong]
    return np.concatenate([state.order[: n_rows - len(mistakes)], mistakes])


def refit_with_every_row(state: TeachingState) -> Subgenerator[None]:
    """Teach also the rows kept back, if the best model has all others and the gain is worth the time."""
    best, deck = state.best, state.deck
    if best is None or best.was_cut_short or len(best.lesson) < state.n_usable or not deck.can_refit:
        return
    n_rows, error = deck.pool_size, 0.0 if best.score is None else 1 - best.score.value
    exponent = state.find_error_exponent(len(best.lesson), error)
    gain = abs(error) * (1 - (len(best.lesson) / n_rows) ** exponent)
    if gain < _LEAST_GAIN and n_rows > SMALL_POOL_ROWS:
        return
    chance = state.costs.cost.fits.chance_to_end(n_rows, state.seconds_for_fit(n_rows))
    if state.costs.largest_lesson_rows(n_rows) == n_rows and chance >= SURE_CHANCE:
        exam = Exam(best.validation_rows, "validation")
        rows = np.arange(n_rows, dtype=best.lesson.dtype)
        yield Lesson(rows, (exam,), stop_after=make_limit(state.seconds_for_fit(n_rows)), refit=True)
