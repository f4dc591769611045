"""Seconds of a fit by its rows, with the chance that it ends in time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

DEFAULT_GROWTH = 1.1
"""Default exponent of fit time in rows when extrapolating (benchmarks/accuracy.py: others did no better)."""

# Rows of a first fit, of which a share of the seconds is known to grow.
_FEW_ROWS = 2_000
# Two sizes that are close together may show anything.
_MAX_SHOWN = 3.0
# Weight of the exponent that two fits show: it changes with the rows (benchmarks/tunnel: 0.5 and 0 predict worse).
_SHOWN_WEIGHT = 0.3
# Least share of the seconds that grows with the rows, whatever two fits show.
_LEAST_GROWING_SHARE = 0.05
# A fit that is shorter than this many seconds says nothing about growth: a pause of the machine takes as long.
MIN_TELLING_SECONDS = 0.03

# Prior standard deviation of log(real / predicted): for a size that was seen, and what is added for each unit of
# log(rows / most rows so far) by a learner that is not known.
_PRIOR_DEVIATION = 0.08
DEFAULT_SPREAD = 0.2
# Share of a first set-up, of few rows, that grows with them: the rest is reading and starting.
_FIRST_GROWING_SHARE_OF_SETUP = 0.6
# Most standard deviations that one fit counts for: a pause of the machine says little about the next fit.
_MAX_RESIDUAL = 5.0
# Number of observations that the prior counts for.
_PRIOR_WEIGHT = 4.0


class SecondsByRows:
    """Seconds, or another quantity, of one part of a fit by its rows.

    Between two observed sizes, seconds are interpolated. Beyond them, they are a constant and a part that grows with a
    power of the rows, drawn through the largest two sizes. If these show that seconds grow faster, they follow a power
    that lies between the two. While a fit is the only one, a share of its seconds is taken to grow with the rows.

    Examples
    --------
    >>> part = SecondsByRows(1.0)
    >>> part.observe(100, 2.0)
    >>> part.predict(200)
    4.0
    >>> part.observe(200, 4.0)
    >>> part.predict(150), part.predict(400)
    (3.0, 8.0)
    """

    def __init__(self, growth: float = DEFAULT_GROWTH, first_growing_share: float = 1.0) -> None:
        self._growth = growth
        self._first_growing_share = first_growing_share
        self.observed: dict[int, float] = {}  # the newest fit of each size, the newest last

    def observe(self, rows: int, seconds: float) -> None:
        """Learn from a fit; it replaces an older one of the same size."""
        self.observed.pop(rows, None)
        self.observed[rows] = seconds

    def to_values(self) -> list[list[float]]:
        """Return what was observed as values for JSON."""
        return [[int(rows), float(seconds)] for rows, seconds in self.observed.items()]

    def restore(self, values: Iterable[tuple[Any, Any]]) -> None:
        """Observe what `to_values` returned; raise TypeError or ValueError if it is something else."""
        for rows, seconds in values:
            self.observe(int(rows), float(seconds))

    def predict(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first one."""
        sizes = sorted(self.observed)
        if not sizes:
            return 0.0
        # A larger fit that was faster corrects the smaller ones.
        seconds = list(accumulate((self.observed[size] for size in reversed(sizes)), min))[::-1]
        if len(sizes) == 1:
            # What does not grow with the rows is a smaller share of a first fit on more of them.
            growing = self._first_growing_share * math.pow(max(1.0, sizes[0] / _FEW_ROWS), self._growth)
            share = growing / (growing + 1 - self._first_growing_share)
            return seconds[0] * (1 - share + share * math.pow(rows / sizes[0], self._growth))
        if rows < sizes[0]:
            return seconds[0]
        if rows <= sizes[-1]:
            return float(np.interp(rows, sizes, seconds))
        return self._extrapolate(rows, sizes, seconds)

    def _extrapolate(self, rows: int, sizes: Sequence[int], seconds: Sequence[float]) -> float:
        """Predict the seconds beyond the largest size: a constant and a part that grows, or a power of the rows."""
        (small, large), (less, more) = sizes[-2:], seconds[-2:]
        ratio = rows / large
        shown = math.log(more / less) / math.log(large / small) if less >= MIN_TELLING_SECONDS else self._growth
        shown = min(shown, _MAX_SHOWN)
        if shown >= self._growth:
            return more * math.pow(ratio, self._growth + _SHOWN_WEIGHT * (shown - self._growth))
        share = (1 - less / more) / (1 - math.pow(small / large, self._growth))
        return more * (1 + max(_LEAST_GROWING_SHARE, share) * (math.pow(ratio, self._growth) - 1))


