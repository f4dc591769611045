"""Seconds of a fit by its rows: set-up and steps apart, and the chance that it ends in time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DEFAULT_GROWTH = 1.1
"""Default exponent of fit time in rows when extrapolating (benchmarks/accuracy.py: others did no better)."""

# Extrapolate at most quadratically, whatever growth two fits showed.
_MAX_GROWTH = 2.0
# Least share of a fit's time that is taken to grow with its rows. A first fit that paid for imports would hide it.
_LEAST_GROWING_SHARE = 0.2
# A fit that is shorter than this many seconds says nothing about growth: a pause of the machine takes as long.
_MIN_TELLING_SECONDS = 0.03

# Prior standard deviation of log(real / predicted) for a fit of a size that was seen, and what is added to it for each
# unit of log(rows / most rows so far). With one size only, the part that does not grow is unknown: both are doubled.
_PRIOR_DEVIATION = 0.15
_PRIOR_DEVIATION_OF_GROWTH = 0.2
_ONE_SIZE_FACTOR = 2.0
# Number of observations that the prior counts for.
_PRIOR_WEIGHT = 2.0
# Share of a learner's steps after which it is as good as at its end.
_NEARLY_ALL_STEPS = 0.85


class SecondsByRows:
    """Seconds of one part of a fit: some that every fit takes, and some that grow with the rows.

    The two are drawn through the newest fit and a smaller one. With one size only, the fit is scaled. Beyond the
    observed sizes, the growing part grows a little faster than the rows, or as fast as it was seen to grow.

    Parameters
    ----------
    growth : float, default=1.1
        Least exponent of the growing part beyond the observed sizes.
    least_growing_share : float, default=0.2
        Least share of the seconds that grows with the rows, whatever two sizes show. With 0, a single size is not
        scaled either.

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

    def __init__(self, growth: float = DEFAULT_GROWTH, least_growing_share: float = _LEAST_GROWING_SHARE) -> None:
        self._growth = growth
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

    def predict(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first one."""
        if not self._observed:
            return 0.0
        (size, seconds), *others = reversed(self._observed.items())
        smaller = [(other, took) for other, took in others if other < size]
        if not smaller and not self._least_growing_share:
            return seconds
        if not smaller:
            return seconds * rows / size * _extrapolation(rows / size, self._growth)
        other, took = smaller[0]
        slope = (seconds - took) / (size - other)
        per_row = min(max(self._least_growing_share * seconds / size, slope), seconds / size)
        growth = self._growth
        if took >= _MIN_TELLING_SECONDS and seconds > took:
            observed = math.log(seconds / took) / math.log(size / other)
            growth = max(growth, min(observed, _MAX_GROWTH))
        return seconds - per_row * size + per_row * rows * _extrapolation(rows / size, growth)


class FitCost:
    """Predict the fits of one learner from those it has finished.

    A fit is a set-up, which nothing can end, and steps. A learner whose steps are unknown has no set-up. Each part has
    its own growth. The chance that a fit ends in time comes from the errors of this learner's earlier predictions, and
    is the smaller the more rows a fit has beyond those that were seen.

    Parameters
    ----------
    growth : float, default=1.1
        Least exponent of fit time in rows when extrapolating.

    Examples
    --------
    >>> cost = FitCost(1.0)
    >>> cost.observe(1000, 3.0, setup_seconds=1.0)
    >>> cost.seconds(2000), cost.setup_seconds(2000)
    (6.0, 2.0)
    >>> cost.chance_to_end(2000, 6.0)
    0.5
    """

    def __init__(self, growth: float = DEFAULT_GROWTH) -> None:
        self._setup = SecondsByRows(growth)
        self._steps = SecondsByRows(growth)
        # log(rows / most rows before) and log(real / predicted) of every fit after the first.
        self._residuals: list[tuple[float, float]] = []

    def observe(self, rows: int, seconds: float, setup_seconds: float | None = None) -> None:
        """Learn from a fit: the seconds it took, or would have taken to its end, and those of its set-up."""
        if self.n_sizes and seconds > 0:
            predicted = max(self.seconds(rows), _MIN_TELLING_SECONDS)
            residual = math.log(max(seconds, _MIN_TELLING_SECONDS) / predicted)
            self._residuals.append((self._distance(rows), residual))
        if setup_seconds is not None:
            self._setup.observe(rows, min(setup_seconds, seconds))
        setup = self._setup.observed.get(rows, self._setup.predict(rows))
        self._steps.observe(rows, max(0.0, seconds - setup))

    @property
    def n_sizes(self) -> int:
        """Number of sizes that were seen."""
        return len(self._steps.observed)

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
        return _normal_cdf(math.log(within / expected) / self.deviation(rows, after=after))

    def chance_of_nearly_all_steps(self, rows: int, within: float, *, after: int | None = None) -> float:
        """Return the chance that a fit which can stop early is nearly complete after `within` seconds."""
        return self.chance_to_end(rows, within, after=after, share_of_steps=_NEARLY_ALL_STEPS)

    def deviation(self, rows: int, *, after: int | None = None) -> float:
        """Return the standard deviation of log(real / predicted) for a fit on this number of rows."""
        squares = _PRIOR_WEIGHT + sum((residual / _prior_deviation(far)) ** 2 for far, residual in self._residuals)
        scale = math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals)))
        knows_one_size = self.n_sizes + (after is not None) < 2
        factor = _ONE_SIZE_FACTOR if knows_one_size else 1.0
        return factor * scale * _prior_deviation(self._distance(rows, after))

    def _distance(self, rows: int, after: int | None = None) -> float:
        most = max([*self._steps.observed, after or 1])
        return math.log(max(1.0, rows / most))

    def observations(self) -> dict[str, Any]:
        """Return everything that was learned, as values for JSON."""
        setup = self._setup.observed
        return {
            "fit_seconds": [
                [int(rows), float(seconds + setup.get(rows, 0.0))] for rows, seconds in self._steps.observed.items()
            ],
            "setup_seconds": [[int(rows), float(seconds)] for rows, seconds in setup.items()],
            "residuals": [[float(far), float(residual)] for far, residual in self._residuals],
        }

    def restore(self, observations: Mapping[str, Any]) -> None:
        """Learn from the `observations` of an earlier fit.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are not what `observations` returns.
        """
        setup = {int(rows): float(seconds) for rows, seconds in observations["setup_seconds"]}
        for rows, seconds in observations["fit_seconds"]:
            if int(rows) in setup:
                self._setup.observe(int(rows), setup[int(rows)])
            self._steps.observe(int(rows), max(0.0, float(seconds) - setup.get(int(rows), 0.0)))
        self._residuals = [(float(far), float(residual)) for far, residual in observations["residuals"]]


def _prior_deviation(distance: float) -> float:
    return math.hypot(_PRIOR_DEVIATION, _PRIOR_DEVIATION_OF_GROWTH * distance)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _extrapolation(ratio: float, growth: float) -> float:
    """Return the factor by which a row costs more in a fit `ratio` times as large as the largest so far."""
    return math.pow(max(1.0, ratio), growth - 1)
