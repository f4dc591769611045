"""The finalist: the contender that is expected to be ahead at the deadline, on the rows that it can afford there."""

from __future__ import annotations

import math

from fitwithin._core.preference import clear_errors
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.race import Race

_FAR_ERRORS = 2.5  # standard errors of the difference, by which an outsider may not be behind
_OUTSIDER_TIME = 0.3  # of the time left, for the fit of an outsider; the learner's own hyperparameters get the rest
_SLOW_OWN_ROWS = 0.1  # of every row, for own hyperparameters that had no chance yet
_SLOW_OUTSIDER_TIME = 0.6  # the same, if the learner's own hyperparameters cannot have half of the rows


def choose_finalist(race: Race) -> Contender | None:
    """Return the contender with the best score expected at the deadline; None if all have failed.

    A learner's own hyperparameters lose their place only to one that is expected to be ahead by more than the error of
    the difference on the same validation rows.
    """
    known = [one for one in race.contenders if one.failure is None and one.trials]
    if not race.is_open and any(one.has_own_settings for one in known):
        # Without a race the others were only tried to see what they cost, unless they have every row.
        known = [one for one in known if one.has_own_settings or one.n_rows >= race.state.max_rows]
    most = max((one.n_rows for one in known), default=0)
    on_most = [one for one in known if one.n_rows == most]
    best = max(on_most, key=lambda one: expect_score(race, one, [most]), default=None)
    for own in [one for one in known if one.has_own_settings and not one.is_beaten]:
        if own is not best and not any(_is_ahead(race, one, own) for one in on_most):
            best = own
    return best


def choose_rival(race: Race, finalist: Contender) -> Contender | None:
    """Return who is taught beside the finalist in another process: own hyperparameters, or the best others."""
    known = [one for one in race.contenders if one.failure is None and one.trials and one is not finalist]
    rivals = [one for one in known if one.has_own_settings != finalist.has_own_settings]
    return max(rivals, key=lambda one: expect_score(race, one, [one.n_rows]), default=None)


def choose_slow_own(race: Race) -> Contender | None:
    """Return own hyperparameters that were too slow to be compared, and may have many rows in the time left."""
    own = race.entrants[0].contenders[0]
    if len(race.entrants) > 1 or not race.is_open or own.failure is not None or own.n_rows >= race.first_rows:
        return None
    return own if race.shares.find_affordable_rows(own) >= _SLOW_OWN_ROWS * race.state.max_rows else None


def choose_outsider(race: Race, finalist: Contender) -> Contender | None:
    """Return settings that deserve one fit on every row before the finalist gets the rest; None if none do.

    Settings that are made for many rows look no better than others on few. If they are not clearly behind, and so fast
    that a fit on every row takes a small part of the time, it is worth more than the time that it costs. If it is
    better than the one before, the next slower ones are tried too.
    """
    n_rows, last = race.state.max_rows, finalist.last
    own = race.find_untried_own()
    if own is not None and race.shares.find_affordable_rows(own) >= n_rows:
        return own
    others = [one for one in race.contenders if one.failure is None and not one.has_own_settings]
    tried = [one for one in others if one.find_trial(n_rows) is not None]
    if not tried and not finalist.has_own_settings:
        return None
    is_slow = finalist.has_own_settings and race.shares.find_affordable_rows(finalist) < n_rows / 2
    share = _SLOW_OUTSIDER_TIME if is_slow else _OUTSIDER_TIME
    waiting = [
        one for one in others if one not in tried and _is_fast(race, one, share) and not _is_behind(one, finalist)
    ]
    if not tried:
        in_reach = [one for one in waiting if last is not None and one.n_rows == last.n_rows]
        return max(in_reach, key=lambda one: expect_score(race, one, [one.n_rows]), default=None)
    best, newest = max(tried, key=lambda one: one.score_at(n_rows)), race.newest
    if best is not newest:
        return None
    slower = [one for one in waiting if _predict_seconds(race, one) > _predict_seconds(race, best)]
    return min(slower, key=lambda one: _predict_seconds(race, one), default=None)


def _is_behind(contender: Contender, finalist: Contender) -> bool:
    """Whether a contender was far behind the finalist on the largest subset that both were tried on."""
    sizes = {trial.n_rows for trial in contender.trials} & {trial.n_rows for trial in finalist.trials}
    first, second = finalist.find_trial(max(sizes, default=0)), contender.find_trial(max(sizes, default=0))
    if first is None or second is None:
        return True
    return first.score.value - second.score.value > _FAR_ERRORS * first.difference_error(second)


def _predict_seconds(race: Race, contender: Contender) -> float:
    return contender.candidate.costs.fit_seconds(race.state.max_rows)


def _is_fast(race: Race, contender: Contender, share: float) -> bool:
    """Whether a fit on every row should take no more than a share of the time left."""
    spare = share * race.seconds_left - race.state.reserved_seconds(race.state.max_rows)
    return _predict_seconds(race, contender) <= spare


def _is_ahead(race: Race, one: Contender, other: Contender) -> bool:
    """Whether a contender is expected to be ahead of another; of one with its own hyperparameters, clearly so."""
    sizes = sorted({trial.n_rows for trial in one.trials} & {trial.n_rows for trial in other.trials})[-2:]
    if not sizes:
        return one.n_rows > other.n_rows
    if one.last is not None and (one.n_rows >= race.state.max_rows or one.n_rows > sizes[-1]):
        # Its score on its rows is known already; what the other one will score is a rough guess.
        margin = 0.0 if one.has_own_settings else clear_errors(len(race.contenders)) * one.last.score.standard_error
        return one.last.score.value >= expect_score(race, other, sizes) + margin
    # Curves through different sizes can hardly be compared.
    difference = expect_score(race, one, sizes) - expect_score(race, other, sizes)
    if one.has_own_settings:
        return difference >= 0
    first, second = one.find_trial(sizes[-1]), other.find_trial(sizes[-1])
    return (
        first is None
        or second is None
        or difference > clear_errors(len(race.contenders)) * first.difference_error(second)
    )


def expect_score(race: Race, contender: Contender, sizes: list[int]) -> float:
    """Return the score that a contender is expected to have at the deadline, from its trials on these sizes."""
    curve, last = LearningCurve(), contender.find_trial(sizes[-1])
    for size in sizes:
        trial = contender.find_trial(size)
        if trial is not None:
            curve.observe(size, trial.score.value, trial.score.standard_error)
    n_rows = race.shares.find_affordable_rows(contender)
    if last is None or not len(curve):
        return -math.inf
    return last.score.value if n_rows <= last.n_rows else curve.predict(n_rows).mean
