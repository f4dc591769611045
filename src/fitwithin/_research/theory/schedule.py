"""How many examples TCTBase adds in each round: Algorithm 2 without the examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fitwithin._research.theory.arrays import Ints

Rounding = Literal["down", "nearest", "up"]


_ROUND = {"down": np.floor, "nearest": np.rint, "up": np.ceil}


@dataclass(frozen=True)
class Schedule:
    """The sizes of TCTBase's rounds.

    The paper starts with one example in S_0, and its first round, i = 1, trains on S_1, which it does
    not define. We read S_1 = S_0. Round i then trains on 2^i - 1 examples and adds 2^i, and after 20
    rounds there are 2^21 - 1, the number that the paper's appendix gives.

    Parameters
    ----------
    alpha : float
        Share of the new examples that the last hypothesis gets wrong, in [0, 1).
    rounds : int
        Rounds to run, at least one.
    rounding : {"down", "nearest", "up"}, default="down"
        Of alpha * 2^i to whole examples. Down keeps the unbiased share at 1 - alpha or more, as the
        proofs of the paper need it.

    Examples
    --------
    >>> schedule = Schedule(alpha=0.4, rounds=4)
    >>> schedule.examples.tolist(), schedule.mistakes_added.tolist(), schedule.unbiased.tolist()
    ([1, 3, 7, 15], [0, 1, 3, 6], [1, 3, 6, 11])
    """

    alpha: float
    rounds: int
    rounding: Rounding = "down"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise ValueError(f"alpha must be in [0, 1), the share of mistakes; got {self.alpha!r}.")
        if self.rounds < 1:
            raise ValueError(f"rounds must be at least 1; got {self.rounds!r}.")
        if self.rounding not in _ROUND:
            raise ValueError(f"rounding must be one of {', '.join(_ROUND)}; got {self.rounding!r}.")

    @property
    def added(self) -> Ints:
        """New examples of each round, 2^i."""
        return np.int64(2) ** np.arange(1, self.rounds + 1)

    @property
    def mistakes_added(self) -> Ints:
        """New examples of each round that its hypothesis gets wrong."""
        return np.asarray(_ROUND[self.rounding](self.alpha * self.added), dtype=np.int64)

    @property
    def examples(self) -> Ints:
        """Examples that each round trains on."""
        return self.added - 1

    @property
    def unbiased(self) -> Ints:
        """Those of them that were drawn without looking at a hypothesis."""
        earlier = np.cumsum(self.mistakes_added) - self.mistakes_added
        return self.examples - earlier
