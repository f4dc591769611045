"""Whether oversampling of misclassified rows pays: two lessons of the same size, one of them with such rows."""

from __future__ import annotations

import numpy as np

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.preference import is_worse, paired_error
from fitwithin._core.records import Answers, Rows, examine
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._auto.first_steps import look_at_many_rows
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._shared_steps import find_largest_size

# Times are fractions of the time left.
_ONE_IN = 20  # rows of the pool for each row of a lesson: a trial on 0.5 % could not tell the two apart
_MIN_ROWS = 2_000  # of a lesson: with fewer rows, chance decides
_SMALL_POOL_ONE_IN = 6  # rows of the pool for each row of a lesson, where `_MIN_ROWS` would be more
_MIN_NEW_ROWS = 1_000  # beyond the first lesson: fewer are not worth a trial, unless they are a tenth of the pool
_LESSON_TIME = 0.08  # for each of the two lessons
_MAX_LESSON_TIME = 0.2  # for each of them, if it takes longer than expected
_SEARCH_TIME = 0.05  # for the mistakes
_EXAM_TIME = 0.02  # for each of the two exams
_MAX_EXAM_ROWS = 20_000  # the standard error of a difference is then 0.2 % if the models differ on a tenth of the rows
_SLOW_LESSON_TIME = 0.05  # a learner that takes longer for the first lesson has no time for a trial
_SIZE_RATIO = 1.25  # between two sizes that are considered
_TOLERANCE = 1.0  # standard errors of the difference that oversampling may be behind: its benefit grows with the lesson


def compare_oversampling(state: TeachingState, search: MistakeSearch) -> Subgenerator[bool]:
    """Teach random rows, then as many with oversampling of misclassified rows; return whether that may help.

    Both models are compared by the user's score on the same rows, which neither was taught. The next lesson starts from
    the rows of the winner. Without time for a meaningful trial there is none, and no oversampling.
    """
    n_new, min_new = _choose_size(state, search), min(_MIN_NEW_ROWS, state.deck.size // 10)
    if n_new < min_new:
        return False
    first, deck = state.lesson, state.deck
    mistakes = yield from search.find_mistakes(state, n_new)
    random = deck.deal(n_new)
    yield from look_at_many_rows(state, go_on=False)
    n_new = min(n_new, _find_affordable_size(state, len(first) + n_new) - len(first))
    if n_new < min_new:
        deck.discard(np.concatenate([mistakes, random]))
        return False
    mistakes, random = _shrink(deck, mistakes, round(search.alpha * n_new)), _shrink(deck, random, n_new)
    exam_rows = random[:0]
    try:
        yield from state.teach_and_validate(np.concatenate([first, random]), _MAX_LESSON_TIME)
        # An exam of this model may take longer than one of the first.
        exam_rows = deck.deal(state.costs.affordable_exam_rows(_EXAM_TIME, min(_MAX_EXAM_ROWS, deck.left // 2)))
        reference = yield from examine(exam_rows, purpose="score")
        with_mistakes = np.concatenate([first, mistakes, random[len(mistakes) :]])
        yield from state.teach_and_validate(with_mistakes, _MAX_LESSON_TIME, oversampled=True)
        emphasized = yield from examine(exam_rows, purpose="score")
    except OutOfMemory:
        # The model went with its process.
        state.has_model = False
        deck.discard(np.setdiff1d(np.concatenate([random, mistakes, exam_rows]), state.lesson))
        return False
    deck.discard(exam_rows)
    if _is_clearly_lower(emphasized, reference):
        deck.discard(mistakes)
        state.lesson = np.concatenate([first, random])
        return False
    state.lesson = np.concatenate([first, random, mistakes])
    return True


def _shrink(deck: Deck, rows: Rows, n_rows: int) -> Rows:
    deck.discard(rows[n_rows:])
    return rows[:n_rows]


def _is_clearly_lower(emphasized: Answers, reference: Answers) -> bool:
    """Whether oversampling lowers the score, by the paired standard error where there is one."""
    score, other = emphasized.score, reference.score
    if score is None or other is None:
        return True
    return is_worse(score, other, paired_error(emphasized, reference), tolerated=_TOLERANCE)


def _choose_size(state: TeachingState, search: MistakeSearch) -> int:
    """Return the new rows of a lesson of the trial, as many as the time allows."""
    deck, costs = state.deck, state.costs
    if costs.fit_seconds(len(state.lesson)) > _SLOW_LESSON_TIME * costs.seconds_left:
        return 0
    min_rows = min(_MIN_ROWS, deck.size // _SMALL_POOL_ONE_IN)
    n_rows = min(max(deck.size // _ONE_IN, min_rows), deck.left // 3)
    search_limit = _SEARCH_TIME * costs.seconds_left
    n_rows = costs.largest_lesson_rows(n_rows)
    if not costs.can_stop_early:
        n_rows = _find_affordable_size(state, n_rows)
    n_new = n_rows - len(state.lesson)

    def is_cheap(size: int) -> bool:
        return costs.exam_seconds(search.rows_to_examine(state, size)) <= search_limit

    return find_largest_size(n_new, is_cheap, _MIN_NEW_ROWS, _SIZE_RATIO) or min(n_new, _MIN_NEW_ROWS)


def _find_affordable_size(state: TeachingState, n_rows: int) -> int:
    """Return the rows of the largest lesson, up to `n_rows`, that should take no more than its time."""
    costs, limit = state.costs, _LESSON_TIME * state.costs.seconds_left
    least = min(n_rows, _MIN_NEW_ROWS)
    return find_largest_size(
        n_rows,
        lambda size: costs.may_begin(size) and (size <= least or costs.fit_seconds(size) <= limit),
        ratio=_SIZE_RATIO,
    )
