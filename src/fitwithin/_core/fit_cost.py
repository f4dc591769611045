"""Seconds of a fit by its rows: set-up and steps apart, and the chance that it ends in time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

DEFAULT_GROWTH = 1.1
"""Default exponent of fit time in rows when extrapolating (benchmarks/accuracy.py: others did no better)."""

# Extrapolate at most quadratically, whatever growth two fits showed.
_MAX_GROWTH = 2.0
# Least share of a fit's time that is taken to grow with its rows. A first fit that paid for imports would hide it.
_LEAST_GROWING_SHARE = 0.2
# A fit that is shorter than this many seconds says nothing about growth: a pause of the machine takes as long.
_MIN_TELLING_SECONDS = 0.03

# Prior standard deviation of log(real / predicted): for a size that was seen, and what is added for each unit of
# log(rows / most rows so far) by steps, by a set-up, and by a learner whose steps are unknown.
_PRIOR_DEVIATION = 0.1
_PRIOR_DEVIATION_OF_STEPS = 0.1
_PRIOR_DEVIATION_OF_SETUP = 0.25
_PRIOR_DEVIATION_OF_OTHERS = 0.25
# All of them are doubled while only one size took long enough to tell how the seconds grow.
_ONE_SIZE_FACTOR = 2.0
# Weight of a fit that was faster than predicted: it says less about the chance of a slow one.
_FAST_WEIGHT = 0.5
# Most standard deviations that one fit counts for: a pause of the machine says little about the next fit.
_MAX_RESIDUAL = 5.0
# Number of observations that the prior counts for.
_PRIOR_WEIGHT = 2.0


class SecondsByRows:
    """Seconds of one part of a fit: some that every fit takes, and some that grow with the rows.

    Between two observed sizes, seconds are interpolated. Beyond them, the two parts are drawn through the largest two
    sizes, and the growing part grows a little faster than the rows, or as fast as it was seen to grow. With one size
    only, the fit is scaled.

    Parameters
    ----------
    growth : float, default=1.1
        Least exponent of the growing part beyond the observed sizes.
    first_growing_share : float, default=1.0
        Share of the seconds of the first fit that is taken to grow with the rows.
    least_growing_share : float, default=0.2
        Least share of the seconds that grows with the rows, whatever two sizes show.

    Examples
    --------
    >>> part = SecondsByRows(1.0)
    >>> part.observe(100, 2.0)
    >>> part.predict(200)
    4.0
    >>> part.observe(200, 3.0)
    >>> part.predict(400)
    5.0
    """

    def __init__(
        self,
        growth: float = DEFAULT_GROWTH,
        first_growing_share: float = 1.0,
        least_growing_share: float = _LEAST_GROWING_SHARE,
    ) -> None:
        self._growth = growth
        self._first_growing_share = first_growing_share
        self._least_growing_share = least_growing_share
        self._observed: dict[int, float] = {}

    @property
    def observed(self) -> Mapping[int, float]:
        """The seconds of the newest fit of each size, the newest last."""
        return self._observed

    def observe(self, rows: int, seconds: float) -> None:
        """Learn from a fit; it replaces an older one of the same size."""
        self._observed.pop(rows, None)
        self._observed[rows] = seconds

    def to_values(self) -> list[list[float]]:
        """Return what was observed as values for JSON."""
        return [[int(rows), float(seconds)] for rows, seconds in self._observed.items()]

    def restore(self, values: Iterable[tuple[Any, Any]]) -> None:
        """Observe what `to_values` returned; raise TypeError or ValueError if it is something else."""
        for rows, seconds in values:
            self.observe(int(rows), float(seconds))

    def predict(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first one."""
        sizes, seconds = self._monotone
        if not sizes:
            return 0.0
        if len(sizes) == 1:
            return self._scale(rows / sizes[0], seconds[0], self._first_growing_share, self._growth)
        place = min(max(bisect_left(sizes, rows), 1), len(sizes) - 1)
        (small, large), (less, more) = sizes[place - 1 : place + 1], seconds[place - 1 : place + 1]
        if small <= rows <= large:
            return less + (more - less) * (rows - small) / (large - small)
        # The part that grows is at most all of it, and that share is not believed to be tiny.
        growing = (more - less) / (large - small) * large / more if more else 0.0
        share = min(max(self._least_growing_share, growing), 1.0)
        growth = max(self._growth, min(self._find_growth(large / small, less, more), _MAX_GROWTH))
        if rows > large:
            return self._scale(rows / large, more, share, growth)
        return min(less, self._scale(rows / large, more, share, growth))

    @staticmethod
    def _find_growth(ratio: float, less: float, more: float) -> float:
        """Return the least exponent that two fits show, the larger one with `ratio` times the rows.

        A pause may have made either of them longer. A short one was no longer than that, so it still tells that the
        seconds grew fast.
        """
        more -= _MIN_TELLING_SECONDS if less < _MIN_TELLING_SECONDS else 0.0
        return math.log(more / less) / math.log(ratio) if more > less > 0 else 0.0

    @property
    def _monotone(self) -> tuple[list[int], list[float]]:
        """The observed sizes and their seconds; a larger fit that was faster corrects the smaller ones."""
        sizes = sorted(self._observed)
        seconds = list(accumulate((self._observed[size] for size in reversed(sizes)), min))[::-1]
        return sizes, seconds

    @staticmethod
    def _scale(ratio: float, seconds: float, share: float, growth: float) -> float:
        """Return the seconds of a fit on `ratio` times the rows, if this share of its seconds grows with them."""
        return seconds * (1 - share + share * ratio * math.pow(max(1.0, ratio), growth - 1))


