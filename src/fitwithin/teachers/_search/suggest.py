"""Suggestion of settings: the protocol, draws at random, and the choice of a suggester."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from fitwithin.teachers._search.space import Settings, Space


class Suggester(Protocol):
    """Source of settings to try next: ask for settings, fit, tell the score.

    Several settings may be asked for before the score of the first one is told.
    The same seed and the same scores give the same settings.
    """

    def ask(self) -> Settings | None:
        """Return settings, perhaps some that were returned before; None if it would repeat itself."""
        ...

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Take note of the score of settings that were asked for.

        Parameters
        ----------
        settings : mapping of str to Any
            As returned by `ask`. Settings that came from elsewhere, or were told before, change nothing.
        score : float or None
            Higher is better. None, or not a finite number: the fit failed.
        seconds : float
            Time of the fit.
        """
        ...


class RandomSuggester:
    """Settings drawn at random, after the cheap ones of the space.

    Parameters
    ----------
    space : Space
        Settings that may be tried.
    seed : int or RandomState
        Seed of all draws.

    Examples
    --------
    >>> from fitwithin.teachers._search.parameters import Choice
    >>> RandomSuggester(Space({"depth": Choice((1, 2, 3))}, cheap={"depth": 1}), seed=0).ask()
    {'depth': 1}
    """

    def __init__(self, space: Space, seed: int | np.random.RandomState) -> None:
        self._space = space
        self._random = check_random_state(seed)
        self._next: Settings | None = space.complete({}, self._random)

    def ask(self) -> Settings:
        """Return the cheap settings, then draws."""
        settings, self._next = self._next or self._space.sample(self._random), None
        return settings

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Ignore the score: draws do not depend on it."""


def make_suggester(
    space: Space,
    seed: int | np.random.RandomState,
    start: Mapping[str, Any] | None = None,
    start_score: float | None = None,
) -> Suggester:
    """Return the best suggester that is installed.

    Parameters
    ----------
    space : Space
        Settings that may be tried.
    seed : int or RandomState
        Seed of all draws.
    start : mapping of str to Any, optional
        Settings to begin near, all or some of them; default: the cheap ones of the space.
    start_score : float, optional
        Their score, if it is known; then they are not suggested.

    Returns
    -------
    Suggester
        FLAML's cost-frugal search if `flaml` is installed and the space has more than one setting, else random search.

    Examples
    --------
    >>> from fitwithin.teachers._search.parameters import Choice
    >>> make_suggester(Space({"alpha": Choice((0.1,))}), seed=0).ask()
    {'alpha': 0.1}
    """
    is_constant = all(getattr(parameter, "is_constant", False) for parameter in space.parameters.values())
    if is_constant or find_spec("flaml") is None:
        return RandomSuggester(space, seed)
    from fitwithin.teachers._search.frugal_suggester import FrugalSuggester

    return FrugalSuggester(space, seed, start, start_score)
