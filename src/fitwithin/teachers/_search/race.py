"""The race: candidates on growing subsets, each against the others on the same validation rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory
from fitwithin._core.preference import is_better_than_own
from fitwithin._core.records import Lesson, examine, teach
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._search.contender import Contender, Trial, find_slope
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.resume import NOTE_BEST, NOTE_CANDIDATES, store_contender
from fitwithin.teachers._search.subsets import Subsets
from fitwithin.teachers._search.time_shares import MIN_GROWTH, TimeShares
from fitwithin.teachers._shared_steps import find_largest_size, make_limit

MIN_SUBSET_ROWS = 1_000
"""Rows of a subset; fewer say little about hyperparameters."""

# First looks; times are fractions of the time limit, unless they say otherwise
_FIRST_LOOKS = 0.1  # for those at all learners, once there is a model
_FIRST_MODEL = 0.5  # of the time left, for the first model; then the learner is killed
_FIRST_STOP = 0.25  # of the time left, for the same; then a learner that can stop early is told to stop
_MIN_LOOK_SECONDS = 0.3  # for each

# The subsets
_FIRST_SUBSET_ROWS = 10_000  # on these a fit of cheap hyperparameters takes 0.1 s, and tells good ones from bad ones
_FIRST_SUBSET_TIME = 0.1  # for a fit of the leader
_SUBSET_FACTOR = 4  # between the rows of a subset and those of the next
_MAX_RIVALS = 3  # candidates that go on to the next subset beside the leader
_CLEAR_ERRORS = 2.0  # standard errors by which a candidate is clearly behind the leader
_PATIENCE = 5  # trials without a new leader, after which the next subset is due if the leaders are close

# The trials
_STOP_FACTOR = 0.8  # of the seconds to a kill; then a learner that can stop early is told to stop
_NEIGHBOUR_FACTOR = 1.5  # on the leader's seconds, for hyperparameters near its own


class Race:
    """Contenders, the subset that they are tried on, and who leads.

    Parameters
    ----------
    subsets : Subsets
        The rows.
    entrants : sequence of Entrant
        The learners.

    Attributes
    ----------
    contenders : list of Contender
        All candidates so far, by their numbers.
    shares : TimeShares
        Seconds and rows that contenders may have.
    in_hand : Contender or None
        The contender whose model the session would return now.
    n_rows : int
        Rows of the present subset.
    is_open, has_first_subset : bool
        Whether the first looks are over, and whether the first subset is as large as it should be.
    max_row_seconds : float
        Candidates whose predictions take more seconds a row lead only if all do.
    n_learners : int
        Learners' processes that try candidates at the same time.
    finalists, under_way : list of Contender
        Those that have, or had, a last fit, and those that have it now.
    """

    def __init__(self, subsets: Subsets, entrants: Sequence[Entrant]) -> None:
        self.subsets = subsets
        self.entrants = entrants
        self.contenders: list[Contender] = []
        self.shares = TimeShares(subsets)
        self.in_hand: Contender | None = None
        self.n_rows = subsets.n_first
        self.is_open = False
        self.finalists: list[Contender] = []
        self.under_way: list[Contender] = []
        self.n_learners = 1
        self.max_row_seconds = math.inf
        self._queue: list[Contender] = []
        self._n_since_lead = 0
        self.has_first_subset = False
        self._subset_ends: float | None = None

    def find_leader(self, contenders: Sequence[Contender] | None = None) -> Contender | None:
        """Return the contender with the best score expected at the deadline, among those with the most rows.

        A learner's own hyperparameters lead unless others are ahead by more than the error of the difference suggests.
        """
        alive = [one for one in self.contenders if one.is_alive and (contenders is None or one in contenders)]
        if math.isfinite(self.max_row_seconds):
            fast = [one for one in alive if one.candidate.costs.exam_seconds(1) <= self.max_row_seconds]
            alive = fast or alive
        most = max((one.n_rows for one in alive), default=0)
        ranked = sorted((one for one in alive if one.n_rows == most), key=Contender.get_score, reverse=True)
        best = max(ranked[: 1 + _MAX_RIVALS], key=self.expect_score, default=None)
        for own in (one for one in ranked if one.has_own_settings):
            if best is not None and best.last and own.last and not best.has_own_settings:
                error, gain = best.last.difference_error(own.last), self.expect_score(best) - self.expect_score(own)
                best = best if is_better_than_own(gain, error, best.last.score.value) else own
        return best

    def expect_score(self, contender: Contender) -> float:
        """Return the score expected of a contender on the rows that it can have by the deadline."""
        return contender.expect_score(self.shares.find_affordable_rows(contender), find_slope(self.contenders))

    def store(self, contender: Contender) -> None:
        """Note a candidate for a later call that resumes this one."""
        notes, number = self.subsets.deck.notes, contender.candidate.number
        stored = list(notes.get(NOTE_CANDIDATES, []))
        stored[number : number + 1] = [store_contender(contender, self.entrants[contender.learner].space)]
        # A new list, since another thread may write the one before.
        notes[NOTE_CANDIDATES] = stored
        notes[NOTE_BEST] = None if self.in_hand is None else self.in_hand.candidate.number

    def begin(self) -> Subgenerator[None]:
        """Look at each learner with its own hyperparameters on few rows: a model, and what it costs."""
        looks = max(_FIRST_LOOKS * self.shares.time_limit / len(self.entrants), _MIN_LOOK_SECONDS)
        entrants = [entrant for entrant in self.entrants if entrant.tries_own and not entrant.contenders]
        for n_done, entrant in enumerate(entrants):
            left = self.shares.seconds_left / (len(entrants) - n_done)
            # The first model waits for a process to start.
            is_first = self.in_hand is None
            kill_after = max(looks, _FIRST_MODEL * left) if is_first else looks
            stop_after = max(looks, _FIRST_STOP * left) if is_first else _STOP_FACTOR * looks
            yield from self.try_contender(self._add(entrant, {}), kill_after, stop_after)
        slow = [one for one in self.contenders if one.was_killed]
        if self.in_hand is None and slow:
            # All that is left is for the first learner that was too slow for its share of the time.
            slow[0].failure = None
            yield from self.try_contender(slow[0], self.shares.seconds_left)
        self.is_open = True

    def _begin_first_subset(self) -> None:
        """Choose the first subset that all are compared on: a fit of the leader leaves time for many others."""
        leader = self.find_leader()
        if leader is None:
            return
        costs, limit = leader.candidate.costs, _FIRST_SUBSET_TIME * self.shares.time_limit
        most = min(self.shares.max_rows, _FIRST_SUBSET_ROWS)
        n_rows = find_largest_size(most, lambda size: costs.fit_seconds(size) <= limit and costs.may_begin(size))
        others = [one for one in self.contenders if one.is_alive and one is not leader and one.n_rows == self.n_rows]
        # A fit on few rows says little about the cost of many, so a fit on the subset may show that more are cheap.
        self.has_first_subset = n_rows < 2 * self.n_rows
        if self._subset_ends is None or not self.has_first_subset:
            self.begin_subset(max(n_rows, self.n_rows), [leader, *others] if n_rows > self.n_rows else [])

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one candidate, and validation rows to compare them on."""
        is_single = len(self.entrants) == 1 and not self.entrants[0].has_others
        return len(self.subsets.validation_rows) > 0 and not is_single

    def choose_next(self, reserved: float | None = None) -> Contender | None:
        """Return the next contender to try on the present subset; None when it is time for a last fit.

        Parameters
        ----------
        reserved : float, optional
            Seconds to leave for that; by default what the leader should have.
        """
        if self.is_open and not (self._queue or self.has_first_subset) and self.find_leader() is not None:
            self._begin_first_subset()
        while self.has_choice:
            leader = self.find_leader()
            if leader is not None and self.n_rows < min(MIN_SUBSET_ROWS, self.subsets.n_usable):
                return None
            seconds = self.shares.seconds_left - (reserved or 0.0)
            if leader is not None and reserved is None:
                seconds = self.shares.count_search_seconds(leader, find_slope(self.contenders))
            # These are fitted to the time there is.
            has_starts = seconds > 0 and any(entrant.has_starts_left for entrant in self.entrants)
            if self._queue:
                contender = self._queue.pop(0)
                if contender.predict_seconds(self.n_rows) <= seconds:
                    return contender
            elif leader is None:
                return self._find_new(None)
            elif not has_starts and self._is_subset_done() and self._grow(leader, seconds):
                continue
            elif not has_starts and self._predict_neighbour(leader) > seconds:
                return None
            else:
                found = self._find_new(leader)
                if found is not None or not self._grow(leader, seconds):
                    return found
        return None

    def _predict_neighbour(self, leader: Contender) -> float:
        """Return the seconds of a trial of hyperparameters near the leader's."""
        overhead = leader.candidate.costs.overhead_seconds(self.n_rows)
        return _NEIGHBOUR_FACTOR * leader.predict_seconds(self.n_rows) + overhead

    def _is_subset_done(self) -> bool:
        """Whether more rows are due: the leaders are too close to be told apart, or the subset had its time."""
        trials = [trial for one in self.contenders if one.is_alive and (trial := one.find_trial(self.n_rows))]
        trials = sorted(trials, key=lambda trial: trial.score.value)[-2:]
        is_close = len(trials) > 1 and not _is_clearly_behind(*trials)
        is_settled = is_close and self._n_since_lead >= _PATIENCE * len(self.entrants) * self.n_learners
        return is_settled or self.shares.seconds_left <= (self._subset_ends or 0.0)

    def _grow(self, leader: Contender, seconds: float) -> bool:
        """Go on with the next subset, the leader and those close to it; return whether there is one."""
        n_rows, last = _SUBSET_FACTOR * self.n_rows, leader.find_trial(self.n_rows)
        if 2 * n_rows > self.shares.max_rows:
            # A subset of nearly all rows would leave no time for all of them.
            n_rows = self.shares.max_rows
        if last is None or n_rows < MIN_GROWTH * self.n_rows:
            return False
        if 2 * leader.predict_seconds(n_rows) > seconds:
            return False
        if n_rows < self.shares.max_rows and self.shares.find_affordable_rows(leader) < _SUBSET_FACTOR * n_rows:
            # The time is worth more in the last fit.
            return False
        close = [
            one
            for one in sorted(self.contenders, key=Contender.get_score, reverse=True)
            if one.is_alive and one is not leader and (trial := one.find_trial(self.n_rows))
            if not _is_clearly_behind(trial, last)
        ]
        self.begin_subset(n_rows, [leader, *close[:_MAX_RIVALS]])
        return True

    def begin_subset(self, n_rows: int, first: list[Contender]) -> None:
        """Go on with a subset, and try these contenders first."""
        self.n_rows, self._queue, self._n_since_lead = len(self.subsets.take(n_rows)), first, 0
        n_subsets = 1 + math.log(max(1.0, self.shares.max_rows / self.n_rows), _SUBSET_FACTOR)
        leader = self.find_leader()
        seconds = (
            0.0 if leader is None else max(0.0, self.shares.count_search_seconds(leader, find_slope(self.contenders)))
        )
        self._subset_ends = self.shares.seconds_left - seconds / n_subsets

    def _find_new(self, leader: Contender | None) -> Contender | None:
        """Return a contender that was not tried yet, of the learner that had the least time so far."""
        last = None if leader is None else leader.find_trial(self.n_rows)
        for entrant in sorted(self.entrants, key=lambda entrant: entrant.seconds):
            best = self.find_leader(entrant.contenders)
            trial = None if best is None else best.find_trial(self.n_rows)
            is_behind = best is not None and last is not None and (trial is None or _is_clearly_behind(trial, last))
            if entrant.is_out or (is_behind and not entrant.has_starts_left):
                continue
            settings = entrant.suggest(partial(self.shares.count_steps, n_rows=self.n_rows))
            if settings is not None:
                return self._add(entrant, settings)
        return None

    def _add(self, entrant: Entrant, settings: dict[str, object]) -> Contender:
        contender = entrant.make_contender(len(self.contenders), settings, self.subsets.deck.costs)
        self.contenders.append(contender)
        self.store(contender)
        return contender

    def try_contender(
        self, contender: Contender, kill_after: float | None = None, stop_after: float | None = None
    ) -> Subgenerator[None]:
        """Fit a contender on the present subset, and compare it on the validation rows."""
        costs, rows, start = contender.candidate.costs, self.subsets.take(self.n_rows), self.shares.seconds_left
        before, score = self.find_leader(), None
        # A model that becomes the best one shortly before the deadline should have its estimate by then.
        is_last = bool(self.finalists) or self.n_rows >= self.shares.max_rows
        has_holdout = is_last or self.in_hand is None
        neighbour = 0.0 if before is None else _NEIGHBOUR_FACTOR * before.predict_seconds(self.n_rows)
        limit = (
            self.shares.limit_trial(contender.predict_seconds(self.n_rows), neighbour)
            if kill_after is None
            else kill_after
        )
        if contender.failure is None and not costs.may_begin(len(rows)):
            contender.failure = "there is no time for it"
        if contender.failure is None:
            exams = self.subsets.make_exams(len(rows), costs, has_holdout=has_holdout)
            stop_after = make_limit(_STOP_FACTOR * limit if stop_after is None else stop_after)
            lesson = Lesson(
                rows, exams, stop_after=stop_after, kill_after=make_limit(limit), candidate=contender.candidate
            )
            try:
                report = yield from teach(lesson)
                score = contender.note_report(len(rows), report, start - self.shares.seconds_left)
                self.in_hand = contender if report.is_best and score is not None else self.in_hand
                if report.is_best and not has_holdout:
                    # Others are examined on holdout rows only if they are the best so far.
                    yield from examine(self.subsets.holdout_rows[: len(exams[-1].rows)], purpose="holdout")
            except (LearnerRaised, LearnerDied, OutOfMemory) as failure:
                contender.note_failure(failure, was_killed=start - self.shares.seconds_left >= limit)
        # Few rows say little about a portfolio: what counts are the suggestions after it.
        is_early = any(entrant.has_starts_left for entrant in self.entrants) or self.find_leader() is not before
        self._n_since_lead = 0 if is_early else self._n_since_lead + 1
        self.entrants[contender.learner].tell(contender, score, start - self.shares.seconds_left, len(rows))
        self.store(contender)


def _is_clearly_behind(trial: Trial, leader: Trial) -> bool:
    return leader.score.value - trial.score.value > _CLEAR_ERRORS * leader.difference_error(trial)
