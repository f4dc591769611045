"""The search: a race of settings on growing subsets, then the rest of the time for the one that should win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from fitwithin._core.candidate import Candidate
from fitwithin._core.exceptions import LearnerDied, LearnerFailed, LearnerRaised, OutOfMemory
from fitwithin._core.records import Lesson, LessonReport, Returns, StopReason, Wait
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.oversampling import compare_oversampling
from fitwithin.teachers._auto.state import BestLesson, TeachingState
from fitwithin.teachers._auto.teacher import choose_first_size, teach_until_deadline
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._search.contender import Contender, find_best
from fitwithin.teachers._search.entrant import Entrant, FindEarlyStopping
from fitwithin.teachers._search.finalist import choose_finalist, choose_outsider, choose_rival, choose_slow_own
from fitwithin.teachers._search.race import Race, describe_failure
from fitwithin.teachers._shared_steps import count_validation_rows

_Result = TypeVar("_Result")

_VALIDATION_ROWS = 2_000  # the standard error of an accuracy is 1 % at most, and smaller for a difference
_VALIDATION_ONE_IN = 8  # rows of the pool for each one, where that would be more
_TRIAL_TIME = 0.05  # of the time left; a learner that takes longer for the subset has no time for a trial of mistakes
_RIVAL_TIME = 0.35  # of the time limit, for a rival of the finalist in another process
_ALPHA = 0.2  # Auto's share of mistakes among new rows
_OVERRUN_FACTOR = 3.0  # times the predicted seconds of a fit; then the learner is killed
_MIN_LIMIT_SECONDS = 1.0  # for a fit; predictions of less are rough


class Search:
    """Teacher of a search over learners and settings.

    Parameters
    ----------
    entrants : sequence of Entrant
        The learners, with their spaces.
    find_early_stopping : callable
        Whether a learner can be told to stop early, and whether it knows the number of its steps.

    Attributes
    ----------
    race : Race or None
        The race, once it has begun.
    """

    returns: Returns = "best"
    validates = True
    max_learners: int | None = None

    def __init__(self, entrants: Sequence[Entrant], find_early_stopping: FindEarlyStopping) -> None:
        self.entrants = entrants
        self.find_early_stopping = find_early_stopping
        self.race: Race | None = None
        self._n_learners = 1

    @property
    def contenders(self) -> list[Contender]:
        """All settings that were tried."""
        return [] if self.race is None else self.race.contenders

    def teach(self, deck: Deck) -> Requests:
        """Yield the trials of the race, then the lessons of the finalist."""
        state = TeachingState(deck, choose_first_size(deck), count_search_rows(deck.size))
        self.race = race = Race(state, self.entrants, self.find_early_stopping)
        race.n_learners = self._n_learners
        yield from race.begin()
        if race.is_worthwhile():
            yield from race.open()
            while race.has_time() and (yield from race.try_next()):
                pass
        if not len(race.state.validation_set) and race.contenders[0].failure is None:
            # A pool with very few rows is taught whole, and settings cannot be compared.
            return "all rows"
        if race.in_hand is None:
            yield from race.try_last_resort()
        return (yield from _teach_finalists(race))

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return the race and its end, and beside it more learners that try settings."""
        self._n_learners = n_learners
        return [self.teach(deck), *(self._race_beside() for _ in range(n_learners - 1))]

    def _race_beside(self) -> Requests:
        """Try settings as long as the race goes on and beside the finalist's lessons, then teach a rival of it."""
        while self.race is None or self.race.state.deck.is_growing:
            # Rows that are still being read have no order yet.
            yield Wait()
        race = self.race
        # All subsets of the race are prefixes of one order, which the learners' processes share without a copy.
        order = race.state.list_next_rows(race.state.n_usable)
        while not (race.is_open or race.finalist):
            yield Wait()
        n_rows = len(race.rows)
        while race.finalist is None:
            if not (race.has_time() and (yield from race.try_next())):
                yield Wait()
            n_rows = n_rows if race.finalist else len(race.rows)
        if race.is_open:
            yield from _race_on(race.stay_on(order[:n_rows]))
        rival = _choose_rival(race, race.finalist, n_rows)
        if rival is not None:
            yield from race.teach_rival(rival, order)
        return "time"


def count_search_rows(pool_size: int) -> int:
    """Return the number of validation rows: the best of many settings needs more of them than one learner's models.

    Examples
    --------
    >>> [count_search_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [40, 500, 2000, 10000]
    """
    wanted = 0 if pool_size <= SMALL_POOL_ROWS else _VALIDATION_ROWS
    return count_validation_rows(pool_size, wanted, _VALIDATION_ONE_IN)


def _race_on(race: Race) -> Subgenerator[None]:
    """Try more settings on the last subset, until it is time for a rival of the finalist."""
    while race.seconds_left > _RIVAL_TIME * race.state.time_limit and (yield from race.try_new_settings()):
        pass


