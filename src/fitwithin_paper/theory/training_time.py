"""Simulated training time: assumption (ii) of the paper, m^k f(m) for m examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitwithin_paper.theory.round_schedule import RoundSchedule

# Each factor is non-decreasing with f(cm) <= c f(m) for c >= 1: the proof's reading of "sublinear".
GROWTH_FACTORS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "1": np.ones_like,
    "1 + ln m": lambda m: 1 + np.log(m),
    "sqrt m": np.sqrt,
}


@dataclass(frozen=True)
class TrainingTime:
    """Simulated training time of a learner: m^k f(m) for m examples. Nothing else takes time.

    Parameters
    ----------
    k : int
        Exponent.
    growth : str, default="1"
        The factor f, a key of `GROWTH_FACTORS`.

    Examples
    --------
    >>> training_time = TrainingTime(k=2)
    >>> training_time.of_training([1, 3, 7]).tolist()
    [1.0, 9.0, 49.0]
    >>> training_time.after_rounds(RoundSchedule(alpha=0.1, n_rounds=3)).tolist()
    [1.0, 10.0, 59.0]
    """

    k: int
    growth: str = "1"

    def of_training(self, n_examples: ArrayLike) -> NDArray[np.float64]:
        """Return the time of one training, for each number of examples."""
        m = np.asarray(n_examples, dtype=np.float64)
        return m**self.k * GROWTH_FACTORS[self.growth](m)

    def after_rounds(self, schedule: RoundSchedule) -> NDArray[np.float64]:
        """Return the time at which each round of TCTBase has its hypothesis."""
        return np.cumsum(self.of_training(schedule.n_examples))
