"""Cost-frugal search: FLAML's CFO behind ask and tell.

CFO (Wu, Wang and Huang, "Frugal Optimization for Cost-related Hyperparameters", AAAI 2021) begins at cheap
settings, tries a random direction and then its opposite, and moves when the score improves. Since a step is short,
settings become costly only along a path of improvements. It restarts near the cheap settings when it has converged.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fitwithin.teachers._search.parameters import (
    Choice,
    FloatRange,
    IntRange,
    Parameter,
    is_number,
    make_key,
    to_python,
)
from fitwithin.teachers._search.space import Settings, Space

N_DRAWN_VALUES = 64
"""Values that stand for a distribution, in which CFO could not move."""


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
    start_score : float, optional
        Their score, so that they are not suggested.

    Examples
    --------
    >>> space = Space({"depth": IntRange(1, 9)}, cheap={"depth": 1})
    >>> suggester = FrugalSuggester(space, seed=0)  # doctest: +SKIP
    >>> settings = suggester.ask()  # doctest: +SKIP
    >>> suggester.tell(settings, score=0.8, seconds=1.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        space: Space,
        seed: int | np.random.RandomState,
        start: Mapping[str, Any] | None = None,
        start_score: float | None = None,
    ) -> None:
        random = check_random_state(seed)
        cheap = space.complete({}, random)
        # FLAML gives the slash a meaning, and names of steps may have one.
        self._parameters = [
            (name, f"p{number}", _make_movable(one, random))
            for number, (name, one) in enumerate(space.parameters.items())
        ]
        self._pending: dict[Hashable, tuple[str, dict[str, Any]]] = {}
        self._n_trials = 0
        self._cfo = _import_flaml().CFO(
            metric="score",
            mode="max",
            space={short: _make_domain(one) for _, short, one in self._parameters},
            low_cost_partial_config=self._encode(cheap),
            points_to_evaluate=[self._encode({**cheap, **(start or {})})],
            evaluated_rewards=None if start_score is None else [start_score],
            cost_attr="seconds",
            seed=int(random.randint(2**31)),
        )

    def ask(self) -> Settings | None:
        """Return settings, perhaps some that were returned before; None where CFO would repeat itself."""
        self._n_trials += 1
        trial = str(self._n_trials)
        point = self._cfo.suggest(trial)
        if point is None:
            return None
        settings = self._decode(point)
        if make_key(settings) in self._pending:
            # Two points of CFO may stand for the same settings.
            self._cfo.on_trial_complete(trial, error=True)
            return None
        self._pending[make_key(settings)] = (trial, point)
        return settings

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Take note of the score of settings that were asked for; others change nothing.

        Parameters
        ----------
        settings : mapping of str to Any
            As returned by `ask`.
        score : float or None
            Higher is better. None, or not a finite number: the fit failed.
        seconds : float
            Time of the fit.
        """
        trial, point = self._pending.pop(make_key(settings), (None, {}))
        if trial is None:
            return
        if score is None or not math.isfinite(score):
            self._cfo.on_trial_complete(trial, error=True)
        else:
            self._cfo.on_trial_complete(trial, {"score": float(score), "seconds": float(seconds), "config": point})

    def _encode(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        # CFO gets the indices of a choice, so that it never looks into values: it takes dicts for spaces of their own.
        values = {short: (one, one.nearest(settings[name])) for name, short, one in self._parameters}
        return {short: one.find(value) if isinstance(one, Choice) else value for short, (one, value) in values.items()}

    def _decode(self, point: Mapping[str, Any]) -> Settings:
        return {
            name: one.values[int(point[short])] if isinstance(one, Choice) else one.nearest(point[short])
            for name, short, one in self._parameters
        }


def _make_movable(parameter: Parameter, random: np.random.RandomState) -> Choice | FloatRange:
    """Return the parameter, or draws in place of a distribution."""
    if isinstance(parameter, Choice | FloatRange):
        return parameter
    values = [to_python(parameter.rvs(random_state=random)) for _ in range(N_DRAWN_VALUES)]
    return Choice(tuple(sorted(set(values)) if all(map(is_number, values)) else values))


def _make_domain(parameter: Choice | FloatRange) -> Any:
    """Return the domain of `flaml.tune` for a parameter, or its only value."""
    tune = _import_flaml().tune
    if isinstance(parameter, Choice):
        return tune.choice(list(range(len(parameter.values))), order=parameter.is_ordered)
    if parameter.low == parameter.high:
        return parameter.low
    if isinstance(parameter, IntRange):
        # The upper bound of FLAML's whole numbers is exclusive.
        return (tune.lograndint if parameter.log else tune.randint)(parameter.low, parameter.high + 1)
    return (tune.loguniform if parameter.log else tune.uniform)(parameter.low, parameter.high)


def _import_flaml() -> Any:
    """Import FLAML, which takes 0.2 s after scikit-learn."""
    with warnings.catch_warnings():
        # FLAML warns that its extra `automl` is missing, which is not needed here.
        warnings.simplefilter("ignore")
        return import_module("flaml")
