"""The simulated clock: assumption (ii) of the paper, m^k f(m) for training on m examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fitwithin._research.theory.arrays import Floats
from fitwithin._research.theory.schedule import Schedule

# Each is non-decreasing with f(cm) <= c f(m) for c >= 1, which is what the proof takes from "sublinear".
GROWTHS: dict[str, Callable[[Floats], Floats]] = {
    "1": np.ones_like,
    "1 + ln m": lambda m: 1 + np.log(m),
    "sqrt m": np.sqrt,
}


@dataclass(frozen=True)
class LearnerTime:
    """Simulated time of a learner: m^k f(m) for m examples. Everything else takes no time.

    Parameters
    ----------
    k : int
        The power.
    growth : str, default="1"
        The factor f, a key of `GROWTHS`.

    Examples
    --------
    >>> clock = LearnerTime(k=2)
    >>> clock.of([1, 3, 7]).tolist()
    [1.0, 9.0, 49.0]
    >>> clock.after(Schedule(alpha=0.1, rounds=3)).tolist()
    [1.0, 10.0, 59.0]
    """

    k: int
    growth: str = "1"

    def of(self, examples: ArrayLike) -> Floats:
        """Time of one training, for each number of examples."""
        m = np.asarray(examples, dtype=np.float64)
        return m**self.k * GROWTHS[self.growth](m)

    def after(self, schedule: Schedule) -> Floats:
        """Time at which each round of TCTBase has its hypothesis."""
        return np.cumsum(self.of(schedule.examples))


def overhead_bound(alpha: float, k: int) -> float:
    """Theorem 1's factor on the time of TBatch, 2 (2 / (1 - alpha))^(k + 1).

    Examples
    --------
    >>> overhead_bound(0.0, k=1), overhead_bound(0.5, k=1)
    (8.0, 32.0)
    """
    return float(2 * (2 / (1 - alpha)) ** (k + 1))