def _choose_rival(race: Race, finalist: Contender, n_rows: int) -> Contender | None:
    """Return who is taught beside the finalist: who leads on the last subset by now, or else as `choose_rival` says."""
    leader = find_best(race.contenders, n_rows)
    return leader if leader is not None and leader is not finalist else choose_rival(race, finalist)


def _teach_finalists(race: Race) -> Subgenerator[StopReason]:
    """Give the rest of the time to the finalist; if it fails, to the next one."""
    while (finalist := choose_finalist(race)) is not None:
        outsider = choose_outsider(race, finalist)
        if outsider is not None:
            yield from race.try_outsider(outsider)
            continue
        race.finalist = finalist
        try:
            return (yield from _teach_finalist(race, finalist))
        except (LearnerRaised, LearnerDied, OutOfMemory) as failure:
            finalist.failure, finalist.error = describe_failure(failure), failure
    if race.in_hand is None:
        raise _tell_failures(race)
    return "learner failed"


def _teach_finalist(race: Race, finalist: Contender) -> Subgenerator[StopReason]:
    state = race.state
    _switch(race, finalist)
    reason: StopReason = "all rows"
    if finalist.n_rows < state.max_rows:
        # Mistakes help the learner's own hyperparameters now and then; others were chosen without them.
        lessons = _teach_like_auto(state) if finalist.has_own_settings else teach_until_deadline(state, None)
        reason = yield from _teach_candidate(lessons, race, finalist)
        yield from state.examine_unused_rows()
    elif finalist.last is not None and finalist.last.was_cut_short:
        race.take_every_row()
        yield from _teach_candidate(state.teach_and_validate(state.lesson), race, finalist)
    yield from _use_the_rest(race)
    return reason


def _use_the_rest(race: Race) -> Subgenerator[None]:
    """Try more settings on the rows of the best model; if it has every row, fit it on those kept back too."""
    if race.in_hand is None:
        return
    if race.in_hand.trial.n_rows < race.state.max_rows:
        if race.state.shrink_to_best():
            yield from race.try_neighbours(race.in_hand.contender)
        return
    race.take_every_row()
    own = choose_slow_own(race)
    if own is not None:
        yield from race.teach_rival(own, race.state.lesson)
    yield from race.try_neighbours(race.in_hand.contender)
    winner = race.in_hand.contender
    _switch(race, winner)
    yield from _teach_candidate(race.state.refit_with_every_row(), race, winner)


def _teach_like_auto(state: TeachingState) -> Subgenerator[StopReason]:
    """Teach as the default teacher does after its first lesson."""
    search: MistakeSearch | None = None
    if state.costs.fit_seconds(len(state.lesson)) <= _TRIAL_TIME * state.costs.seconds_left:
        search = MistakeSearch(_ALPHA)
        if not state.has_model:
            yield from state.teach_and_validate(state.lesson)
        helps = yield from compare_oversampling(state, search)
        search = search if helps else None
    return (yield from teach_until_deadline(state, search))


def _switch(race: Race, contender: Contender) -> None:
    """Let the state be that of a contender."""
    state, last = race.state, contender.last
    best = None if last is None else BestLesson(state.lesson, last.score, last.was_cut_short)
    state.switch_learner(contender.candidate.costs, contender.curve, best)
    state.has_model = race.newest is contender and contender.n_rows == len(state.lesson)


def _teach_candidate(requests: Subgenerator[_Result], race: Race, contender: Contender) -> Subgenerator[_Result]:
    """Carry out lessons with a contender as the learner."""
    candidate = contender.candidate
    try:
        request = next(requests)
        while True:
            if isinstance(request, Lesson):
                limit = _find_limit(candidate, len(request.rows))
                request = replace(request, candidate=candidate, kill_after=limit)
            try:
                answer = yield request
            except (LearnerRaised, LearnerDied, OutOfMemory) as failure:
                request = requests.throw(failure)
            else:
                if isinstance(request, Lesson) and isinstance(answer, LessonReport) and not request.refit:
                    race.note_report(contender, len(request.rows), answer)
                request = requests.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the result of the generator


def _find_limit(candidate: Candidate, n_rows: int) -> float | None:
    predicted = candidate.costs.fit_seconds(n_rows)
    return max(_OVERRUN_FACTOR * predicted, _MIN_LIMIT_SECONDS) if predicted else None


def _tell_failures(race: Race) -> Exception:
    """Return an error that tells why each learner failed; a single one's exception is raised as it is."""
    first = race.contenders[0].error
    if len(race.entrants) == 1 and isinstance(first, LearnerRaised):
        return first
    reasons = {
        f"{type(contender.candidate.estimator).__name__}: {contender.failure}"
        for contender in race.contenders
        if contender.failure is not None
    }
    return LearnerFailed("Every candidate failed. " + " ".join(sorted(reasons)))
