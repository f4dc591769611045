"""Random search, as scikit-learn's ParameterSampler does it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fitwithin.teachers._search.space import Settings, Space

MAX_LISTED_SETTINGS = 4096
"""Largest space that is listed and shuffled, so that each of its settings comes once."""

MAX_DRAWS = 100
"""Draws in a larger space until one is new; a space that fails them has almost nothing left."""


class AskedSettings:
    """Settings that were asked for, to return none of them twice.

    Examples
    --------
    >>> asked = AskedSettings()
    >>> asked.add({"max_features": 1}), asked.add({"max_features": 1.0}), asked.add({"max_features": 1})
    (True, True, False)
    """

    def __init__(self) -> None:
        self._keys: set[Hashable] = set()

    def add(self, settings: Mapping[str, Any]) -> bool:
        """Add settings, and return whether they were new."""
        key = make_key(settings)
        is_new = key not in self._keys
        self._keys.add(key)
        return is_new


def make_key(settings: Mapping[str, Any]) -> Hashable:
    """Return a hashable form of settings; 1, 1.0 and True are different values."""
    return tuple((name, _make_value_key(settings[name])) for name in sorted(settings))


def _make_value_key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return (type(value), repr(value))
    return (type(value), value)


class RandomSuggester:
    """Settings drawn at random, after those to begin with.

    Parameters
    ----------
    space : Space
        Settings that may be tried.
    seed : int
        Seed of all draws.
    start : mapping of str to Any, optional
        Settings to begin with; default: the cheap ones of the space, if it has any.
    asked : AskedSettings, optional
        Settings that are not returned; grows with each one that is.

    Examples
    --------
    >>> from fitwithin.teachers._search.space import Choice
    >>> suggester = RandomSuggester(Space({"depth": Choice((1, 2, 3))}, cheap={"depth": 1}), seed=0)
    >>> [suggester.ask() for _ in range(4)]
    [{'depth': 1}, {'depth': ...}, {'depth': ...}, None]
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        start: Mapping[str, Any] | None = None,
        asked: AskedSettings | None = None,
    ) -> None:
        space.validate_start(start or {})
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._asked = AskedSettings() if asked is None else asked
        self._next: deque[Settings] = deque()
        if start or space.cheap:
            self._next.append(space.complete(start or {}, self._rng))
        self._is_listed = space.n_settings <= MAX_LISTED_SETTINGS
        if self._is_listed:
            settings = list(space.list_settings())
            self._next.extend(settings[index] for index in self._rng.permutation(len(settings)))

    def ask(self) -> Settings | None:
        """Return new settings, or None if none were found."""
        while self._next:
            settings = self._next.popleft()
            if self._asked.add(settings):
                return settings
        return None if self._is_listed else self._draw()

    def _draw(self) -> Settings | None:
        for _ in range(MAX_DRAWS):
            settings = self._space.sample(self._rng)
            if self._asked.add(settings):
                return settings
        return None

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Ignore the score: draws do not depend on it."""
