"""The seeds of a fit, all drawn from the estimator's `random_state`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

MAX_SEED = 2**31 - 1
"""Largest seed that every random generator takes."""

RandomState = int | np.random.RandomState | None
"""The estimator's parameter `random_state`."""


@dataclass(frozen=True, eq=False)
class FitSeeds:
    """Seeds of a fit.

    Parameters
    ----------
    learner : int or None
        For learners that use the global random state; None if the user set no random state.
    scoring : int
        One for all models of a fit, so that intervals from resamples do not differ by chance.
    rng : numpy.random.Generator
        For every choice of rows.
    """

    learner: int | None
    scoring: int
    rng: np.random.Generator

    @classmethod
    def draw(cls, random_state: RandomState, learner: Any) -> Self:
        """Draw the seeds; with a random state, also for every `random_state` of the learner that is None."""
        random = check_random_state(random_state)
        seed = None if random_state is None else int(random.randint(MAX_SEED))
        if seed is not None:
            fill_random_states(learner, random)
        scoring = int(random.randint(MAX_SEED)) if seed is None else seed
        return cls(seed, scoring, np.random.default_rng(random.randint(MAX_SEED)))


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Set every `random_state` of the learner and its parts that is None."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(MAX_SEED)) for name in unset})
