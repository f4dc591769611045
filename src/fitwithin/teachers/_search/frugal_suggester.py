"""Cost-frugal search: settings near the best ones so far, from cheap settings up.

FLOW2 of Wu, Wang and Huang ("Frugal Optimization for Cost-related Hyperparameters", AAAI 2021): try a random direction
and then its opposite, and move when the score improves. Since a step is short, settings become costly only along a path
of improvements. Without them steps become shorter, and at last the search restarts near the cheap settings.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from fitwithin.teachers._search.space import Settings, Space, make_key, make_movable

# The length of a step, as times the root of the number of parameters, each of which goes from 0 to 1
_FIRST_STEP = 0.1
_LEAST_STEP = 0.01
_SHRINKAGE = 0.5  # of a step, after two trials a parameter without a better score

Point = npt.NDArray[np.float64]


class FrugalSuggester:
    """Settings near the best ones so far, from cheap settings up: ask for settings, fit, tell the score.

    Several settings may be asked for before the score of the first one is told.
    The same seed and the same scores give the same settings.

    Parameters
    ----------
    space : Space
        Settings that may be tried.
    seed : int or RandomState
        Seed of all draws.
    start : mapping of str to Any, optional
        Settings to begin near, all or some of them; default: the cheap ones, near which all restarts are.
    score : float, optional
        Their score, if they are in the space: then they are not suggested.

    Examples
    --------
    >>> from fitwithin.teachers._search.space import IntRange
    >>> suggester = FrugalSuggester(Space({"depth": IntRange(1, 9)}, cheap={"depth": 1}), seed=0)
    >>> settings = suggester.ask()
    >>> settings
    {'depth': 1}
    >>> suggester.tell(settings, score=0.8)
    """

    def __init__(self, space: Space, seed: Any, start: Settings | None = None, score: float | None = None) -> None:
        self._random = check_random_state(seed)
        cheap = space.complete({}, self._random)
        self._parameters = {name: make_movable(one, self._random) for name, one in space.parameters.items()}
        self._size = math.sqrt(len(self._parameters))
        self._cheap = self._encode(cheap)
        self._pending: dict[Hashable, tuple[Point, Point | None]] = {}
        self._begin(self._encode({**cheap, **(start or {})}), score)

    def _begin(self, point: Point, score: float | None = None) -> None:
        self._best, self._score = point, -math.inf if score is None else score
        self._step, self._n_failed = _FIRST_STEP * self._size, 0
        # Points to try before a new direction
        self._next = [point] if score is None else []

    def ask(self) -> Settings | None:
        """Return settings, perhaps some that were returned before; None if their score is awaited."""
        opposite = None
        if self._next:
            point = self._next.pop(0)
        else:
            direction = self._random.normal(size=len(self._parameters))
            step = self._step * direction / np.linalg.norm(direction)
            point, opposite = self._best + step, self._best - step
        settings = self._decode(point)
        if make_key(settings) in self._pending:
            return None
        self._pending[make_key(settings)] = point, opposite
        return settings

    def tell(self, settings: Mapping[str, Any], score: float | None) -> None:
        """Take note of the score of settings that were asked for; others change nothing.

        Parameters
        ----------
        settings : mapping of str to Any
            As returned by `ask`.
        score : float or None
            Higher is better. None, or not a finite number: the fit failed.
        """
        point, opposite = self._pending.pop(make_key(settings), (None, None))
        if point is None:
            return
        if score is not None and math.isfinite(score) and score > self._score:
            self._best, self._score, self._n_failed, self._next = np.clip(point, 0, 1), score, 0, []
            return
        self._n_failed += 1
        if opposite is not None:
            self._next.append(opposite)
        if self._n_failed >= 2 * len(self._parameters):
            self._step, self._n_failed = _SHRINKAGE * self._step, 0
        if self._step < _LEAST_STEP * self._size:
            self._begin(self._cheap + _FIRST_STEP * self._random.normal(size=len(self._parameters)))

    def _encode(self, settings: Mapping[str, Any]) -> Point:
        return np.array([one.find_place(settings[name]) for name, one in self._parameters.items()])

    def _decode(self, point: Point) -> Settings:
        parameters = zip(self._parameters.items(), point.tolist(), strict=True)
        return {name: one.find_value(place) for (name, one), place in parameters}
