"""Forecasts of longer and shorter fits, from what a fit has shown: costs by rows, and scores by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin.teachers._auto.simulation import SimulatedFit

# Simulated fits for each limit; their costs are spread evenly over what is likely.
_N_SIMULATIONS = 9
# Least share of its seconds of a fit that was stopped early, for its score to tell about its rows and not its steps.
_LEAST_SHARE = 0.25
# Standard error that its score adds for the part of the seconds that it lacks, as a share of what it lacks to the best.
_ERROR_IF_CUT = 0.5
_LEAST_STANDARD_ERROR = 1e-9
_DEVIATIONS = [NormalDist().inv_cdf((number + 0.5) / _N_SIMULATIONS) for number in range(_N_SIMULATIONS)]

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


def make_forecasts(
    limits: Iterable[float], described: Mapping[str, Any], history: Sequence[Round], estimate: Estimate | None
) -> list[Forecast]:
    """Return what each limit should buy.

    Parameters
    ----------
    limits : iterable of float
        Time limits in seconds.
    described : dict
        As `SessionResult.describe_costs` returns.
    history : sequence of Round
        All rounds.
    estimate : Estimate or None
        The score of the best model, on rows that had no part in training or choosing; None without such rows.
    """
    cost = CostModel(LearnerTraits(**described["traits"]))
    cost.restore(described["observations"])
    flags = {name: described[name] for name in ("can_stop_early", "knows_steps", "killable")}
    known, n_rows, first = CostEstimates(cost=cost, **flags), described["n_rows"], history[0]
    start = max(0.0, first.elapsed - first.seconds_fit - first.seconds_exam)
    rounds = [one for one in history if one.candidate == described["candidate"]]
    curve = _draw_curve(known, rounds, estimate, described["best_value"])
    every_row = known.fit_seconds(n_rows) + known.overhead_seconds(n_rows)

    def expect_score(n_rows: float) -> float:
        # Without a curve, more rows are better.
        return 1 - 1 / n_rows if curve is None else curve.expect(n_rows)[0]

    forecasts = []
    for limit in limits:
        models = [SimulatedFit(known, n_rows, limit, z, expect_score, start).run() for z in _DEVIATIONS]
        middle = models[_N_SIMULATIONS // 2]
        interval: tuple[float | None, float | None, float | None] = None, None, None
        if curve is not None and middle.n_rows:
            interval = curve.expect_any([model.scored_rows for model in models if model.n_rows])
        forecasts.append(Forecast(limit, middle.n_rows, *interval, every_row))
    return forecasts


def _draw_curve(
    known: CostEstimates, rounds: Sequence[Round], estimate: Estimate | None, best_value: float
) -> LearningCurve | None:
    """Return the learning curve; None if fewer than two sizes were scored."""
    scores: dict[float, Estimate] = {}
    shares: dict[float, float] = {}
    for one in rounds:
        if one.estimate is None or one.low is None or one.high is None or one.is_biased:
            continue
        share = min(1.0, one.seconds_fit / known.fit_seconds(one.rows)) if known.can_stop_early else 1.0
        if math.isfinite(one.high - one.low) and share >= _LEAST_SHARE:
            scores[one.rows], shares[one.rows] = Estimate(one.estimate, one.low, one.high), share
    if len(scores) < 2:
        return None
    score, error = _combine([scores[max(scores)], *([] if estimate is None else [estimate])])
    if math.isfinite(best_value):
        error = math.hypot(error, _ERROR_IF_CUT * (1 - shares[max(shares)]) * (best_value - score))
    return LearningCurve({size: one.value for size, one in scores.items()}, score, error, best_value)


def _combine(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return the mean of estimates from different rows, weighted by their precision, and its standard error."""
    # A score without any error among few rows is not known exactly.
    weights = [max(one.standard_error, _LEAST_STANDARD_ERROR) ** -2 for one in estimates]
    mean = sum(weight * one.value for weight, one in zip(weights, estimates, strict=True)) / sum(weights)
    return mean, sum(weights) ** -0.5


class ForecastMixin:
    """The `forecast` method of the estimators."""

    _learner_costs: Mapping[str, Any] | None = None
    history_: Sequence[Round]
    score_estimate_: tuple[float, float, float] | None

    def forecast(self, limits: Sequence[float | str | timedelta]) -> list[Forecast]:
        """Return what other time limits should buy, from the costs and the scores of this fit.

        Each forecast simulates the default teacher with the learner of the best model, on a clock that moves by the
        predicted seconds. After a search, that is the best learner with its hyperparameters, without the search.

        Parameters
        ----------
        limits : list of int, float, str or timedelta
            Time limits, as in the parameter `time_limit`.

        Returns
        -------
        list of Forecast
            For each limit the rows, the score with a 90 % interval, and the seconds that every row would take. The
            score is None if fewer than two sizes were scored.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        TypeError, ValueError
            If `limits` is no list of time limits, or the learner has not ended a fit.

        Examples
        --------
        >>> from fitwithin import TimeConstrainedClassifier
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = make_classification(20_000, random_state=0)
        >>> clf = TimeConstrainedClassifier(DecisionTreeClassifier(), time_limit=20, random_state=0).fit(X, y)
        >>> [forecast.rows >= 19_000 for forecast in clf.forecast(["1m", 3600])]
        [True, True]
        """
        check_is_fitted(self, "history_")
        if isinstance(limits, str | bytes) or not isinstance(limits, Iterable):
            raise TypeError(f'limits must be a list of time limits, such as ["5m", "1h"]; got {limits!r}.')
        seconds = [parse_time_limit(limit) for limit in limits]
        described = self._learner_costs
        if described is None or not described["observations"]["step_seconds"]:
            raise ValueError("There is no forecast: no fit of the learner has ended, so its costs are unknown.")
        estimate = None if self.score_estimate_ is None else Estimate(*self.score_estimate_)
        return make_forecasts(seconds, described, self.history_, estimate)
