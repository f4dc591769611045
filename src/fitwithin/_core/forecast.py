"""What more time would buy: the record for users, and the learning curve that expects the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

# Errors fall with the rows to a power of minus the exponent: the most that two sizes may show, and its standard error
# beyond the largest size, as a constant and a part of it (benchmarks/tunnel/forecast.py).
_MAX_EXPONENT = 1.0
_EXPONENT_ERROR, _EXPONENT_ERROR_SHARE = 0.08, 0.3
# Least error, as a share of that of the smallest model.
_LEAST_ERROR = 1e-3
# Exponent of a metric whose best value is unknown, which leaves no error to fit one to.
_DEFAULT_EXPONENT = 0.25

_INTERVAL = 0.9
# Values that stand for each expected score and its error.
_QUANTILES = np.array([NormalDist().inv_cdf((number + 0.5) / 101) for number in range(101)])


@dataclass(frozen=True)
class Forecast:
    """What a time limit should buy, as `forecast` returns it.

    Parameters
    ----------
    time_limit : float
        The limit in seconds.
    rows : int
        Training rows of the model that the default teacher should return; 0 if there should be none in time.
    score, low, high : float or None
        The expected score of that model and its 90 % interval. None if fewer than two sizes were scored, or `rows` is
        0.
    seconds_every_row : float
        Seconds that one fit on every row should take, with handing the rows over and saving the model.
    """

    time_limit: float
    rows: int
    score: float | None
    low: float | None
    high: float | None
    seconds_every_row: float


class LearningCurve:
    """Expects the score of more rows, or of fewer, from the scores of at least two sizes.

    Parameters
    ----------
    scores : dict
        Score on the validation rows by the number of training rows.
    score, error : float
        Score of the model with the most rows, on the rows that estimate it best, and its standard error.
    best_value : float, default=1.0
        The best value of the metric; infinite if unknown.

    Examples
    --------
    >>> curve = LearningCurve({1_000: 0.6, 4_000: 0.8}, score=0.8, error=0.01)
    >>> [round(value, 3) for value in curve.expect(16_000)]
    [0.9, 0.033]
    """

    def __init__(self, scores: Mapping[float, float], score: float, error: float, best_value: float = 1.0) -> None:
        sizes = sorted(scores)
        first, last = scores[sizes[0]], scores[sizes[-1]]
        if math.isinf(best_value):
            ratio = math.pow(sizes[-1] / sizes[0], _DEFAULT_EXPONENT)
            best_value = max(first, last, (ratio * last - first) / (ratio - 1))
        self._best_value, self._error = best_value, error
        # 1e-12: a metric may be at its best value everywhere.
        least = max(_LEAST_ERROR * (best_value - first), 1e-12)
        self._sizes = np.log(sizes)
        self._logarithms = np.log([max(best_value - scores[size], least) for size in sizes])
        self._distance = max(best_value - score, least)
        exponent = (self._logarithms[0] - self._logarithms[-1]) / (self._sizes[-1] - self._sizes[0])
        self._exponent = min(max(0.0, float(exponent)), _MAX_EXPONENT)

    def expect(self, n_rows: float) -> tuple[float, float]:
        """Return the score that a model of this number of rows should have, and its standard error."""
        size = math.log(n_rows)
        shown = float(np.interp(size, self._sizes, self._logarithms) - self._logarithms[-1])
        beyond = size - min(max(size, self._sizes[0]), self._sizes[-1])
        distance = self._distance * math.exp(shown - self._exponent * beyond)
        exponent_error = _EXPONENT_ERROR + _EXPONENT_ERROR_SHARE * self._exponent
        spread = distance * exponent_error * abs(size - self._sizes[-1])
        return self._best_value - distance, math.hypot(self._error, spread)

    def expect_any(self, sizes: list[float]) -> tuple[float, float, float]:
        """Return the score and its 90 % interval of a model whose rows are one of these sizes, all as likely."""
        values = []
        for size in sizes:
            score, error = self.expect(size)
            values.append(np.minimum(score + error * _QUANTILES, self._best_value))
        low, middle, high = np.quantile(np.concatenate(values), [(1 - _INTERVAL) / 2, 0.5, (1 + _INTERVAL) / 2])
        return float(middle), float(low), float(high)
