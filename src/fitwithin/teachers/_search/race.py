"""The race: settings tried on growing subsets, each against the others on the same validation rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory
from fitwithin._core.records import Exam, Lesson, LessonReport, Rows, examine, teach
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._search.contender import Contender, InHand, Trial, find_best
from fitwithin.teachers._search.entrant import Entrant, FindEarlyStopping
from fitwithin.teachers._search.time_shares import MIN_SHARE_SECONDS, TimeShares
from fitwithin.teachers._shared_steps import make_limit

Failure = LearnerRaised | LearnerDied | OutOfMemory
"""What may come of a trial instead of a model."""

# Times are fractions of the time limit, unless they say otherwise.

# The subsets
_LEAST_FIRST_ROWS = 1_000  # there is no race on fewer
_ROW_FACTOR = 4  # between the rows of a subset and those of the next
_MAX_PROMOTED = 3  # contenders that go on to the next subset, besides those with a learner's own hyperparameters
_MAX_REPEATS = 20  # suggestions in a row that were tried before; then there are no more
_PATIENCE = 20  # trials of each process without a new leader, after which the next subset is due

# The exams
_EXAM_TIME = 0.02  # for one exam
_MAX_EXAM_ROWS = 5_000

# The trials
_FIRST_LOOK = 0.1  # for a first look at own hyperparameters; then a learner that can stop early is told to stop
_FIRST_SHARE = 0.5  # of the time left, for the first fits of all learners; then they are killed
_STOP_FACTOR = 0.8  # of a fit's limit; then a learner that can stop early is told to stop
_NEIGHBOUR_FACTOR = 1.5  # on the seconds of the leader's fit, for a fit with other settings near its own


class Race:
    """Contenders, the subset that they are tried on, and who leads.

    Parameters
    ----------
    state : TeachingState
        The rows: training rows to grow from, validation and holdout rows.
    entrants : sequence of Entrant
        The learners.
    find_early_stopping : callable
        Whether a learner can be told to stop early, and whether it knows the number of its steps.

    Attributes
    ----------
    contenders : list of Contender
        All settings so far, by their numbers.
    shares : TimeShares
        What a contender may take, and what it needs.
    in_hand : InHand or None
        What the session would return now.
    newest : Contender or None
        The contender that was tried last.
    first_rows : int
        Rows of the first subset that settings are compared on; 0 before there is one.
    is_open : bool
        Whether settings other than the learners' own may be tried.
    finalist : Contender or None
        Who gets the rest of the time, once that is decided.
    n_learners : int
        Learners' processes that try settings at the same time.
    """

    def __init__(
        self, state: TeachingState, entrants: Sequence[Entrant], find_early_stopping: FindEarlyStopping
    ) -> None:
        self.state = state
        self.entrants = entrants
        self.contenders: list[Contender] = []
        self.in_hand: InHand | None = None
        self.newest: Contender | None = None
        self.is_open = False
        self.finalist: Contender | None = None
        self.n_learners = 1
        self.shares = TimeShares(state)
        self._find_early_stopping = find_early_stopping
        self._costs = state.costs
        self._exam_rows = state.validation_set[:_MAX_EXAM_ROWS]
        self._queue: list[Contender] = []
        self._under_way: list[Contender] = []
        self._n_since_lead = 0
        self.first_rows = 0
        self._level = 0
        self._level_start = self._costs.seconds_left

    @property
    def rows(self) -> Rows:
        """The subset that contenders are tried on at present."""
        return self.state.lesson

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return self._costs.seconds_left

    @property
    def leader(self) -> Contender | None:
        """The contender with the best score on the present subset."""
        return find_best(self.contenders, len(self.rows))

    def begin(self) -> Subgenerator[None]:
        """Try each learner on few rows, with the fastest known hyperparameters and with its own, to see their cost."""
        for entrant in self.entrants:
            own = self._add_contender(entrant, {})
            if entrant.has_fast_ladder:
                fastest = self._suggest(entrant)
                if fastest is not None:
                    yield from self._try(fastest)
                    if len(self.contenders) == 2:
                        # The learner's process has started only now, which takes a second.
                        self.state.time_limit = self.seconds_left
            limit = _FIRST_SHARE * self.seconds_left / len(self.entrants)
            yield from self._try(own, kill_after=limit, stop_after=_FIRST_LOOK * self.state.time_limit)
        yield from self._measure_fastest()

    def _measure_fastest(self) -> Subgenerator[None]:
        """Try the fastest known hyperparameters on more rows: the first fit of all says little about what rows cost."""
        fastest = [one for one in self.contenders if one.trials and not one.has_own_settings]
        n_rows = min(_ROW_FACTOR * len(self.rows), self.state.max_rows)
        if fastest and n_rows > len(self.rows):
            self._grow(n_rows)
            for contender in fastest:
                yield from self._try(contender)

    def open(self) -> Subgenerator[None]:
        """Choose the first subset that settings are compared on, and try those of `begin` on it."""
        n_rows = self.shares.choose_first_size(self.contenders)
        if n_rows > len(self.rows):
            self._grow(n_rows)
        self.first_rows = len(self.rows)
        for contender in list(self.contenders):
            if contender.failure is not None or contender.find_trial(len(self.rows)) is not None:
                continue
            if contender.has_own_settings and not self.shares.is_cheap(contender, len(self.rows)):
                yield from self._measure(contender)
            if self.shares.is_cheap(contender, len(self.rows)):
                # The trial before was too small, and had too few validation rows, to be compared.
                contender.trials.clear()
                yield from self._try(contender)
        self.is_open = True

    def try_last_resort(self) -> Subgenerator[None]:
        """Give all that is left to the first learner that was too slow for its share of the time."""
        slow = [entrant.contenders[0] for entrant in self.entrants if entrant.contenders[0].was_killed]
        if slow:
            slow[0].failure = None
            yield from self._try(slow[0], kill_after=self.seconds_left)

    def _measure(self, contender: Contender) -> Subgenerator[None]:
        """Let a learner that can stop early take a few steps on the present subset, to see what all would take."""
        costs = contender.candidate.costs
        if costs.knows_steps:
            self.newest = None
            try:
                limit = self.shares.limit_seconds(contender)
                yield Lesson(
                    self.rows,
                    stop_after=_STOP_FACTOR * limit,
                    kill_after=limit,
                    give_up_over=0.0,
                    candidate=contender.candidate,
                )
            except (LearnerRaised, LearnerDied, OutOfMemory):
                # It stays in the race with what is known from fewer rows.
                return

    def is_worthwhile(self) -> bool:
        """Whether there is something to choose from, and time for enough trials."""
        if not len(self._exam_rows) or (len(self.entrants) == 1 and self.entrants[0].space is None):
            return False
        least = min(_LEAST_FIRST_ROWS, self.state.n_usable)
        return self.in_hand is None or (
            any(map(self.shares.has_room, self.entrants)) and self.shares.choose_first_size(self.contenders) >= least
        )

    def find_untried_own(self) -> Contender | None:
        """Return own hyperparameters that were not compared with the leader, although a fit on every row would end."""
        leader = self.leader
        own = None if leader is None else self.entrants[leader.learner].contenders[0]
        if own is None or own.failure is not None or own.n_rows >= self.first_rows or not self.shares.leaves_time(own):
            return None
        return own

    def has_time(self) -> bool:
        """Whether the race goes on: the leader must have the time that it needs at the end."""
        if all(entrant.is_out for entrant in self.entrants):
            return False
        return self.seconds_left > self._final_seconds()

    def try_next(self) -> Subgenerator[bool]:
        """Try the next contender; return whether there was one."""
        if not self._queue and self._is_level_over():
            self._rise()
        contender = self._queue.pop(0) if self._queue else self._find_new_contender()
        if contender is None:
            return self._rise()
        yield from self._try(contender)
        return True

    def take_every_row(self) -> None:
        """Make all rows that may be used the subset."""
        if self.state.max_rows > len(self.rows):
            self._grow(self.state.max_rows)

    def stay_on(self, rows: Rows) -> Race:
        """Return a race with the same contenders that stays on a subset, whatever the finalist is taught meanwhile."""
        race = copy.copy(self)
        race.state, race._queue = copy.copy(self.state), []
        race.state.lesson, race.shares = rows, TimeShares(race.state)
        return race

    def try_new_settings(self) -> Subgenerator[bool]:
        """Try settings that are new on the present subset; return whether there were some."""
        contender = self._find_new_contender()
        if contender is not None:
            yield from self._try(contender)
        return contender is not None

    def teach_rival(self, rival: Contender, order: Rows) -> Subgenerator[None]:
        """Fit a contender once, on as many of the first rows of an order as the time allows; it fails alone."""
        n_rows = self.shares.find_affordable_rows(rival)
        if n_rows <= rival.n_rows:
            return
        rows = order[:n_rows]
        stop_after = max(self.seconds_left - self.state.reserved_seconds(n_rows), MIN_SHARE_SECONDS)
        exams = (Exam(self._holdout_rows, "holdout"), Exam(self._exam_rows, "validation"))
        try:
            report = yield from teach(Lesson(rows, exams, stop_after=stop_after, candidate=rival.candidate))
            self.note_report(rival, n_rows, report)
        except (LearnerRaised, LearnerDied, OutOfMemory) as failure:
            rival.failure, rival.error = describe_failure(failure), failure

    def try_outsider(self, contender: Contender) -> Subgenerator[None]:
        """Fit a contender on every row; the subset stays as it is."""
        subset = self.rows
        self._grow(self.state.max_rows)
        new = self.rows[len(subset) :]
        yield from self._try(contender)
        self.state.deck.put_back(new)
        self.state.lesson = subset

    def try_neighbours(self, finalist: Contender) -> Subgenerator[None]:
        """Try more settings near the finalist's on the present subset, as long as there is time."""
        self._queue, self._n_since_lead = [], 0
        entrant = self.entrants[finalist.learner]
        entrant.renew_suggester()
        while (leader := self.leader) is not None:
            n_rows = len(self.rows)
            limit = self.seconds_left - self.state.reserved_seconds(n_rows)
            if n_rows >= self.state.max_rows:
                limit -= self.shares.refit_seconds(leader)
            if _NEIGHBOUR_FACTOR * leader.candidate.costs.fit_seconds(n_rows) > limit:
                return
            contender = self._suggest(entrant)
            if contender is None:
                return
            yield from self._try(contender, kill_after=limit)

    def _find_new_contender(self) -> Contender | None:
        """Return settings that were not tried yet, of the learner that had the least time so far."""
        alive = [entrant for entrant in self.entrants if not entrant.is_out and not self._is_behind(entrant)]
        for entrant in sorted(alive, key=lambda entrant: entrant.seconds):
            contender = self._suggest(entrant)
            if contender is not None:
                return contender
        return None

    def _suggest(self, entrant: Entrant) -> Contender | None:
        """Return settings of a learner that were not tried on the present subset; None if there are no more."""
        for _ in range(_MAX_REPEATS):
            settings = entrant.suggest(len(self.rows))
            if settings is None:
                return None
            known = entrant.find_contender(settings)
            if known is None:
                return self._add_contender(entrant, settings)
            if known.failure is None and known.find_trial(len(self.rows)) is None and known not in self._under_way:
                return known
            entrant.tell_known(settings, known)
        return None

    def _is_behind(self, entrant: Entrant) -> bool:
        """Whether a learner's best setting is clearly worse than the leader, and it had its share of the time."""
        best = entrant.find_best(len(self.rows))
        had_share = entrant.seconds > sum(other.seconds for other in self.entrants) / (2 * len(self.entrants))
        return had_share and best is not None and self._is_clearly_behind(best)

    def _add_contender(self, entrant: Entrant, settings: dict[str, object]) -> Contender:
        contender = entrant.make_contender(len(self.contenders), settings, self._costs, self._find_early_stopping)
        self.contenders.append(contender)
        return contender

    def _try(
        self, contender: Contender, *, kill_after: float | None = None, stop_after: float | None = None
    ) -> Subgenerator[None]:
        """Fit a contender on the present subset, and compare it on the validation rows."""
        rows, start, before = self.rows, self.seconds_left, self.leader
        self.newest = contender
        self._under_way.append(contender)
        if contender.failure is None and not contender.candidate.costs.may_begin(len(rows)):
            contender.failure = "there is no time for it"
        if contender.failure is None:
            limit = self.shares.limit_seconds(contender) if kill_after is None else kill_after
            stop_after = _STOP_FACTOR * limit if stop_after is None else stop_after
            try:
                yield from self._fit_and_score(contender, rows, limit, stop_after)
            except (LearnerRaised, LearnerDied, OutOfMemory) as failure:
                contender.failure, contender.error = describe_failure(failure), failure
                contender.was_killed = start - self.seconds_left >= limit
        self._under_way.remove(contender)
        self._n_since_lead = 0 if self.leader is not before else self._n_since_lead + 1
        self.entrants[contender.learner].tell(contender, start - self.seconds_left)

    def _fit_and_score(
        self, contender: Contender, rows: Rows, kill_after: float, stop_after: float
    ) -> Subgenerator[None]:
        start, is_first = self.seconds_left, self.in_hand is None
        report = yield from teach(
            Lesson(
                rows,
                self._list_exams(is_first=is_first),
                stop_after=stop_after,
                kill_after=kill_after,
                candidate=contender.candidate,
            )
        )
        answers = report.answers.get("validation")
        if answers is None or answers.score is None:
            return
        if is_first:
            # Trials only need a direction, so the first one tells how many rows are cheap to predict. The finalist has
            # the same ones, so that all scores can be compared.
            self._exam_rows = self.state.validation_set = answers.rows
        trial = Trial(len(rows), answers, answers.score, start - self.seconds_left, report.was_cut_short)
        contender.add_trial(trial)
        if report.is_best:
            self.in_hand = InHand(contender, trial)
            if not is_first:
                # Others are examined on holdout rows only if they are the best so far.
                yield from examine(self._holdout_rows, purpose="holdout")

    def _list_exams(self, *, is_first: bool) -> tuple[Exam, ...]:
        """Return the exams of a trial; the first model is the best one at once, and has its estimate then."""
        if not is_first:
            return (Exam(self._exam_rows, "validation"),) if len(self._exam_rows) else ()
        limit = make_limit(_EXAM_TIME * self.state.time_limit)
        exams = Exam(self._holdout_rows, "holdout", seconds=limit), Exam(self._exam_rows, "validation", seconds=limit)
        return tuple(exam for exam in exams if len(exam.rows))

    @property
    def _holdout_rows(self) -> Rows:
        return self.state.holdout_rows[: len(self._exam_rows)]

    def note_report(self, contender: Contender, n_rows: int, report: LessonReport) -> None:
        """Note a lesson beside the trials, if the session takes its model for the best one."""
        answers = report.answers.get("validation")
        if report.is_best and answers is not None and answers.score is not None:
            trial = Trial(n_rows, answers, answers.score, report.seconds, report.was_cut_short)
            contender.trials.append(trial)
            self.in_hand = InHand(contender, trial)

    def _grow(self, n_rows: int) -> None:
        new = self.state.deck.deal(n_rows - len(self.rows))
        self.state.lesson = np.concatenate([self.rows, new])

    def _is_level_over(self) -> bool:
        """Whether it is time for the next subset.

        On the first one only known hyperparameters are tried, since few rows say little about others.
        """
        if any(entrant.has_ladder_left for entrant in self.entrants):
            return False
        had_share = self._level_start - self.seconds_left >= self._level_seconds()
        return self._level == 0 or had_share or self._n_since_lead >= _PATIENCE * len(self.entrants) * self.n_learners

    def _level_seconds(self) -> float:
        """Return the seconds for the present subset: an equal part of the race's for each subset that is left."""
        n_levels, n_rows = 1, len(self.rows)
        while n_rows < self.state.n_usable and self._find_promoted(_ROW_FACTOR * n_rows):
            n_levels, n_rows = n_levels + 1, _ROW_FACTOR * n_rows
        return max(0.0, self._level_start - self._final_seconds()) / n_levels

    def _rise(self) -> bool:
        """Go on with the next subset and the best contenders; return whether there is one."""
        n_rows = min(_ROW_FACTOR * len(self.rows), self.state.max_rows)
        promoted = self._find_promoted(n_rows)
        if n_rows <= len(self.rows) or not promoted:
            self._n_since_lead, self._level = 0, max(1, self._level)
            return False
        self._queue = promoted
        for contender in self.contenders:
            contender.is_beaten |= contender not in promoted and self._is_clearly_behind(contender)
        for entrant in self.entrants:
            entrant.seconds = 0.0
            entrant.renew_suggester()
        self._grow(n_rows)
        self._level_start, self._n_since_lead, self._level = self.seconds_left, 0, self._level + 1
        return True

    def _find_promoted(self, n_rows: int) -> list[Contender]:
        """Return the best contenders, and the learners' own hyperparameters unless they are clearly worse.

        Candidates whose trial on `n_rows` rows would take too long stay behind.
        """
        here = len(self.rows)
        tried = [one for one in self.contenders if one.failure is None and one.find_trial(here) is not None]
        ranked = sorted(tried, key=lambda one: one.score_at(here), reverse=True)
        others = [one for one in ranked if not one.has_own_settings and self.shares.is_cheap(one, n_rows)][
            :_MAX_PROMOTED
        ]
        own = [one for one in ranked if one.has_own_settings and not self._is_clearly_behind(one)]
        # Own settings come first, so that others are compared with them on the same rows. Alone they tell nothing.
        return [*(one for one in own if self.shares.is_cheap(one, n_rows)), *others] if others else []

    def _is_clearly_behind(self, contender: Contender) -> bool:
        """Whether the leader is better by more than chance on the present subset."""
        leader, trial = self.leader, contender.find_trial(len(self.rows))
        best = None if leader is None else leader.find_trial(len(self.rows))
        return best is not None and trial is not None and best.is_clearly_better(trial, len(self.contenders))

    def _final_seconds(self) -> float:
        """Return the seconds that the leader should have at the end."""
        leader = self.leader
        if leader is None or self._queue:
            # Those that go on to this subset should be compared before it is decided.
            return self.shares.min_final_seconds()
        own_leads = leader.has_own_settings and not any(entrant.has_ladder_left for entrant in self.entrants)
        return self.shares.final_seconds(leader, self.find_untried_own(), own_leads=own_leads)


def describe_failure(failure: Failure) -> str:
    """Return why a trial has no model."""
    if isinstance(failure, LearnerRaised):
        return str(failure)
    return f"it took {failure}" if isinstance(failure, OutOfMemory) else str(failure)
