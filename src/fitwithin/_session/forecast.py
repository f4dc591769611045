"""Forecasts of longer and shorter fits, from what a fit has shown: costs by rows, and scores by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from statistics import NormalDist
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._core.forecast import Forecast, LearningCurve
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
