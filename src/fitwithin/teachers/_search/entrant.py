"""A learner in a search: its space, and which of its hyperparameters are tried next."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from fitwithin._core.cost import CostEstimates
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.frugal_suggester import FrugalSuggester
from fitwithin.teachers._search.space import Choice, Settings, Space, count_leaves, make_key

EstimateCosts = Callable[[Any, CostEstimates], CostEstimates]
"""Cost estimates of an estimator, from those of another one: with the same deadline and memory limit."""

CountSteps = Callable[[Contender, float], float]
"""Steps that the time allows, by a contender with known steps and the leaves of a tree as times its leaves."""

# Failures in a row, from the first hyperparameters on, after which a learner is out.
_MAX_FAILURES = 4
# Suggestions in a row that were tried before, or share values with failures; then there are draws at random, and after
# this many of them no more hyperparameters: the last one of 30 is among them all but surely.
_MAX_REPEATS = 50
_MAX_DRAWS = 500
# Candidates with a common value, or with two common values, that all raised an exception before others are avoided.
_MAX_FAILURES_OF_VALUES = {2: 2, 1: 10}


@dataclass(eq=False)
class Entrant:
    """A learner of a search, and its hyperparameters so far.

    Parameters
    ----------
    number : int
        Its place among the learners.
    estimator : estimator
        The learner with its own hyperparameters, not fitted.
    space : Space
        Hyperparameters that may be tried; an empty one for its own ones alone.
    starts : list of dict
        Hyperparameters to begin with that were not tried yet; at first those of the user.
    seed : int
        Seed of the suggestions.
    estimate_costs : callable, optional
        Makes the cost estimates of a candidate; see `EstimateCosts`.
    tries_own : bool, default=True
        Whether the learner's own hyperparameters are tried; another entrant of the same learner may do so.
    seconds : float
        Seconds of its trials.
    contenders : list of Contender
        Its hyperparameters so far; the first are the learner's own.
    """

    number: int
    estimator: Any
    space: Space
    starts: list[Settings]
    seed: int
    estimate_costs: EstimateCosts = lambda _, costs: costs.for_other_learner()
    tries_own: bool = True
    seconds: float = 0.0
    contenders: list[Contender] = field(default_factory=list)
    _suggester: FrugalSuggester | None = None
    _known: dict[Hashable, Contender] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = self.estimator.get_params() if hasattr(self.estimator, "get_params") else {}
        self._own_values = {name: own[name] for name in self.space.parameters if name in own}
        self._random = check_random_state(self.seed)
        # First those of the user, then the cheapest, then a portfolio.
        cheap = [self.space.complete({}, self._random)] if self.space.parameters else []
        self.starts = [*self.starts, *cheap, *self.space.portfolio]

    @property
    def is_out(self) -> bool:
        """Whether nothing but failures came of its first hyperparameters."""
        first = self.contenders[:_MAX_FAILURES]
        is_sure = len(first) == _MAX_FAILURES or not self.space.parameters
        return is_sure and all(one.failure is not None for one in first)

    @property
    def has_others(self) -> bool:
        """Whether there are hyperparameters besides the learner's own."""
        return bool(self.space.parameters or self.starts) or len(self.contenders) > 1

    def suggest(self, count_steps: CountSteps) -> Settings | None:
        """Return new hyperparameters to try, with as many steps as the time allows; None if there are no more."""
        known = (one for one in self._list_next(count_steps) if not self._find(one) and not self._is_bound_to_fail(one))
        return next(known, None)

    def _list_next(self, count_steps: CountSteps) -> Iterator[Settings]:
        """Yield hyperparameters to begin with, then a portfolio, then suggestions, and at last draws at random."""
        while self.starts:
            settings = dict(self.starts.pop(0))
            is_given = len(self.starts) >= len(self.space.portfolio)
            yield settings if is_given else self._fit_to_time(settings, count_steps)
        if not self.space.parameters:
            return
        if self._suggester is None:
            self._suggester = self._make_suggester()
        for _ in range(_MAX_REPEATS):
            if (asked := self._suggester.ask()) is not None:
                yield asked
                # They were not taken: their score is known, or they would fail.
                known = self._find(asked)
                self._suggester.tell(asked, None if known is None else known.promise)
        yield from (self.space.sample(self._random) for _ in range(_MAX_DRAWS))

    def _make_suggester(self) -> FrugalSuggester:
        """Return a search near the best hyperparameters so far; where they are not in the space, near the nearest."""
        known = [one for one in self.contenders if math.isfinite(one.promise)]
        if not known:
            return FrugalSuggester(self.space, self._random)
        best = max(known, key=lambda one: (one.n_rows, one.promise))
        start = self._complete(best.settings)
        is_whole = start.keys() >= self.space.parameters.keys() and make_key(start) == make_key(self.space.clip(start))
        return FrugalSuggester(self.space, self._random, start, best.promise if is_whole else None)

    def _fit_to_time(self, settings: Settings, count_steps: CountSteps) -> Settings:
        known = [one for one in self.contenders if one.is_alive and one.n_steps]
        if not known:
            return settings
        reference = max(known, key=lambda one: one.n_rows)
        own, new = (count_leaves(self._complete(values)) for values in (reference.settings, settings))
        return self.space.limit_steps(settings, count_steps(reference, new / own if own and new else 1.0))

    def _find(self, settings: Settings) -> Contender | None:
        """Return the contender that has these hyperparameters, in other words perhaps."""
        return self._known.get(make_key(self._complete(settings)))

    def _complete(self, settings: Settings) -> Settings:
        return {**self._own_values, **settings}

    def _is_bound_to_fail(self, settings: Settings) -> bool:
        """Whether every candidate with one or two of these values failed, and these were several."""
        tried = [(self._list_choices(one.settings), one.has_raised) for one in self.contenders]
        for n_shared, limit in _MAX_FAILURES_OF_VALUES.items():
            for shared in combinations(self._list_choices(settings), n_shared):
                failures = [has_raised for values, has_raised in tried if values.issuperset(shared)]
                if len(failures) >= limit and all(failures):
                    return True
        return False

    def _list_choices(self, settings: Settings) -> set[Hashable]:
        names = [name for name, one in self.space.parameters.items() if isinstance(one, Choice)]
        complete = self._complete(settings)
        return {make_key({name: complete[name]}) for name in names if name in complete}

    def make_contender(self, number: int, settings: Settings, costs: CostEstimates) -> Contender:
        """Return a contender with these hyperparameters; one that the learner refuses is out at once."""
        estimator, failure = clone(self.estimator, safe=False), None
        try:
            if settings:
                estimator.set_params(**settings)
        except Exception as error:  # a learner's own checks may raise anything
            failure = f"{type(error).__name__}: {error}"
        costs = self.estimate_costs(estimator, costs)
        contender = Contender(number, estimator, costs, not settings, self.number, settings, failure=failure)
        self.contenders.append(contender)
        self._known[make_key(self._complete(settings))] = contender
        return contender

    def begin_again(self) -> None:
        """Search near the best candidate, with its score of now."""
        self._suggester = None

    def tell(self, contender: Contender, seconds: float) -> None:
        """Take note of a trial of a candidate, and of the score that it should reach."""
        self.seconds += seconds
        if self._suggester is not None:
            self._suggester.tell(contender.settings, contender.promise)
