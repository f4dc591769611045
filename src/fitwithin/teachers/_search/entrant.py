"""A learner in a search: its space, and who suggests settings of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from fitwithin._core.candidate import Candidate
from fitwithin._core.cost import CostEstimates
from fitwithin.teachers._search.contender import Contender, find_best
from fitwithin.teachers._search.space import Settings, Space
from fitwithin.teachers._search.suggest import Suggester, make_suggester

FindEarlyStopping = Callable[[Any], tuple[bool, bool]]
"""Whether a learner can be told to stop early, and whether it knows the number of its steps."""

# Failures in a row, from the first setting on, after which a learner is out.
_MAX_FAILURES = 4


class Entrant:
    """A learner of a search, and its settings so far.

    Parameters
    ----------
    number : int
        Its place among the learners.
    estimator : estimator
        The learner with its own hyperparameters, not fitted.
    space : Space or None
        Settings that may be tried; None for its own ones alone.
    starts : list of dict
        Settings to try first.
    seed : int
        Seed of the suggestions.

    Attributes
    ----------
    seconds : float
        Seconds of its trials on the current subset.
    contenders : list of Contender
        Its settings so far; the first one is the learner's own.
    """

    def __init__(self, number: int, estimator: Any, space: Space | None, starts: list[Settings], seed: int) -> None:
        self.number = number
        self.estimator = estimator
        self.space = space
        self.seconds = 0.0
        self.contenders: list[Contender] = []
        self.is_out = False
        own = estimator.get_params() if hasattr(estimator, "get_params") else {}
        self._own_values = {name: own[name] for name in (() if space is None else space.parameters) if name in own}
        self._starts = [*starts, *(() if space is None else space.ladder)]
        self._seed = seed
        self._suggester: Suggester | None = None

    @property
    def has_ladder_left(self) -> bool:
        """Whether settings to begin with were not tried yet."""
        return bool(self._starts)

    @property
    def has_fast_ladder(self) -> bool:
        """Whether the first settings to begin with may be faster than the learner's own: they say how many steps."""
        if self.space is None or not self._starts or self._starts[0] not in self.space.ladder[:1]:
            return False
        return self.space.steps is None or self.space.steps in self._starts[0]

    def renew_suggester(self) -> None:
        """Begin to suggest anew, near the best settings then."""
        self._suggester = None

    def suggest(self, n_rows: int) -> Settings | None:
        """Return settings to try next; None if there are no more.

        Parameters
        ----------
        n_rows : int
            Rows of the trials that tell which settings are the best so far.
        """
        if self._starts:
            return dict(self._starts.pop(0))
        if self.space is None:
            return None
        if self._suggester is None:
            self._seed += 1
            self._suggester = make_suggester(self.space, self._seed, self._find_start(self.space, n_rows))
        return self._suggester.ask()

    def _find_start(self, space: Space, n_rows: int) -> Settings | None:
        """Return the settings to begin with: the best so far, or the cheapest if nothing is known to be good."""
        best = self.find_best(n_rows)
        if best is None or not (space.ladder or best.settings):
            return None
        # The learner's own values may be None, or text such as "sqrt", which no search can move from.
        settings = best.settings or {name: value for name, value in self._own_values.items() if _is_number(value)}
        return {name: value for name, value in settings.items() if name in space.parameters}

    def find_best(self, n_rows: int) -> Contender | None:
        """Return the contender with the best score on this number of rows; None if none was tried on that number."""
        return find_best(self.contenders, n_rows)

    def make_contender(
        self, number: int, settings: Settings, costs: CostEstimates, find_early_stopping: FindEarlyStopping
    ) -> Contender:
        """Return a contender with these settings; one that the learner refuses is out at once."""
        estimator, failure = clone(self.estimator, safe=False), None
        try:
            if settings:
                estimator.set_params(**settings)
        except Exception as error:  # a learner's own checks may raise anything
            failure = f"{type(error).__name__}: {error}"
        can_stop_early, knows_steps = find_early_stopping(estimator)
        own = costs.for_other_learner(can_stop_early=can_stop_early, knows_steps=knows_steps)
        candidate = Candidate(number, estimator, own, has_own_settings=not settings)
        contender = Contender(candidate, self.number, settings, failure=failure)
        self.contenders.append(contender)
        return contender

    def find_contender(self, settings: Settings) -> Contender | None:
        """Return the contender that has these settings already, in other words perhaps."""
        return next((one for one in self.contenders if self._complete(one.settings) == self._complete(settings)), None)

    def _complete(self, settings: Settings) -> Settings:
        """Return settings with the learner's own values of the other parameters in the space."""
        return {**self._own_values, **settings}

    def tell_known(self, settings: Settings, known: Contender) -> None:
        """Tell the suggester what is known about settings that it suggests again."""
        last = known.last
        if self._suggester is not None:
            score = None if known.failure is not None or last is None else last.score.value
            self._suggester.tell(settings, score, known.seconds)

    def tell(self, contender: Contender, seconds: float) -> None:
        """Note the result of the last trial of a contender."""
        self.seconds += seconds
        contender.seconds += seconds
        failed = contender.failure is not None
        if self._suggester is not None and contender.settings:
            last = contender.last
            self._suggester.tell(contender.settings, None if failed or last is None else last.score.value, seconds)
        so_far = self.contenders[:_MAX_FAILURES]
        all_failed = all(one.failure is not None for one in so_far)
        self.is_out = all_failed and (len(so_far) == _MAX_FAILURES or self.space is None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
