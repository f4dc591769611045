"""The search: candidates on growing subsets, then a last fit of the one that should win."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, LearnerFailed, LearnerRaised, OutOfMemory
from fitwithin._core.records import Exam, Lesson, Returns, Wait, teach
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.race import MIN_SUBSET_ROWS, Race
from fitwithin.teachers._search.resume import NOTE_BEST, NOTE_CANDIDATES, restore_contenders
from fitwithin.teachers._search.subsets import Subsets
from fitwithin.teachers._search.time_shares import MIN_GROWTH
from fitwithin.teachers._shared_steps import make_limit

_BESIDE_TIME = 0.35  # of the time limit, for a rival of the finalist with another learner's process
_MAX_LAST_FITS = 3  # of one candidate, should it be given up or stopped
_BOLD_CHANCE = 0.2  # to end in time, of a first last fit that can give up after its first steps
_STEPS_FACTOR = 1.2  # times the seconds that a last fit may take, projected from its first steps; then it gives up
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
    race : Race or None
        The race, once it has begun.
    """

    returns: Returns = "best"
    validates = True
    fits_lost_model = True
    max_learners: int | None = None

    def __init__(self, entrants: Sequence[Entrant], max_row_seconds: float = math.inf) -> None:
        self.entrants = entrants
        self.max_row_seconds = max_row_seconds
        self.race: Race | None = None
        self._n_learners = 1
        self._past: list[Contender] = []
        self._past_best: int | None = None

    @property
    def contenders(self) -> list[Contender]:
        """All candidates; of an earlier call too."""
        return self._past if self.race is None else self.race.contenders

    def restore(self, notes: Mapping[str, Any]) -> None:
        """Take over the candidates of an earlier call, which is over."""
        stored = notes.get(NOTE_CANDIDATES, [])
        self._past = restore_contenders(stored, self.entrants, CostEstimates())
        self._past_best = notes.get(NOTE_BEST)

    @property
    def best(self) -> int:
        """Number of the candidate whose model is the best one."""
        if self.race is None or self.race.in_hand is None:
            return self._past_best or 0
        return self.race.in_hand.candidate.number

    def teach(self, deck: Deck) -> Requests:
        """Yield first looks, trials, and the last fit of the leader, until there is no time for another trial."""
        self.race = race = Race(Subsets(deck), self.entrants)
        race.n_learners, race.max_row_seconds = self._n_learners, self.max_row_seconds
        if deck.resume_point is None:
            deck.notes.clear()
        else:
            _resume(race, deck.resume_point)
        yield from race.begin()
        while True:
            while (contender := race.choose_next()) is not None:
                yield from race.try_contender(contender)
            finalist = _choose_finalist(race, race.find_leader())
            if finalist is None:
                break
            yield from _fit_last(race, finalist)
        yield from _refit_with_every_row(race)
        if race.in_hand is None and all(one.failure is not None for one in race.contenders):
            raise _tell_failures(race)
        has_every_row = race.in_hand is None or race.in_hand.n_rows >= race.subsets.n_usable
        return "all rows" if has_every_row else "memory" if race.shares.max_rows < race.subsets.n_usable else "time"

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return the requests of `teach` and, for each other learner, those of trials beside them."""
        self._n_learners = n_learners
        return [self.teach(deck), *(self._teach_beside() for _ in range(n_learners - 1))]

    def _teach_beside(self) -> Requests:
        """Try candidates as long as the search goes on and beside its last fit, then fit a rival of the finalist."""
        while self.race is None or not self.race.is_open or self.race.subsets.deck.is_growing:
            # Rows that are still being read have no order yet.
            yield Wait()
        race = self.race
        while True:
            busy = race.under_way
            contender = race.choose_next(_BESIDE_TIME * race.shares.time_limit if busy else None)
            if contender is not None:
                yield from race.try_contender(contender)
                continue
            others = [one for one in race.contenders if one not in busy]
            rival = _choose_finalist(race, race.find_leader(others)) if busy else None
            if rival is None:
                yield Wait()
            else:
                yield from _fit_last(race, rival)


def _resume(race: Race, past: ResumePoint) -> None:
    """Go on with the candidates of an earlier call; its best one is fitted again if its model is lost."""
    stored, best = past.notes.get(NOTE_CANDIDATES, []), past.notes.get(NOTE_BEST)
    costs = race.subsets.deck.costs
    race.contenders = restore_contenders(stored, race.entrants, costs)
    waiting = [one for one in race.contenders if one.failure is None and not one.trials]
    if best is not None and past.has_model:
        race.in_hand = race.contenders[best]
    elif best is not None:
        waiting.insert(0, race.contenders[best])
    n_rows = max((one.n_rows for one in race.contenders if one.is_alive), default=race.n_rows)
    if n_rows >= MIN_SUBSET_ROWS:
        race.has_first_subset = True
        race.begin_subset(min(n_rows, race.shares.max_rows), waiting)


def _choose_finalist(race: Race, contender: Contender | None) -> Contender | None:
    """Return a contender if a last fit would be larger than its trials; of one that was cut short, as large."""
    if contender is None or contender.last is None or race.finalists.count(contender) >= _MAX_LAST_FITS:
        return None
    least = contender.n_rows * (1.0 if contender.last.was_cut_short else MIN_GROWTH)
    return contender if race.shares.find_affordable_rows(contender) >= least else None


def _fit_last(race: Race, contender: Contender) -> Subgenerator[None]:
    """Fit a contender on every row, or on as many as end in time; if the first steps say otherwise, give up."""
    costs, n_rows = contender.candidate.costs, race.shares.find_affordable_rows(contender)
    if costs.knows_steps and contender not in race.finalists:
        n_rows = race.shares.find_affordable_rows(contender, _BOLD_CHANCE)
    race.finalists.append(contender)
    race.under_way.append(contender)
    rows, start = race.subsets.take(n_rows), race.shares.seconds_left
    seconds = start - race.shares.reserved_seconds(contender, n_rows)
    lesson = Lesson(
        rows,
        race.subsets.make_exams(n_rows, costs, has_holdout=True),
        stop_after=make_limit(seconds),
        give_up_over=make_limit(_STEPS_FACTOR * seconds) if costs.knows_steps else None,
        expected_score=race.expect_score(contender),
        candidate=contender.candidate,
    )
    try:
        report = yield from teach(lesson)
    except (LearnerRaised, LearnerDied) as failure:
        contender.note_failure(failure)
    except OutOfMemory:
        # The next size follows from what is known now.
        pass
    else:
        if not report.gave_up:
            score = contender.note_report(len(rows), report, start - race.shares.seconds_left)
            race.in_hand = contender if report.is_best and score is not None else race.in_hand
            race.store(contender)
            race.begin_subset(len(rows), [])
    finally:
        race.under_way.remove(contender)


def _refit_with_every_row(race: Race) -> Subgenerator[None]:
    """Fit the best candidate once more with the rows kept back, if it has all others and this is sure to end."""
    best, deck = race.in_hand, race.subsets.deck
    if best is None or best.last is None or best.last.was_cut_short or not deck.can_refit:
        return
    if best.n_rows < race.subsets.n_usable:
        return
    costs, n_rows = best.candidate.costs, deck.pool_size
    seconds = race.shares.seconds_left - race.shares.reserved_seconds(best, n_rows)
    if costs.largest_lesson_rows(n_rows) < n_rows or not costs.may_begin(n_rows):
        return
    if costs.chance_to_end(n_rows, seconds) >= _REFIT_CHANCE:
        exam = Exam(race.subsets.validation_rows[: race.subsets.count_exam_rows(best.n_rows, costs)], "validation")
        rows = np.arange(n_rows, dtype=race.subsets.validation_rows.dtype)
        try:
            yield Lesson(rows, (exam,), stop_after=make_limit(seconds), refit=True, candidate=best.candidate)
        except (LearnerRaised, LearnerDied, OutOfMemory):
            # The model without these rows stays.
            return


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
