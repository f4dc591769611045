"""Costs of a learner that begin with those of an earlier fit, perhaps of another machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fitwithin._core.cost import CostModel, LearnerTraits
from fitwithin._core.fit_cost import FitCost

# Seconds of a fit from which on it tells whether the machine is the same: less is noise.
_MIN_TELLING_SECONDS = 0.03
# log(real / predicted) seconds of a fit that the same machine explains (benchmarks/tunnel/nights.py).
_MAX_NOISE = math.log(1.25)
# The same, from which on it is another machine.
_MIN_CHANGE = math.log(2)
# Of sizes that lie within this ratio, the newest is kept.
_SIZE_RATIO = 1.25
_MAX_RESIDUALS = 10
_BY_SIZE = ("setup_seconds", "step_seconds", "exam_seconds_per_row", "model_bytes", "save_and_load_seconds")


class _DoubtedFits(FitCost):
    """Fits of an earlier night, whose chances are those of sizes that only this night has seen until it confirms them.

    Attributes
    ----------
    rows_so_far : int or None
        Rows of the largest fit of this night; None once the earlier ones are confirmed.
    """

    rows_so_far: int | None = 1

    @property
    def largest_known_rows(self) -> int:
        """Rows of the largest observed fit that counts; 1 before the first."""
        return super().largest_known_rows if self.rows_so_far is None else self.rows_so_far


class ExperiencedCost(CostModel):
    """Predict a learner's seconds from those of an earlier fit, as long as the fits of this one confirm them.

    They are doubted until a fit that takes long enough to tell agrees with them. If one takes more than twice or less
    than half of the seconds, they are of another machine, and are forgotten.

    Parameters
    ----------
    observations : dict
        What `CostModel.observations` returned.
    traits : LearnerTraits, optional
        What is known of the learner besides.

    Examples
    --------
    >>> night = CostModel()
    >>> for rows in (1_000, 10_000):
    ...     night.observe_fit(rows, rows / 1_000)
    >>> cost = ExperiencedCost(night.observations())
    >>> cost.observe_fit(1_000, 1.1)
    >>> cost.fits.largest_known_rows
    10000
    >>> cost = ExperiencedCost(night.observations())
    >>> cost.observe_fit(1_000, 3.0)  # a slower machine
    >>> cost.fits.largest_known_rows
    1000
    """

    def __init__(self, observations: Mapping[str, Any], traits: LearnerTraits | None = None) -> None:
        super().__init__(traits)
        doubted = _DoubtedFits(self.traits.growth, self.traits.first_growing_share, self.traits.spread)
        self.fits: FitCost = doubted
        # None once they are confirmed or forgotten.
        self._doubted: _DoubtedFits | None = doubted
        # A first fit pays for what is paid once, so that it is compared with one of the same size.
        setup = dict(observations["setup_seconds"])
        self._near_seconds = {size: value + setup.get(size, 0.0) for size, value in observations["step_seconds"]}
        self.restore(observations)

    def observe_fit(
        self, rows: int, seconds: float, setup_seconds: float | None = None, *, is_guess: bool = False
    ) -> None:
        """Learn from a fit, and from the first ones whether the machine is the same."""
        if self._doubted is not None:
            if not is_guess:
                self._compare(rows, seconds)
            # The error of a prediction by another night says nothing about this one.
            is_guess = is_guess or self.fits.n_sizes > 0
        if self._doubted is not None:
            self._doubted.rows_so_far = max(rows, self._doubted.rows_so_far or 1)
        super().observe_fit(rows, seconds, setup_seconds, is_guess=is_guess)

    def _compare(self, rows: int, seconds: float) -> None:
        """Confirm the earlier seconds by a fit, or forget them if they are of another machine."""
        predicted = self._near_seconds.get(rows) or self.fits.seconds(rows)
        if min(seconds, predicted) <= _MIN_TELLING_SECONDS:
            return
        distance = abs(math.log(seconds / predicted))
        if distance <= _MAX_NOISE:
            if self._doubted is not None:
                self._doubted.rows_so_far = None
            self._doubted = None
        elif distance > _MIN_CHANGE:
            # Another machine: this fit goes on as one without experience.
            CostModel.__init__(self, self.traits)
            self._doubted = None


def thin_out(observations: Mapping[str, Any]) -> dict[str, Any]:
    """Return observations with the newest one of sizes that are close, which stay few however many fits there are.

    Examples
    --------
    >>> cost = CostModel()
    >>> for rows in (1_000, 10_000, 10_100):
    ...     cost.observe_fit(rows, 1.0)
    >>> thin_out(cost.observations())["step_seconds"]
    [[1000, 1.0], [10100, 1.0]]
    """
    thinned = {**observations, "residuals": list(observations["residuals"])[-_MAX_RESIDUALS:]}
    for name in _BY_SIZE:
        kept: list[list[float]] = []
        for size, value in reversed(observations[name]):
            if all(max(size, other) > _SIZE_RATIO * min(size, other) for other, _ in kept):
                kept.append([size, value])
        thinned[name] = kept[::-1]
    return thinned