class FitCost:
    """Predict the fits of one learner from those it has finished.

    A fit is a set-up, which nothing can end, and steps. A learner whose steps are unknown has no set-up. Each part has
    its own growth. The chance that a fit ends in time comes from the errors of this learner's earlier predictions, and
    is the smaller the more rows a fit has beyond those that were seen.

    Parameters
    ----------
    growth : float, default=1.1
        Least exponent of fit time in rows when extrapolating.
    first_growing_share : float, default=1.0
        Share of the steps' seconds that is taken to grow with the rows while a single size is known.

    Examples
    --------
    >>> cost = FitCost(1.0)
    >>> cost.observe(1000, 3.0, setup_seconds=1.0)
    >>> cost.seconds(2000), cost.setup_seconds(2000)
    (6.0, 2.0)
    >>> cost.chance_to_end(2000, 6.0)
    0.5
    """

    def __init__(self, growth: float = DEFAULT_GROWTH, first_growing_share: float = 1.0) -> None:
        self._setup = SecondsByRows(growth)
        self._steps = SecondsByRows(growth, first_growing_share)
        # log(real / predicted) of every fit after the first, divided by its prior standard deviation.
        self._residuals: list[float] = []

    def observe(self, rows: int, seconds: float, setup_seconds: float | None = None) -> None:
        """Learn from a fit: the seconds it took, or would have taken to its end, and those of its set-up."""
        predicted = self.seconds(rows)
        if self.n_sizes and max(seconds, predicted) > _MIN_TELLING_SECONDS:
            residual = math.log(max(seconds, _MIN_TELLING_SECONDS) / max(predicted, _MIN_TELLING_SECONDS))
            self._residuals.append(min(residual / self._prior_deviation(rows), _MAX_RESIDUAL))
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
        """Rows of the largest observed fit; 1 before the first."""
        return max(self._steps.observed, default=1)

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

    def chance_to_end(
        self, rows: int, within: float, *, after: int | None = None, share_of_steps: float = 1.0
    ) -> float:
        """Return the chance that a fit takes at most `within` seconds.

        Parameters
        ----------
        rows : int
            Its rows.
        within : float
            The seconds.
        after : int, optional
            The chance as it will be after a fit on this number of rows, which takes what is predicted now.
        share_of_steps : float, default=1.0
            Share of the steps that must end.
        """
        if within <= 0:
            return 0.0
        expected = self._setup.predict(rows) + share_of_steps * self._steps.predict(rows)
        if expected <= 0 or math.isinf(within):
            return 1.0
        # The quotient of two tiny numbers may be 0, which has no logarithm.
        logarithm = math.log(within) - math.log(expected)
        return _normal_cdf(logarithm / self.deviation(rows, after=after))

    def deviation(self, rows: int, *, after: int | None = None) -> float:
        """Return the standard deviation of log(real / predicted) for a fit on this number of rows."""
        squares = _PRIOR_WEIGHT + sum((max(z, -_FAST_WEIGHT * z)) ** 2 for z in self._residuals)
        scale = math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals)))
        return scale * self._prior_deviation(rows, after)

    def _prior_deviation(self, rows: int, after: int | None = None) -> float:
        distance = math.log(max(1.0, rows / max(self.largest_known_rows, after or 1)))
        growth = _PRIOR_DEVIATION_OF_OTHERS
        if self._setup.observed:
            share = self._setup.predict(rows) / max(self.seconds(rows), _MIN_TELLING_SECONDS)
            growth = share * _PRIOR_DEVIATION_OF_SETUP + (1 - share) * _PRIOR_DEVIATION_OF_STEPS
        telling = sum(self.seconds(size) >= _MIN_TELLING_SECONDS for size in self._steps.observed)
        factor = _ONE_SIZE_FACTOR if telling + (after is not None) < 2 else 1.0
        return factor * math.hypot(_PRIOR_DEVIATION, growth * distance)

    def observations(self) -> dict[str, Any]:
        """Return everything that was learned, as values for JSON."""
        return {
            "setup_seconds": self._setup.to_values(),
            "step_seconds": self._steps.to_values(),
            "residuals": [float(residual) for residual in self._residuals],
        }

    def restore(self, observations: Mapping[str, Any]) -> None:
        """Learn from the `observations` of an earlier fit.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are not what `observations` returns.
        """
        self._setup.restore(observations["setup_seconds"])
        self._steps.restore(observations["step_seconds"])
        self._residuals = [float(residual) for residual in observations["residuals"]]


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
