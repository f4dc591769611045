"""The search: candidates on growing subsets, then a last fit of the one that should win."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, LearnerFailed, LearnerRaised, OutOfMemory
from fitwithin._core.records import Exam, Lesson, Returns, Wait, examine, make_limit, teach
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.race import MIN_SUBSET_ROWS, Race
from fitwithin.teachers._search.resume import restore_contenders, store_contender
from fitwithin.teachers._search.shares import MIN_TRIAL_SECONDS, Shares

# First looks; times are fractions of the time limit, unless they say otherwise
_FIRST_LOOKS = 0.1  # for those at all learners, once there is a model
_FIRST_MODEL = 0.3  # of the time left, for the first model; then the learner is killed

_STOP_FACTOR = 0.8  # of the seconds to a kill; then a learner that can stop early is told to stop
_BESIDE_TIME = 0.35  # of the time limit, for a rival of the finalist with another learner's process
_REFIT_CHANCE = 0.95  # of a fit with the rows kept back: its model is there already


class Search:
    """Teacher of a search over learners and settings.

    Parameters
    ----------
    entrants : sequence of Entrant
        The learners, with their spaces.
    max_row_seconds : float, optional
        Most seconds that the prediction of a row should take.

    Attributes
    ----------
    race : Race
        The candidates, and how far they are.
    """

    returns: Returns = "best"
    validates = True
    fits_lost_model = True
    max_learners: int | None = None

    def __init__(self, entrants: Sequence[Entrant], max_row_seconds: float = math.inf) -> None:
        self.race = Race(entrants, max_row_seconds)

    def restore(self, notes: Mapping[str, Any]) -> None:
        """Take over the candidates of an earlier call, which is over."""
        self.race.in_hand = restore_contenders(self.race, notes, CostEstimates())

    def teach(self, deck: Deck) -> Requests:
        """Yield first looks, trials, and the last fit of the leader, until there is no time for another trial."""
        race = self.race
        race.begin(Shares(deck))
        if deck.resume_point is None:
            deck.notes.clear()
        else:
            _resume(race, deck.resume_point)
        yield from _look_at_learners(race)
        while True:
            if (contender := race.choose_next()) is None and (finalist := race.choose_finalist()) is not None:
                yield from _fit_last(race, finalist)
            elif (contender := contender or race.choose_next(race.shares.refit_seconds(race.in_hand))) is not None:
                yield from _try(race, contender)
            else:
                break
        yield from _refit_with_every_row(race)
        if race.in_hand is None and all(one.failure is not None for one in race.contenders):
            raise _tell_failures(race)
        n_usable = race.shares.n_usable
        has_every_row = race.in_hand is None or race.in_hand.n_rows >= n_usable
        return "all rows" if has_every_row else "memory" if race.shares.max_rows < n_usable else "time"

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return the requests of `teach` and, for each other learner, those of trials beside them."""
        return [self.teach(deck), *(self._teach_beside() for _ in range(n_learners - 1))]

    def _teach_beside(self) -> Requests:
        """Try candidates as long as the search goes on and beside its last fit, then fit a rival of the finalist."""
        race = self.race
        while not race.is_open or race.shares.deck.is_growing:
            # Rows that are still being read have no order yet.
            yield Wait()
        while True:
            busy = race.under_way
            contender = race.choose_next(_BESIDE_TIME * race.shares.time_limit if busy else None)
            if contender is not None:
                yield from _try(race, contender)
            elif busy and (rival := race.choose_finalist(busy)) is not None:
                yield from _fit_last(race, rival)
            else:
                yield Wait()


def _resume(race: Race, past: ResumePoint) -> None:
    """Go on with the candidates of an earlier call; its best one is fitted again if its model is lost."""
    best = restore_contenders(race, past.notes, race.shares.deck.costs)
    for one in race.contenders:
        race.tell(one)
    waiting = [one for one in race.contenders if one.failure is None and not one.trials]
    if past.has_model:
        race.in_hand = best
    elif best is not None:
        waiting.insert(0, best)
    n_rows = max((one.n_rows for one in race.contenders if one.is_alive), default=race.n_rows)
    if n_rows >= MIN_SUBSET_ROWS:
        race.begin_subset(min(n_rows, race.shares.max_rows), waiting)


def _look_at_learners(race: Race) -> Subgenerator[None]:
    """Look at each learner with its own hyperparameters on few rows: a model, and what it costs."""
    seconds = max(_FIRST_LOOKS * race.shares.time_limit / len(race.entrants), MIN_TRIAL_SECONDS)
    entrants = [entrant for entrant in race.entrants if entrant.tries_own and not entrant.contenders]
    for n_done, entrant in enumerate(entrants):
        # The first model waits for a process to start.
        left = race.shares.seconds_left / (len(entrants) - n_done) if race.in_hand is None else 0.0
        yield from _try(race, race.add(entrant, {}), max(seconds, _FIRST_MODEL * left))
    slow = [one for one in race.contenders if one.was_killed]
    if race.in_hand is None and slow:
        # All that is left is for the first learner that was too slow for its share of the time.
        slow[0].failure = None
        yield from _try(race, slow[0], race.shares.seconds_left)
    race.is_open = True


