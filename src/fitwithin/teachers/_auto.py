"""Auto, the default teacher: a first lesson, a trial of emphasis on mistakes, and larger lessons until the deadline.

The constants were set on the tuning half of the pairs in `benchmarks/accuracy.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Estimate, Lesson, ResumePoint, Returns, Rows, StopReason, examine
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._deck import SMALL_POOL_ROWS, Deck, FirstSize, check_fraction

# The first lesson. Times here and below are fractions of the time left.
_FIRST_FRACTION = 0.005  # of the pool: the paper's m0
_MIN_FIRST_ROWS = 250  # the cost of fewer rows says little about the cost of many
_MAX_FIRST_FRACTION = 0.1  # of the pool, which `_MIN_FIRST_ROWS` may take of a small one
_FIRST_TIME = 0.25  # then the learner is asked to stop

# Notes for a later fit that goes on from this one
_NOTE_VALIDATED = "validation rows chosen"
_NOTE_EMPHASIS = "emphasis"
_NOTE_ERROR_RATE = "error rate"


class Auto(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Default teacher: measure the cost of lessons, try emphasis on mistakes, then fill the time.

    A small first lesson measures the time of training and exams. A trial compares two lessons of the same
    size, one of them with mistakes of the first model. It shows whether emphasis on hard rows helps this
    learner on this data. Then lessons grow as fast as the deadline allows, and the last one fills the time.
    A learner that can stop early is asked to. For any other learner, lessons leave a safety margin. With a
    memory limit, lessons are no larger than it allows.

    The best model is chosen on validation rows, which are the same for all models and are never taught. A
    model with more rows wins unless its score is clearly lower. The estimate for the user comes from
    separate holdout rows.

    Parameters
    ----------
    alpha : float, default=0.2
        With emphasis, the fraction of new rows that are mistakes of the last model, in [0, 1].
    emphasis : {"trial"} or bool, default="trial"
        Whether to emphasize mistakes; "trial" decides by the trial.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Auto, Deck
    >>> requests = Auto().teach(Deck(100_000, np.random.default_rng(0)))
    >>> len(next(requests).rows)
    500
    >>> requests.send(None).purpose
    'validation'
    """

    returns: Returns = "best"
    validates = True

    def __init__(self, *, alpha: float = 0.2, emphasis: Literal["trial"] | bool = "trial") -> None:
        self.alpha = alpha
        self.emphasis = emphasis

    def teach(self, deck: Deck) -> Requests:
        """Yield a first lesson, the trial, and larger lessons until the deadline."""
        check_fraction(self.alpha)
        if self.emphasis not in ("trial", True, False):
            raise ValueError(f"emphasis must be 'trial', True or False; got {self.emphasis!r}.")
        if deck.size <= SMALL_POOL_ROWS:
            state = TeachingState(deck, deck.size)
            yield from state.teach_and_validate(state.lesson)
            return "all rows"
        past, search = deck.resume_point, MistakeSearch(self.alpha)
        if past is not None and _NOTE_VALIDATED in past.notes:
            state = TeachingState.resume(deck, past)
        else:
            deck.notes.clear()
            state = TeachingState(deck, max(_FIRST_FRACTION, min(_MIN_FIRST_ROWS / deck.size, _MAX_FIRST_FRACTION)))
            yield from state.teach_and_validate(state.lesson, _FIRST_TIME)
            yield from state.enlarge_validation_set()
        deck.notes[_NOTE_VALIDATED] = True
        if self.emphasis != "trial":
            deck.notes[_NOTE_EMPHASIS] = self.emphasis
        elif _NOTE_EMPHASIS not in deck.notes:
            if not state.has_model:
                yield from state.teach_and_validate(state.lesson, _FIRST_TIME)
            deck.notes[_NOTE_EMPHASIS] = yield from run_trial(state, search)
        yield from state.teach_longer()
        return (yield from _grow_lessons(state, search if deck.notes[_NOTE_EMPHASIS] else None))


