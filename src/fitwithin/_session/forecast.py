"""Forecasts of longer and shorter fits, from what a fit has shown: costs by rows, and scores by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from statistics import NormalDist
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.cost import CostModel, LearnerTraits
from fitwithin._core.forecast import Forecast, LearningCurve
from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin._session.result import SessionResult
from fitwithin.backends._metrics import find_bounds
from fitwithin.backends._scoring import Scoring
from fitwithin.teachers._auto.simulation import KnownCosts, SimulatedFit, SimulatedModel

# Simulated fits for each limit; their costs are spread evenly over what is likely.
_N_SIMULATIONS = 9
# Least share of its seconds of a fit that was stopped early, for its score to tell about its rows and not its steps.
_LEAST_SHARE = 0.25
# Standard error that its score adds for the part of the seconds that it lacks, as a share of what it lacks to the best.
_ERROR_IF_CUT = 0.5
_LEAST_STANDARD_ERROR = 1e-9
_DEVIATIONS = [NormalDist().inv_cdf((number + 0.5) / _N_SIMULATIONS) for number in range(_N_SIMULATIONS)]


def describe_costs(result: SessionResult, n_rows: int, scoring: Scoring) -> dict[str, Any] | None:
    """Return what a forecast needs besides the history, as plain values that any format can store.

    Parameters
    ----------
    result : SessionResult
        The best model, and the costs of its learner.
    n_rows : int
        Rows that may be trained on.
    scoring : Scoring
        The metric.
    """
    costs = result.costs
    if costs is None:
        return None
    return {
        "observations": costs.cost.observations(),
        "traits": asdict(costs.cost.traits),
        "n_rows": costs.largest_lesson_rows(n_rows),
        "can_stop_early": costs.can_stop_early,
        "knows_steps": costs.knows_steps,
        "killable": costs.killable,
        "candidate": result.candidate,
        "best_value": find_bounds(scoring.scorer)[1],
    }


def make_forecasts(
    limits: Iterable[float], described: Mapping[str, Any], history: Sequence[Round], estimate: Estimate | None
) -> list[Forecast]:
    """Return what each limit should buy.

    Parameters
    ----------
    limits : iterable of float
        Time limits in seconds.
    described : dict
        As `describe_costs` returns.
    history : sequence of Round
        All rounds.
    estimate : Estimate or None
        The score of the best model, on rows that had no part in training or choosing; None without such rows.
    """
    rounds = [one for one in history if one.candidate == described["candidate"]]
    known = _read_costs(described, history)
    curve = _draw_curve(known, rounds, estimate, described["best_value"])
    n_rows = known.n_rows
    every_row = known.cost.fit_seconds(n_rows) + known.cost.overhead_seconds(n_rows)
    return [_make_forecast(limit, known, curve, every_row) for limit in limits]


def _read_costs(described: Mapping[str, Any], history: Sequence[Round]) -> KnownCosts:
    cost = CostModel(LearnerTraits(**described["traits"]))
    cost.restore(described["observations"])
    first = history[0] if history else None
    start = 0.0 if first is None else max(0.0, first.elapsed - first.seconds_fit - first.seconds_exam)
    flags = {name: described[name] for name in ("n_rows", "can_stop_early", "knows_steps", "killable")}
    return KnownCosts(cost, start_seconds=start, **flags)


def _draw_curve(
    known: KnownCosts, rounds: Sequence[Round], estimate: Estimate | None, best_value: float
) -> LearningCurve | None:
    """Return the learning curve; None if fewer than two sizes were scored."""
    scores: dict[float, Estimate] = {}
    shares: dict[float, float] = {}
    for one in rounds:
        if one.estimate is None or one.low is None or one.high is None or one.is_biased:
            continue
        share = min(1.0, one.seconds_fit / known.cost.fit_seconds(one.rows)) if known.can_stop_early else 1.0
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


def _make_forecast(limit: float, known: KnownCosts, curve: LearningCurve | None, every_row: float) -> Forecast:
    def expect_score(n_rows: float) -> float:
        # Without a curve, more rows are better.
        return 1 - 1 / n_rows if curve is None else curve.expect(n_rows)[0]

    models: list[SimulatedModel] = [SimulatedFit(known, limit, z, expect_score).run() for z in _DEVIATIONS]
    middle = models[_N_SIMULATIONS // 2]
    sizes = [model.scored_rows for model in models if model.n_rows]
    if curve is None or not middle.n_rows:
        return Forecast(limit, middle.n_rows, None, None, None, every_row)
    return Forecast(limit, middle.n_rows, *curve.expect_any(sizes), every_row)


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