def _try(race: Race, contender: Contender, seconds: float | None = None) -> Subgenerator[None]:
    """Fit a contender on the present subset, and compare it on the validation rows."""
    store_contender(race, contender)
    shares, n_rows, start = race.shares, race.n_rows, race.shares.seconds_left
    limit = shares.limit_trial(contender, race.find_leader(), n_rows) if seconds is None else seconds
    # A model that becomes the best one shortly before the deadline should have its estimate by then.
    has_holdout = bool(race.finalists) or n_rows >= shares.max_rows or race.in_hand is None
    lesson = Lesson(
        shares.list_rows(n_rows),
        shares.list_exams(n_rows, contender.costs, has_holdout=has_holdout),
        stop_after=make_limit(_STOP_FACTOR * limit),
        kill_after=make_limit(limit),
        candidate=contender,
    )
    if contender.failure is None and not contender.costs.may_begin(n_rows):
        contender.failure = "there is no time for it"
    if contender.failure is None:
        yield from _fit(race, contender, lesson)
    race.tell(contender, start - shares.seconds_left)
    store_contender(race, contender)


def _fit_last(race: Race, contender: Contender) -> Subgenerator[None]:
    """Fit a contender on every row, or on as many as end in time; if the first steps say otherwise, give up."""
    shares, costs, n_safe = race.shares, contender.costs, race.shares.choose_last_rows(contender)
    # The first one may be too large.
    n_try = shares.choose_rows_to_try(contender) if costs.knows_steps and not race.finalists else 0
    if not (n_rows := max(n_try, n_safe)):
        # The time for it went by since it was chosen.
        return
    seconds = shares.seconds_left - shares.reserved_seconds(contender, n_rows)
    lesson = Lesson(
        shares.list_rows(n_rows),
        shares.list_exams(n_rows, costs, has_holdout=True),
        stop_after=make_limit(seconds),
        give_up_over=make_limit(seconds / costs.worth_share) if n_try > n_safe else None,
        expected_score=contender.promise,
        candidate=contender,
    )
    race.finalists.append(contender)
    race.under_way.append(contender)
    try:
        yield from _fit(race, contender, lesson)
    finally:
        race.under_way.remove(contender)
    if race.in_hand is contender and contender.n_rows == len(lesson.rows):
        race.begin_subset(contender.n_rows, [])
    race.tell(contender)
    store_contender(race, contender)


def _fit(race: Race, contender: Contender, lesson: Lesson) -> Subgenerator[None]:
    """Teach a lesson to a contender, and note its score or its failure."""
    start, limit = race.shares.seconds_left, math.inf if lesson.kill_after is None else lesson.kill_after
    try:
        report = yield from teach(lesson)
        has_score = contender.note_report(len(lesson.rows), report)
        if report.is_best and has_score:
            race.in_hand = contender
        if report.is_best and all(exam.purpose != "holdout" for exam in lesson.exams):
            # Others are examined on holdout rows only if they are the best so far.
            yield from examine(race.shares.holdout_rows[: len(lesson.exams[-1].rows)], purpose="holdout")
    except (LearnerRaised, LearnerDied) as failure:
        contender.failure, contender.error = str(failure), failure
        contender.was_killed = start - race.shares.seconds_left >= limit
    except OutOfMemory as failure:
        # One with a model may have fewer rows.
        contender.failure = None if contender.trials else f"it took {failure}"


def _refit_with_every_row(race: Race) -> Subgenerator[None]:
    """Fit the best candidate once more with the rows kept back, if it has all others and this is sure to end."""
    best, shares, n_rows = race.in_hand, race.shares, race.shares.deck.pool_size
    if not best or not best.last or best.last.was_cut_short or best.n_rows < shares.n_usable:
        return
    if not shares.deck.can_refit or best.costs.largest_lesson_rows(n_rows) < n_rows:
        return
    seconds = shares.seconds_left - shares.reserved_seconds(best, n_rows)
    if best.costs.may_begin(n_rows) and best.costs.chance_to_end(n_rows, seconds) >= _REFIT_CHANCE:
        exam = Exam(shares.validation_set[: shares.count_exam_rows(best.n_rows, best.costs)], "validation")
        rows = np.arange(n_rows, dtype=shares.validation_set.dtype)
        try:
            yield Lesson(rows, (exam,), stop_after=make_limit(seconds), refit=True, candidate=best)
        except (LearnerRaised, LearnerDied, OutOfMemory):
            # The model without these rows stays.
            return


def _tell_failures(race: Race) -> Exception:
    """Return an error that tells why each learner failed; a single one's exception is raised as it is."""
    first = race.contenders[0].error
    if len(race.entrants) == 1 and isinstance(first, LearnerRaised):
        return first
    reasons = {f"{type(one.estimator).__name__}: {one.failure}" for one in race.contenders if one.failure is not None}
    return LearnerFailed("Every candidate failed. " + " ".join(sorted(reasons)))
