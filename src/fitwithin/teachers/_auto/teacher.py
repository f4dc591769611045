"""Auto, the default teacher: a first lesson, a trial of oversampling, and planned lessons until the deadline.

The constants were set on the tuning pairs of `benchmarks/accuracy.py`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Returns, Rows, StopReason
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck, FirstSize, check_fraction
from fitwithin.teachers._auto.first_steps import look_at_many_rows
from fitwithin.teachers._auto.hedge import Hedge
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.oversampling import compare_oversampling
from fitwithin.teachers._auto.plan import LessonOption, plan_next_lesson
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._shared_steps import count_validation_rows

# The first lesson
_FIRST_FRACTION = 0.005  # of the pool: the paper's m0
_MIN_FIRST_ROWS = 250  # the cost of fewer rows says little about the cost of many
_MAX_FIRST_ROWS = 20_000  # more cost too much of a short limit, and say no more about the cost
_MAX_FIRST_FRACTION = 0.1  # of the pool, which `_MIN_FIRST_ROWS` may take of a small one
_FIRST_TIME = 0.25  # of the time left; then the learner is asked to stop
_MIN_SPLIT_ROWS = 20  # a pool with fewer rows is taught whole, without an estimate

# Notes for a later fit that resumes this one
_NOTE_VALIDATED = "validation rows chosen"
_NOTE_EMPHASIS = "emphasis"


class Auto(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Default teacher: measure costs, try oversampling of misclassified rows, then plan by the expected score.

    A lesson is a fit on some rows, an exam a prediction of other rows. A small first lesson measures the time of both.
    A trial then compares two lessons of the same size, one of them with oversampling of rows that the first model
    misclassifies. It shows whether that may help this learner on this data.

    Each later lesson is the one with the best expected score at the deadline. A learning curve predicts the score of a
    lesson, and earlier lessons predict its time. It must have a good chance to end in time: 90 %, 95 % if the learner
    cannot stop early, and 99 % if it cannot be killed. With a memory limit, lessons are no larger than it allows.

    The best model is chosen on validation rows, which are the same for all models. `score_estimate_` comes from
    separate holdout rows. If the best model was trained on all other rows, and there is time, a last fit takes these
    rows too. The estimate is then that of the model without them.

    Parameters
    ----------
    alpha : float, default=0.2
        With oversampling, the fraction of new rows that the last model misclassifies, in [0, 1].
    emphasis : {"trial"} or bool, default="trial"
        Whether to oversample misclassified rows; "trial" decides by the trial.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Auto, Deck
    >>> requests = Auto().teach(Deck(100_000, np.random.default_rng(0)))
    >>> lesson = next(requests)
    >>> len(lesson.rows), [exam.purpose for exam in lesson.exams]
    (500, ['holdout', 'validation'])
    """

    returns: Returns = "best"
    validates = True
    max_learners: int | None = 2

    def __init__(self, *, alpha: float = 0.2, emphasis: Literal["trial"] | bool = "trial") -> None:
        self.alpha = alpha
        self.emphasis = emphasis

    def teach(self, deck: Deck) -> Requests:
        """Yield a first lesson, the trial, and planned lessons until the deadline."""
        return self._teach(deck)

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return the requests of `teach` and, for a second learner, those of long plain lessons beside them."""
        if n_learners < 2:
            return [self.teach(deck)]
        hedge = Hedge(deck.rng.spawn(1)[0])
        return [self._teach(deck, hedge), hedge.teach(deck)]

    def _teach(self, deck: Deck, hedge: Hedge | None = None) -> Requests:
        check_fraction(self.alpha)
        if self.emphasis not in ("trial", True, False):
            raise ValueError(f"emphasis must be 'trial', True or False; got {self.emphasis!r}.")
        past = deck.resume_point
        if past is not None and _NOTE_VALIDATED in past.notes:
            state = TeachingState.resume(deck, past)
            if hedge is not None:
                hedge.state = state
            yield from state.repeat_if_cut_short()
        else:
            deck.notes.clear()
            state = TeachingState(deck, choose_first_size(deck))
            if hedge is not None:
                hedge.state = state
            yield from state.teach_and_validate(state.lesson, _FIRST_TIME)
        deck.notes[_NOTE_VALIDATED] = True
        search = MistakeSearch(self.alpha)
        if self.emphasis != "trial":
            deck.notes[_NOTE_EMPHASIS] = self.emphasis
        elif _NOTE_EMPHASIS not in deck.notes:
            if not state.has_model:
                yield from state.teach_and_validate(state.lesson, _FIRST_TIME)
            deck.notes[_NOTE_EMPHASIS] = yield from compare_oversampling(state, search)
        reason = yield from teach_until_deadline(state, search if deck.notes[_NOTE_EMPHASIS] else None)
        yield from state.examine_unused_rows()
        yield from state.refit_with_every_row()
        return reason


def choose_first_size(deck: Deck) -> FirstSize:
    """Return the rows of the first lesson, as a number or as a fraction of the pool."""
    if deck.size < _MIN_SPLIT_ROWS:
        return deck.size
    if deck.size <= SMALL_POOL_ROWS:
        # All but the rows that give the estimate.
        return deck.size - (2 * count_validation_rows(deck.size) if deck.validation_rows is None else 0)
    least = min(_MIN_FIRST_ROWS / deck.size, _MAX_FIRST_FRACTION)
    return min(max(_FIRST_FRACTION, least), _MAX_FIRST_ROWS / deck.size)


def teach_until_deadline(state: TeachingState, search: MistakeSearch | None) -> Subgenerator[StopReason]:
    """Teach planned lessons after the first ones, with a search for mistakes if they may help."""
    if search is None:
        yield from look_at_many_rows(state, go_on=True)
    return (yield from _teach_planned_lessons(state, search))


def _teach_planned_lessons(state: TeachingState, search: MistakeSearch | None) -> Subgenerator[StopReason]:
    """Teach the lesson with the best expected score again and again, until none is worth its time."""
    while True:
        # Without a model of this call there are no mistakes to search for.
        plan = plan_next_lesson(state, search if state.has_model else None)
        if plan is None:
            return _find_stop_reason(state)
        try:
            lesson = yield from _choose_rows(state, search if plan.emphasis else None, plan)
            yield from _teach(state, lesson, plan)
        except OutOfMemory:
            # The next size follows from what is known now. The model went with its process.
            state.has_model = False


def _find_stop_reason(state: TeachingState) -> StopReason:
    if not state.deck.left:
        return "all rows"
    return "memory" if state.max_rows < state.n_usable else "time"


def _teach(state: TeachingState, lesson: Rows, plan: LessonOption) -> Subgenerator[None]:
    before = state.lesson
    try:
        yield from state.teach_and_validate(lesson, oversampled=plan.emphasis, expected_score=plan.expected_score)
    except OutOfMemory:
        state.deck.discard(np.setdiff1d(lesson, before))
        raise
    if plan.is_retry:
        state.deck.discard(before)


def _choose_rows(state: TeachingState, search: MistakeSearch | None, plan: LessonOption) -> Subgenerator[Rows]:
    """Return the rows of the last lesson, mistakes of its model if there is a search for them, and random rows."""
    base = state.lesson[:0] if plan.is_retry else state.lesson
    n_new = plan.n_rows - len(base)
    if search is None:
        return np.concatenate([base, state.deck.deal(n_new)])
    mistakes = yield from search.find_mistakes(state, n_new)
    return np.concatenate([base, mistakes, state.deck.deal(n_new - len(mistakes))])