def _grow_lessons(state: TeachingState, search: MistakeSearch | None) -> Subgenerator[StopReason]:
    """Teach larger and larger lessons while one is worth its time; end emphasis when the score drops."""
    while state.deck.left:
        # Without a model of this call there are no mistakes to search for.
        present_search = search if state.has_model else None
        n_rows = choose_next_size(state, present_search)
        if not n_rows:
            if present_search is None:
                return "memory" if state.lacks_memory else "time"
            search = None
            continue
        last_score, last_size = state.score, len(state.lesson)
        try:
            yield from _teach_larger_lesson(state, present_search, n_rows)
        except OutOfMemory:
            # The next size follows from what is known now. The model went with its process.
            state.has_model = False
            continue
        has_dropped = last_score is not None and state.score is not None and state.score.value < last_score.value
        if has_dropped or len(state.lesson) == last_size:
            search = None
            state.deck.notes[_NOTE_EMPHASIS] = False
    return "all rows"


def _teach_larger_lesson(state: TeachingState, search: MistakeSearch | None, n_rows: int) -> Subgenerator[None]:
    """Add random rows to the last lesson, and mistakes of the last model if there is a search for them."""
    lesson = yield from _choose_larger_lesson(state, search, n_rows)
    try:
        yield from state.teach_and_validate(lesson)
    except OutOfMemory:
        state.deck.discard(np.setdiff1d(lesson, state.lesson))
        raise


def _choose_larger_lesson(state: TeachingState, search: MistakeSearch | None, n_rows: int) -> Subgenerator[Rows]:
    n_new = n_rows - len(state.lesson)
    if search is None:
        return np.concatenate([state.lesson, state.deck.deal(n_new)])
    mistakes = yield from search.find_mistakes(state, n_new)
    min_rows = len(state.lesson) + len(mistakes)
    max_rows = find_largest_size(state, MistakeSearch(0.0))
    if max_rows < state.max_rows:
        # The search may have taken longer than expected.
        n_rows = max(min_rows, min(n_rows, max_rows))
    random = state.deck.deal(n_rows - min_rows)
    return np.concatenate([state.lesson, mistakes, random])


# The trial
_TRIAL_ONE_IN = 20  # rows of the pool for each row of a lesson: a trial on 0.5 % could not tell the two apart
_MIN_TRIAL_ROWS = 2_000  # of a lesson: with fewer rows, chance decides
_SMALL_POOL_TRIAL_ONE_IN = 6  # rows of the pool for each row of a lesson, where `_MIN_TRIAL_ROWS` would be more
_MIN_TRIAL_NEW_ROWS = 1_000  # beyond the first lesson: fewer are not worth a trial, unless they are a tenth of the pool
_TRIAL_LESSON_TIME = 0.1  # for each of the two lessons
_TRIAL_SEARCH_TIME = 0.05  # for the mistakes
_TRIAL_EXAM_TIME = 0.02  # for each of the two exams
_MAX_TRIAL_EXAM_ROWS = 20_000  # the standard error of an accuracy is 0.35 % at most
_SLOW_LESSON_TIME = 0.05  # a learner that takes longer for the first lesson has no time for a trial
_TRIAL_TOLERANCE = 0.5  # standard errors that emphasis may be behind: its benefit grows with the lesson


