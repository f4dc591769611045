"""Cost-frugal search: FLAML's CFO behind ask and tell.

CFO (Wu, Wang and Huang, "Frugal Optimization for Cost-related Hyperparameters", AAAI 2021) begins at cheap
settings, tries a random direction and then its opposite, and moves when the score improves. Since a step is short,
settings become costly only along a path of improvements. It restarts near the cheap settings when it has converged.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from fitwithin.teachers._search.random_suggester import AskedSettings, RandomSuggester, make_key
from fitwithin.teachers._search.space import (
    Choice,
    Distribution,
    FloatRange,
    IntRange,
    Parameter,
    Settings,
    Space,
)

MAX_SUGGESTIONS = 50
"""Calls of CFO until one gives new settings; it answers None where it would repeat itself, and restarts at last."""

N_DRAWN_VALUES = 64
"""Values that stand for a distribution without quantiles, in which CFO could not move."""

_TAIL = 0.001
"""Quantiles stay this far from 0 and 1, where a value may be infinite."""


class FrugalSuggester:
    """Settings near the best ones so far, from cheap settings up.

    Parameters
    ----------
    space : Space
        Settings that may be tried; more than one.
    seed : int
        Seed of all draws.
    start : mapping of str to Any, optional
        Settings to begin with; default: the cheap ones of the space. Restarts are always near the cheap ones.
    start_score : float, optional
        Their score, if it is known; then they are not suggested.

    Examples
    --------
    >>> space = Space({"depth": IntRange(1, 9)}, cheap={"depth": 1})
    >>> suggester = FrugalSuggester(space, seed=0)  # doctest: +SKIP
    >>> settings = suggester.ask()  # doctest: +SKIP
    >>> suggester.tell(settings, score=0.8, seconds=1.0)  # doctest: +SKIP
    """

    def __init__(
        self, space: Space, seed: int, start: Mapping[str, Any] | None = None, start_score: float | None = None
    ) -> None:
        space.validate_start(start or {})
        rng = np.random.default_rng(seed)
        cheap = space.complete({}, rng)
        self._axes = {
            name: make_axis(parameter, rng) for name, parameter in space.parameters.items() if not parameter.is_constant
        }
        self._constants = {
            name: parameter.sample(rng) for name, parameter in space.parameters.items() if parameter.is_constant
        }
        self._asked = AskedSettings()
        self._random = RandomSuggester(space, seed, asked=self._asked)
        first = {**cheap, **start} if start else cheap
        self._start: Settings | None = first if start_score is None else None
        self._pending: dict[Hashable, tuple[str, dict[str, Any]]] = {}
        self._n_trials = 0
        self._cfo = _import_flaml().CFO(
            metric="score",
            mode="max",
            space={_make_name(i): axis.domain for i, axis in enumerate(self._axes.values())},
            low_cost_partial_config=self._encode(cheap),
            points_to_evaluate=[self._encode(first)],
            evaluated_rewards=None if start_score is None else [start_score],
            cost_attr="seconds",
            seed=int(rng.integers(2**31)),
        )

    def ask(self) -> Settings | None:
        """Return new settings, or None if none were found."""
        for _ in range(MAX_SUGGESTIONS):
            self._n_trials += 1
            trial = str(self._n_trials)
            point = self._cfo.suggest(trial)
            if point is None:
                continue
            settings = self._decode(point)
            if not self._asked.add(settings):
                # Two points of CFO may stand for the same settings.
                self._cfo.on_trial_complete(trial, error=True)
                continue
            self._pending[make_key(settings)] = (trial, point)
            return settings
        # CFO walks in circles: a small space is tried to its end, a large one gets a fresh draw.
        return self._random.ask()

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Take note of the score; see `Suggester`."""
        trial, point = self._pending.pop(make_key(settings), (None, {}))
        if trial is None:
            return
        if score is None or not math.isfinite(score):
            self._cfo.on_trial_complete(trial, error=True)
        else:
            self._cfo.on_trial_complete(trial, {"score": float(score), "seconds": float(seconds), "config": point})

    def _encode(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {_make_name(i): axis.encode(settings[name]) for i, (name, axis) in enumerate(self._axes.items())}

    def _decode(self, point: Mapping[str, Any]) -> Settings:
        if self._start is not None:
            # The first point is the start, whose values need not lie in the space.
            start, self._start = self._start, None
            return start
        moved = {name: axis.decode(point[_make_name(i)]) for i, (name, axis) in enumerate(self._axes.items())}
        return {**self._constants, **moved}


@dataclass(frozen=True)
class Axis:
    """A parameter as CFO sees it.

    Parameters
    ----------
    domain : object
        Domain of `flaml.tune`.
    encode, decode : callable
        From a value to its coordinate, and back.
    """

    domain: Any
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def make_axis(parameter: Parameter, rng: np.random.Generator) -> Axis:
    """Return the axis of a parameter that has more than one value."""
    tune = _import_flaml().tune
    if isinstance(parameter, Choice):
        return _make_choice_axis(parameter)
    if isinstance(parameter, IntRange):
        # The upper bound of FLAML's whole numbers is exclusive.
        make_int = tune.lograndint if parameter.log else tune.randint
        return Axis(make_int(parameter.low, parameter.high + 1), parameter.clip, parameter.clip)
    if isinstance(parameter, FloatRange):
        make_float = tune.loguniform if parameter.log else tune.uniform
        return Axis(make_float(parameter.low, parameter.high), parameter.clip, parameter.clip)
    if parameter.has_quantiles:
        return _make_quantile_axis(parameter)
    return _make_choice_axis(_draw_choice(parameter, rng))


def _make_choice_axis(choice: Choice) -> Axis:
    # CFO gets indices, so that it never looks into values: it takes dicts and lists for spaces of their own.
    indices = list(range(len(choice.values)))
    return Axis(
        _import_flaml().tune.choice(indices, order=choice.is_ordered),
        lambda value: _find_nearest(choice, value),
        lambda index: choice.values[int(index)],
    )


def _find_nearest(choice: Choice, value: Any) -> int:
    index = choice.find(value)
    if index is not None:
        return index
    if choice.is_ordered and isinstance(value, int | float):
        return int(np.argmin([abs(known - value) for known in choice.values]))
    return 0


def _make_quantile_axis(parameter: Distribution) -> Axis:
    bounds = FloatRange(_TAIL, 1 - _TAIL)
    return Axis(
        _import_flaml().tune.uniform(bounds.low, bounds.high),
        lambda value: bounds.clip(parameter.find_probability(value)),
        lambda probability: parameter.find_quantile(bounds.clip(probability)),
    )


def _draw_choice(parameter: Distribution, rng: np.random.Generator) -> Choice:
    values = [parameter.sample(rng) for _ in range(N_DRAWN_VALUES)]
    if all(isinstance(value, int | float) for value in values):
        values = sorted(set(values))
    return Choice(tuple(values))


def _make_name(index: int) -> str:
    """Name of a coordinate; names of steps may hold the slash that FLAML uses for itself."""
    return f"p{index}"


def _import_flaml() -> Any:
    """Import FLAML, which takes 0.2 s after scikit-learn."""
    with warnings.catch_warnings():
        # FLAML warns that its extra `automl` is missing, which is not needed here.
        warnings.simplefilter("ignore")
        return import_module("flaml")