class FitCost:
    """Predict the fits of one learner from those it has finished.

    A fit is a set-up, which nothing can end, and steps. A learner whose steps are unknown has no set-up. Each part has
    its own growth. The chance that a fit ends in time comes from the errors of this learner's earlier predictions, and
    is the smaller the more rows a fit has beyond those that were seen.

    Examples
    --------
    >>> cost = FitCost(1.0)
    >>> cost.observe(1000, 3.0, setup_seconds=1.0)
    >>> cost.seconds(2000), cost.setup_seconds(2000)
    (5.6, 1.6)
    >>> cost.chance_to_end(2000, 5.6)
    0.5
    """

    def __init__(
        self, growth: float = DEFAULT_GROWTH, first_growing_share: float = 1.0, spread: float = DEFAULT_SPREAD
    ) -> None:
        self._spread = spread
        self._setup = SecondsByRows(growth, _FIRST_GROWING_SHARE_OF_SETUP)
        self._steps = SecondsByRows(growth, first_growing_share)
        # log(real / predicted) of every fit after the first, divided by its prior standard deviation.
        self._residuals: list[float] = []
        self._knows_an_end = False
        # Rows of the largest fit that counts for chances, while larger ones of an earlier fit are doubted.
        self.rows_so_far: int | None = None

    def observe(self, rows: int, seconds: float, setup_seconds: float | None = None, *, is_guess: bool = False) -> None:
        """Learn from a fit: the seconds to its end, which is a guess if it was stopped, and those before its steps.

        A guess tells nothing about the errors of predictions.
        """
        predicted = self.seconds(rows)
        if self._knows_an_end and not is_guess and max(seconds, predicted) > MIN_TELLING_SECONDS:
            residual = math.log(max(seconds, MIN_TELLING_SECONDS) / max(predicted, MIN_TELLING_SECONDS))
            error = residual / self._prior_deviation(rows)
            self._residuals.append(min(max(error, -_MAX_RESIDUAL), _MAX_RESIDUAL))
        self._knows_an_end |= not is_guess
        if setup_seconds is not None:
            self._setup.observe(rows, min(setup_seconds, seconds))
        setup = self._setup.observed.get(rows, self._setup.predict(rows))
        self._steps.observe(rows, max(0.0, seconds - setup))

    @property
    def n_sizes(self) -> int:
        """Number of sizes that were seen."""
        return len(self._steps.observed)

    @property
    def largest_known_rows(self) -> int:
        """Rows of the largest observed fit that counts; 1 before the first."""
        return self.rows_so_far or max(self._steps.observed, default=1)

    @property
    def knows_first_fit_only(self) -> bool:
        """Whether one fit was observed, which may have paid for what is paid once, such as a GPU's start."""
        return self.n_sizes == 1 and not self._residuals

    def seconds(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first fit."""
        return self._setup.predict(rows) + self._steps.predict(rows)

    def setup_seconds(self, rows: int) -> float | None:
        """Predict the seconds before the first step; None if no fit told its steps."""
        return self._setup.predict(rows) if self._setup.observed else None

    def chance_to_end(self, rows: int, within: float, share_of_steps: float = 1.0) -> float:
        """Return the chance that a share of the steps of a fit takes at most `within` seconds."""
        if within <= 0:
            return 0.0
        expected = self._setup.predict(rows) + share_of_steps * self._steps.predict(rows)
        if expected <= 0 or math.isinf(within):
            return 1.0
        # The quotient of two tiny numbers may be 0, which has no logarithm.
        logarithm = math.log(within) - math.log(expected)
        return 0.5 * math.erfc(-logarithm / self.deviation(rows) / math.sqrt(2))

    def deviation(self, rows: int) -> float:
        """Return the standard deviation of log(real / predicted) for a fit on this number of rows."""
        squares = _PRIOR_WEIGHT + sum(z**2 for z in self._residuals)
        scale = math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals)))
        return scale * self._prior_deviation(rows)

    def _prior_deviation(self, rows: int) -> float:
        distance = math.log(max(1.0, rows / self.largest_known_rows))
        return math.hypot(_PRIOR_DEVIATION, self._spread * distance)

    def observations(self) -> dict[str, Any]:
        """Return everything that was learned, as values for JSON."""
        return {
            "setup_seconds": self._setup.to_values(),
            "step_seconds": self._steps.to_values(),
            "residuals": [float(residual) for residual in self._residuals],
        }

    def restore(self, observations: Mapping[str, Any]) -> None:
        """Learn from earlier `observations`; raise KeyError, TypeError or ValueError if they are something else."""
        self._setup.restore(observations["setup_seconds"])
        self._steps.restore(observations["step_seconds"])
        self._residuals = [float(residual) for residual in observations["residuals"]]
        self._knows_an_end = self.n_sizes > 0