def run_trial(state: TeachingState, search: MistakeSearch) -> Subgenerator[bool]:
    """Teach random rows, then the same number with mistakes among them; return whether mistakes help.

    Both models are compared by the user's score on rows that neither was taught. The next lesson starts from
    the rows of the winner. Without time for a meaningful trial there is none, and no emphasis.
    """
    n_new = _choose_trial_size(state, search)
    if n_new < min(_MIN_TRIAL_NEW_ROWS, state.deck.size // 10):
        return False
    first, deck = state.lesson, state.deck
    mistakes = yield from search.find_mistakes(state, n_new)
    random = deck.deal(n_new)
    n_exam_rows = state.outlook.affordable_exam_rows(_TRIAL_EXAM_TIME, min(_MAX_TRIAL_EXAM_ROWS, deck.left // 2))
    exam_rows = deck.deal(n_exam_rows)
    try:
        reference = yield from _score_lesson(state, np.concatenate([first, random]), exam_rows, _TRIAL_LESSON_TIME)
        # If the first model was cut short, the second one gets the same time; otherwise it may finish too.
        second_time = _TRIAL_LESSON_TIME if state.was_cut_short else 2 * _TRIAL_LESSON_TIME
        with_mistakes = np.concatenate([first, mistakes, random[len(mistakes) :]])
        score = yield from _score_lesson(state, with_mistakes, exam_rows, second_time)
    except OutOfMemory:
        deck.discard(np.setdiff1d(np.concatenate([random, mistakes, exam_rows]), state.lesson))
        return False
    deck.discard(exam_rows)
    if score is None or reference is None or score.value < reference.value - _TRIAL_TOLERANCE * score.standard_error:
        deck.discard(mistakes)
        state.lesson = np.concatenate([first, random])
        return False
    state.lesson = np.concatenate([first, random, mistakes])
    return True


def _score_lesson(
    state: TeachingState, lesson: Rows, exam_rows: Rows, time_fraction: float
) -> Subgenerator[Estimate | None]:
    yield from state.teach_and_validate(lesson, time_fraction)
    return (yield from examine(exam_rows, purpose="score")).score


def _choose_trial_size(state: TeachingState, search: MistakeSearch) -> int:
    """Return the new rows of a lesson of the trial, as many as the time allows."""
    deck, outlook = state.deck, state.outlook
    if outlook.fit_seconds(len(state.lesson)) > _SLOW_LESSON_TIME * outlook.seconds_left:
        return 0
    min_rows = min(_MIN_TRIAL_ROWS, deck.size // _SMALL_POOL_TRIAL_ONE_IN)
    n_rows = min(max(deck.size // _TRIAL_ONE_IN, min_rows), deck.left // 3)
    fit_limit = _TRIAL_LESSON_TIME / 2 * outlook.seconds_left
    search_limit = _TRIAL_SEARCH_TIME * outlook.seconds_left
    n_rows = outlook.largest_lesson_rows(n_rows)
    while n_rows > _MIN_TRIAL_NEW_ROWS and not outlook.can_stop_early and outlook.fit_seconds(n_rows) > fit_limit:
        n_rows = int(0.8 * n_rows)
    n_new = n_rows - len(state.lesson)
    while n_new > _MIN_TRIAL_NEW_ROWS and outlook.exam_seconds(search.rows_to_examine(state, n_new)) > search_limit:
        n_new = max(_MIN_TRIAL_NEW_ROWS, int(0.8 * n_new))
    return n_new


# Sizes. A step is a lesson on the way to the largest one: it measures costs, and its model is there to fall back on.
_MAX_STEP_GROWTH = 4  # times the rows of the last lesson
_MIN_STEP_GROWTH = 1.5  # times the rows of the last lesson
_STEP_TIME = 0.25  # for a step of a learner that can stop early
_UNSTOPPABLE_STEP_TIME = 0.35  # for any other: a lesson that is too large loses all its time, so it takes more steps
_MIN_GROWTH = 1.25  # times the rows of the last lesson; a smaller lesson is not worth its time
_FILL_TIME = 1.1  # for the largest lesson of a learner that can stop early
_EMPHASIS_FILL_TIME = 0.95  # the same with emphasis: a booster that is cut short fits hard rows poorly
_UNSTOPPABLE_FILL_TIME = 0.95  # for any other learner, where a safety margin would leave no lesson worth its time
_SECOND_TRY_TIME = 0.1  # of the time limit; with more left, a second lesson is tried whatever the first one took
_MUCH_TIME = 0.3  # of the time limit; with more left, a lesson that will be cut short is better than none


def choose_next_size(state: TeachingState, search: MistakeSearch | None) -> int:
    """Return the rows of the next lesson: a step, or as many as fill the time; 0 if none is worth its time."""
    outlook, last_size = state.outlook, len(state.lesson)
    if state.lacks_memory:
        return 0
    largest = find_largest_size(state, search)
    if largest < _MIN_GROWTH * last_size and outlook.killable and not outlook.can_stop_early:
        largest = find_largest_size(state, search, _UNSTOPPABLE_FILL_TIME)
    if largest < min(_MIN_GROWTH * last_size, state.max_rows):
        # A lesson that cannot finish anyway may as well hold more rows.
        can_be_cut_short = outlook.can_stop_early and outlook.seconds_left > _MUCH_TIME * state.time_limit
        is_worth_a_try = can_be_cut_short or _may_be_faster_now(state)
        return min(_MAX_STEP_GROWTH * last_size, state.max_rows) if is_worth_a_try else 0
    if search is None and outlook.can_stop_early:
        return largest
    step = min(_MAX_STEP_GROWTH * last_size, largest // 2)
    step_time = _STEP_TIME if outlook.can_stop_early else _UNSTOPPABLE_STEP_TIME
    step_seconds = outlook.fit_seconds(step) + _seconds_besides_fit(state, search, step)
    is_worth_it = step > _MIN_STEP_GROWTH * last_size and step_seconds < step_time * outlook.seconds_left
    return step if is_worth_it else largest


def _may_be_faster_now(state: TeachingState) -> bool:
    """Whether the first lesson may have paid for what is paid once, such as a GPU's start, and a second is worth a try.

    A learner that can stop early would end it with a poor model instead of being killed.
    """
    outlook = state.outlook
    has_time = outlook.seconds_left > _SECOND_TRY_TIME * state.time_limit
    return outlook.may_try_again and not outlook.can_stop_early and has_time


def find_largest_size(state: TeachingState, search: MistakeSearch | None, fill_time: float | None = None) -> int:
    """Return the rows of the largest lesson whose search, training and exams fit in `fill_time` of the time left.

    By default, a learner that cannot stop early gets a safety margin from the errors of earlier predictions.
    """
    outlook, n_rows = state.outlook, state.max_rows
    if fill_time is None and outlook.can_stop_early:
        fill_time = _FILL_TIME if search is None else _EMPHASIS_FILL_TIME
    elif fill_time is None:
        fill_time = 1 / outlook.safety_factor
    while n_rows > len(state.lesson):
        available_seconds = outlook.seconds_left - _seconds_besides_fit(state, search, n_rows)
        if outlook.fit_seconds(n_rows) <= fill_time * available_seconds:
            break
        n_rows = int(0.97 * n_rows)
    return n_rows


def _seconds_besides_fit(state: TeachingState, search: MistakeSearch | None, n_rows: int) -> float:
    """Seconds for the search for mistakes before a lesson of `n_rows`, and for what follows its training."""
    n_searched = 0 if search is None else search.rows_to_examine(state, n_rows - len(state.lesson))
    return state.outlook.exam_seconds(n_searched) + state.reserved_seconds(n_rows)


# The search for mistakes
_MAX_EXAMINED_PER_NEW_ROW = 4  # rows; where mistakes are rare, a lesson holds fewer of them
_SEARCH_TIME = 0.35  # for one search
_SPARE_FACTOR = 1.05  # rows examined, relative to the expected need: mistakes come by chance
_ASSUMED_MISTAKES = 0.2  # among the validation rows, where there are none


@dataclass(frozen=True)
class MistakeSearch:
    """Exam that finds mistakes of the last model, for emphasis on them in the next lesson.

    Parameters
    ----------
    alpha : float
        Fraction of the new rows that are mistakes of the last model; the others are random rows.
    """

    alpha: float

    def rows_to_examine(self, state: TeachingState, n_new: int) -> int:
        """Return the number of rows that should hold the mistakes for a lesson with `n_new` new rows."""
        error_rate = max(state.error_rate, _ASSUMED_MISTAKES / len(state.validation_set))
        wanted = min(
            _SPARE_FACTOR * self.alpha * n_new / error_rate, _MAX_EXAMINED_PER_NEW_ROW * n_new, state.deck.left
        )
        return state.outlook.affordable_exam_rows(_SEARCH_TIME, int(wanted))

    def find_mistakes(self, state: TeachingState, n_new: int) -> Subgenerator[Rows]:
        """Examine rows and return the mistakes for a lesson with `n_new` new rows, or as many as were found."""
        answers = yield from examine(state.deck.deal(self.rows_to_examine(state, n_new)))
        found = np.flatnonzero(answers.wrong)[: round(self.alpha * n_new)]
        state.deck.discard(np.delete(answers.rows, found))
        return answers.rows[found]


# Validation rows, which are never taught. There are as many holdout rows.
_VALIDATION_ONE_IN = 25  # rows of the pool for each validation row
_MAX_VALIDATION_ROWS = 5_000  # the standard error of an accuracy is 0.7 % at most
_MIN_VALIDATION_ROWS = 200  # also the rows of the first exam, when the cost of exams is unknown
_SMALL_POOL_VALIDATION_ONE_IN = 10  # rows of the pool for each one, where `_MIN_VALIDATION_ROWS` would be more
_VALIDATION_TIME = 0.015  # for one exam

# Time that a lesson leaves for what follows its training
_EXAM_SAFETY_FACTOR = 1.3  # on the predicted seconds of exams
_OVERHEAD_SAFETY_FACTOR = 1.2  # on the predicted seconds of the overhead
_DELAY_SECONDS = 0.05  # for unexpected delays, such as a pause of the machine
_DELAY_FRACTION = 0.02  # of the time limit, for the same
_MAX_DELAY_SECONDS = 0.3  # that this fraction amounts to


class TeachingState:
    """The last lesson, the score of its model, and the rows kept back for validation and holdout.

    Parameters
    ----------
    deck : Deck
        Source of rows.
    first : int or float
        Rows of the first lesson, or their fraction of the pool.

    Attributes
    ----------
    lesson : array of int
        The rows of the last lesson, from which the next one grows; at first those of the first lesson.
    validation_set : array of int
        The rows of each validation exam.
    time_limit : float
        Seconds until the deadline at the start.
    score : Estimate or None
        Score of the last model on the validation set.
    error_rate : float
        Fraction of the validation set that the last model gets wrong.
    was_cut_short : bool
        Whether the last lesson was stopped before its end.
    has_model : bool
        Whether there is a model to examine.
    """

    def __init__(self, deck: Deck, first: FirstSize) -> None:
        self._begin(deck, deck.opening(first))
        if deck.validation_rows is not None and deck.holdout_rows is not None:
            self._validation_pool, self._holdout_pool = deck.validation_rows, deck.holdout_rows
            self.validation_set = self._validation_pool[:_MIN_VALIDATION_ROWS]
            return
        min_rows = min(_MIN_VALIDATION_ROWS, deck.size // _SMALL_POOL_VALIDATION_ONE_IN)
        self._validation_pool = deck.deal(min(_MAX_VALIDATION_ROWS, max(deck.size // _VALIDATION_ONE_IN, min_rows)))
        self._holdout_pool = deck.deal(len(self._validation_pool))
        self.validation_set = self._validation_pool[:_MIN_VALIDATION_ROWS]

    def _begin(self, deck: Deck, lesson: Rows) -> None:
        self.deck = deck
        self.outlook = deck.outlook
        self.time_limit = deck.outlook.seconds_left
        self.lesson = lesson
        self.score: Estimate | None = None
        self.error_rate = 0.5
        self.was_cut_short = False
        self.has_model = False

    @classmethod
    def resume(cls, deck: Deck, past: ResumePoint) -> TeachingState:
        """Return the state in which an earlier fit ended, with the lesson of its best model."""
        state = cls.__new__(cls)
        state._begin(deck, deck.take(past.lesson))
        state.validation_set = state._validation_pool = deck.take(past.validation_rows)
        state._holdout_pool = deck.take(past.holdout_rows)
        state.score, state.was_cut_short = past.score, past.was_cut_short
        deck.notes.update(past.notes)
        error_rate = past.notes.get(_NOTE_ERROR_RATE)
        state.error_rate = error_rate if isinstance(error_rate, float) else state.error_rate
        return state

    def teach_longer(self) -> Subgenerator[None]:
        """Teach a lesson of every row again, if an earlier fit had to cut it short and there is more time now."""
        past = self.deck.resume_point
        if past is None or self.deck.left or not self.was_cut_short:
            return
        if self.outlook.seconds_left > _MIN_GROWTH * past.fit_seconds:
            yield from self.teach_and_validate(self.lesson)

    @property
    def max_rows(self) -> int:
        """Rows of the largest lesson that the rows left and the memory allow."""
        return self.outlook.largest_lesson_rows(self._n_usable)

    @property
    def lacks_memory(self) -> bool:
        """Whether the memory limit allows no lesson that is larger than the last one by enough."""
        return self.max_rows < min(_MIN_GROWTH * len(self.lesson), self._n_usable)

    @property
    def _n_usable(self) -> int:
        return len(self.lesson) + self.deck.left

    def enlarge_validation_set(self) -> Subgenerator[None]:
        """Use as many validation rows as the time allows, and examine the first model on all of them too."""
        n_before = len(self.validation_set)
        n_affordable = self.outlook.affordable_exam_rows(_VALIDATION_TIME, len(self._validation_pool))
        self.validation_set = self._validation_pool[: max(n_affordable, n_before)]
        if n_affordable > n_before:
            # On few rows the first model may look better than it is, and no later model would have the same luck.
            yield from self._validate()
            yield from examine(self._holdout_pool[n_before:n_affordable], purpose="holdout")

    def reserved_seconds(self, n_rows: int) -> float:
        """Return the seconds that a lesson of `n_rows` needs after its training, for its model to count."""
        exams = _EXAM_SAFETY_FACTOR * self.outlook.exam_seconds(2 * len(self.validation_set))
        overhead = _OVERHEAD_SAFETY_FACTOR * self.outlook.overhead_seconds(n_rows)
        return exams + overhead + _DELAY_SECONDS + min(_DELAY_FRACTION * self.time_limit, _MAX_DELAY_SECONDS)

    def teach_and_validate(self, lesson: Rows, time_fraction: float = 1.0) -> Subgenerator[None]:
        """Teach these rows in at most a fraction of the time left, then examine validation and holdout rows."""
        seconds_left = self.outlook.seconds_left
        within = max(0.0, min(time_fraction * seconds_left, seconds_left - self.reserved_seconds(len(lesson))))
        yield Lesson(lesson, within=within if np.isfinite(within) else None)
        self.lesson, self.has_model = lesson, True
        self.was_cut_short = self.outlook.fit_seconds(len(lesson)) > within
        yield from self._validate()
        yield from examine(self._holdout_pool[: len(self.validation_set)], purpose="holdout")

    def _validate(self) -> Subgenerator[None]:
        answers = yield from examine(self.validation_set, purpose="validation")
        self.score = answers.score
        if len(answers.rows):
            # A first lesson that takes every row leaves no validation rows, and the error rate stays unknown.
            self.error_rate = answers.mistakes / len(answers.rows)
            self.deck.notes[_NOTE_ERROR_RATE] = self.error_rate
