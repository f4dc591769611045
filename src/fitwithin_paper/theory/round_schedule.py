"""Sample sizes of TCTBase (the paper's Algorithm 2) in each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Rounding = Literal["down", "nearest", "up"]


_ROUNDING_FUNCTIONS = {"down": np.floor, "nearest": np.rint, "up": np.ceil}


@dataclass(frozen=True)
class RoundSchedule:
    """Sample sizes of TCTBase's rounds.

    The paper starts with one example in S_0. Its first round, i = 1, trains on S_1, which the paper does
    not define; we read S_1 = S_0. Round i then trains on 2^i - 1 examples and adds 2^i. After 20 rounds
    there are 2^21 - 1 examples, the number in the paper's appendix.

    Parameters
    ----------
    alpha : float
        Share of the new examples that the last hypothesis gets wrong, in [0, 1).
    n_rounds : int
        Number of rounds, at least one.
    rounding : {"down", "nearest", "up"}, default="down"
        How to round alpha * 2^i to whole examples. "down" keeps the unbiased share at 1 - alpha or more,
        as the paper's proofs require.

    Examples
    --------
    >>> schedule = RoundSchedule(alpha=0.4, n_rounds=4)
    >>> schedule.n_examples.tolist(), schedule.n_mistakes_added.tolist(), schedule.n_unbiased.tolist()
    ([1, 3, 7, 15], [0, 1, 3, 6], [1, 3, 6, 11])
    """

    alpha: float
    n_rounds: int
    rounding: Rounding = "down"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise ValueError(f"Got alpha={self.alpha!r}; the share of mistakes must be in [0, 1).")
        if self.n_rounds < 1:
            raise ValueError(f"Got n_rounds={self.n_rounds!r}; it must be at least 1.")
        if self.rounding not in _ROUNDING_FUNCTIONS:
            raise ValueError(f"Got rounding={self.rounding!r}; it must be one of {', '.join(_ROUNDING_FUNCTIONS)}.")

    @property
    def n_added(self) -> NDArray[np.int64]:
        """Number of examples that each round adds, 2^i."""
        return np.int64(2) ** np.arange(1, self.n_rounds + 1)

    @property
    def n_mistakes_added(self) -> NDArray[np.int64]:
        """Number of added examples that the round's hypothesis gets wrong."""
        return np.asarray(_ROUNDING_FUNCTIONS[self.rounding](self.alpha * self.n_added), dtype=np.int64)

    @property
    def n_examples(self) -> NDArray[np.int64]:
        """Number of examples that each round trains on."""
        return self.n_added - 1

    @property
    def n_unbiased(self) -> NDArray[np.int64]:
        """Number of training examples that were drawn independently of any hypothesis."""
        earlier = np.cumsum(self.n_mistakes_added) - self.n_mistakes_added
        return self.n_examples - earlier
