"""Forecasts of longer and shorter fits, from what a fit has shown: costs by rows, and scores by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin._core.target import Array
from fitwithin.teachers._auto.simulation import SimulatedFit

# Simulated fits for each limit; their costs are spread evenly over what is likely.
_N_SIMULATIONS = 9
# Least share of its seconds of a fit that was stopped early, for its score to tell about its rows and not its steps.
_LEAST_SHARE = 0.25
# Standard error that its score adds for the part of the seconds that it lacks, as a share of what it lacks to the best.
_ERROR_IF_CUT = 0.5
_DEVIATIONS = [NormalDist().inv_cdf((number + 0.5) / _N_SIMULATIONS) for number in range(_N_SIMULATIONS)]

# Errors fall with the rows to a power of minus the exponent, which is one of these; the mean of an exponential prior.
_EXPONENTS = np.linspace(0, 1, 21)
_MEAN_EXPONENT = 0.2
# Standard deviation of the logarithm of errors about this power, for one unit of log(rows); it grows with its root.
# With both, 90 % of the 90 % intervals hold on the design set and 34 other pairs (benchmarks/tunnel/forecast.py).
_WANDERING = 0.13
# Variance of the logarithm of errors before anything is known.
_UNKNOWN = 100.0
# Least relative standard error of an error, which keeps equations solvable.
_LEAST_NOISE = 1e-3
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

    Errors fall with a power of the rows, about which they wander. Its exponent is integrated over.

    Parameters
    ----------
    observed : list of (float, Estimate)
        Numbers of training rows and their scores. A size may have several, from different rows.
    best_value : float, default=1.0
        The best value of the metric; infinite if unknown.

    Examples
    --------
    >>> curve = LearningCurve([(1_000, Estimate(0.6, 0.58, 0.62)), (4_000, Estimate(0.8, 0.78, 0.82))])
    >>> [round(value, 2) for value in curve.expect([16_000])]
    [0.89, 0.83, 0.93]
    """

    def __init__(self, observed: Sequence[tuple[float, Estimate]], best_value: float = 1.0) -> None:
        (fewest, first), (most, last) = min(observed, key=itemgetter(0)), max(observed, key=itemgetter(0))
        if math.isinf(best_value):
            ratio = math.pow(most / fewest, _DEFAULT_EXPONENT)
            best_value = max(first.value, last.value, (ratio * last.value - first.value) / (ratio - 1))
        self._best_value, self._start = best_value, math.log(fewest)
        self._sizes = np.log([rows for rows, _ in observed]) - self._start
        errors = np.array([max(one.standard_error, 1e-12) for _, one in observed])
        # No or few errors among few rows say only that there are no more than about one.
        distances = np.maximum([best_value - one.value for _, one in observed], errors)
        self._covariance = _UNKNOWN + _WANDERING**2 * np.minimum.outer(self._sizes, self._sizes)
        self._covariance += np.diag(np.maximum(errors / distances, _LEAST_NOISE) ** 2)
        # For each exponent, the errors times its power of the rows.
        levels = np.log(distances)[:, None] + np.outer(self._sizes, _EXPONENTS)
        self._solved = np.linalg.solve(self._covariance, levels)
        fits = -0.5 * (levels * self._solved).sum(axis=0) - _EXPONENTS / _MEAN_EXPONENT
        self._weights = np.exp(fits - fits.max())

    def expect(self, sizes: Sequence[float]) -> tuple[float, float, float]:
        """Return the score and its 90 % interval of a model whose rows are one of these sizes, all as likely."""
        values, weights = np.concatenate([self._expect_errors(size) for size in sizes], axis=1)
        order = np.argsort(values)
        shares = np.cumsum(weights[order]) / weights.sum()
        ends = np.interp([(1 + _INTERVAL) / 2, 0.5, (1 - _INTERVAL) / 2], shares, values[order])
        low, middle, high = self._best_value - np.exp(ends)
        return float(middle), float(low), float(high)

    def _expect_errors(self, n_rows: float) -> Array:
        """Return logarithms of errors that stand for what is likely, with their weights."""
        size = math.log(n_rows) - self._start
        shared = _UNKNOWN + _WANDERING**2 * np.clip(self._sizes, 0, max(0.0, size))
        means = shared @ self._solved - size * _EXPONENTS
        known = float(shared @ np.linalg.solve(self._covariance, shared))
        deviation = math.sqrt(max(0.0, _UNKNOWN + _WANDERING**2 * abs(size) - known))
        values = np.add.outer(means, deviation * _QUANTILES)
        return np.stack([values.ravel(), np.repeat(self._weights, len(_QUANTILES))])


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
        return 1 - 1 / n_rows if curve is None else curve.expect([n_rows])[0]

    forecasts = []
    for limit in limits:
        models = [SimulatedFit(known, n_rows, limit, z, expect_score, start).run() for z in _DEVIATIONS]
        middle = models[_N_SIMULATIONS // 2]
        interval: tuple[float | None, float | None, float | None] = None, None, None
        if curve is not None and middle.n_rows:
            interval = curve.expect([model.scored_rows for model in models if model.n_rows])
        forecasts.append(Forecast(limit, middle.n_rows, *interval, every_row))
    return forecasts


def _draw_curve(
    known: CostEstimates, rounds: Sequence[Round], estimate: Estimate | None, best_value: float
) -> LearningCurve | None:
    """Return the learning curve; None if fewer than two sizes were scored."""
    scores: dict[float, Estimate] = {}
    for one in rounds:
        if one.estimate is None or one.low is None or one.high is None or one.is_biased:
            continue
        share = min(1.0, one.seconds_fit / known.fit_seconds(one.rows)) if known.can_stop_early else 1.0
        if math.isfinite(one.high - one.low) and share >= _LEAST_SHARE:
            lacks = _ERROR_IF_CUT * (1 - share) * (best_value - one.estimate) if math.isfinite(best_value) else 0.0
            scores[one.rows] = _add_error(Estimate(one.estimate, one.low, one.high), lacks)
    if len(scores) < 2:
        return None
    most = max(scores)
    return LearningCurve([*scores.items(), *([] if estimate is None else [(most, estimate)])], best_value)


def _add_error(estimate: Estimate, error: float) -> Estimate:
    return replace(estimate, error=math.hypot(estimate.standard_error, error))


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
