"""What other time limits should buy: rows from simulated fits of the default, scores from the learning curve."""

import math
import pickle
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedSearch
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._core.records import Estimate
from fitwithin._session.forecast import LearningCurve
from fitwithin.teachers._auto.simulation import SimulatedFit

X, y = make_classification(4_000, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    learner = DecisionTreeClassifier(random_state=0)
    return TimeConstrainedClassifier(learner, time_limit=60, backend="inline", random_state=0).fit(X, y)


def costs_of(seconds_per_row, **flags):
    cost = CostModel(LearnerTraits(growth=1.0, spread=0.1))
    for rows in (250, 2_500):
        cost.observe_fit(rows, seconds_per_row * rows, 0.0 if flags.get("knows_steps") else None)
        cost.observe_handover(rows, 0.0)
    return CostEstimates(cost=cost, **flags)


def scored(value, error=0.01):
    return Estimate(value, value - 1.96 * error, value + 1.96 * error)


def rows_within(limit, known, deviations=0.0):
    return SimulatedFit(known, 100_000, limit, deviations, lambda n_rows: 1 - n_rows**-0.5).run().n_rows


def test_a_forecast_has_rows_a_score_and_the_seconds_of_every_row(fitted):
    short, long = fitted.forecast([0.5, "1h"])

    assert (short.time_limit, long.time_limit) == (0.5, 3600.0)
    assert 3_600 <= long.rows <= 4_000
    assert long.low < long.score < long.high
    assert 0 < long.seconds_every_row < 60


def test_limits_may_be_numbers_text_and_timedeltas(fitted):
    limits = [90, "1m30s", timedelta(seconds=90)]

    assert len(set(fitted.forecast(limits))) == 1
    assert fitted.forecast([]) == []


def test_a_pickled_estimator_has_the_same_forecasts(fitted):
    again = pickle.loads(pickle.dumps(fitted))

    assert again.forecast([1, 60]) == fitted.forecast([1, 60])


def test_a_clone_has_no_forecast_before_it_is_fitted(fitted):
    with pytest.raises(NotFittedError):
        clone(fitted).forecast([60])


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        ("5m", TypeError, "limits must be a list of time limits"),
        (60, TypeError, "limits must be a list of time limits"),
        ([-1], ValueError, "must be positive"),
        (["soon"], ValueError, "must be positive"),
    ],
)
def test_bad_limits_are_refused(fitted, limits, error, message):
    with pytest.raises(error, match=message):
        fitted.forecast(limits)


def test_with_one_scored_size_rows_are_expected_and_no_score():
    learner = DecisionTreeClassifier(random_state=0)
    one_size = TimeConstrainedClassifier(learner, time_limit=60, backend="inline", random_state=0).fit(X[:300], y[:300])

    forecast = one_size.forecast([60])[0]

    assert forecast.rows > 0
    assert (forecast.score, forecast.low, forecast.high) == (None, None, None)


def test_after_a_search_the_forecast_is_for_the_best_learner():
    space = {"max_depth": [1, 8]}
    search = TimeConstrainedSearch(DecisionTreeClassifier(), space, time_limit=5, backend="inline", random_state=0).fit(
        X, y
    )

    forecast = search.forecast(["10m"])[0]

    assert 3_600 <= forecast.rows <= 4_000
    assert 0 < forecast.seconds_every_row < 10


def test_a_fallback_alone_has_no_forecast(fitted):
    alone = pickle.loads(pickle.dumps(fitted))
    alone._learner_costs = None

    with pytest.raises(ValueError, match="no fit of the learner has ended"):
        alone.forecast([60])


def test_a_longer_limit_buys_more_rows_up_to_all():
    known = costs_of(1e-3)  # 100 s for all

    rows = [rows_within(limit, known) for limit in (5, 20, 80, 320)]

    assert rows == sorted(rows)
    assert 2_000 < rows[0] < 5_000
    assert rows[-1] >= 96_000  # all but the rows kept back


def test_a_limit_below_the_first_fit_buys_nothing():
    assert rows_within(0.05, costs_of(1e-2)) == 0


def test_a_slower_machine_buys_fewer_rows():
    known = costs_of(1e-3)

    assert rows_within(20, known, deviations=1.5) < rows_within(20, known) < rows_within(20, known, deviations=-1.5)


def test_a_learner_that_can_stop_early_gives_up_and_fits_what_ends():
    known = costs_of(1e-3, can_stop_early=True, knows_steps=True)

    assert 0.5 * 20_000 < rows_within(20, known) <= 25_000


@given(
    sizes=st.lists(st.integers(100, 10**6), min_size=2, max_size=6, unique=True),
    scores=st.lists(st.floats(-5, 1), min_size=6, max_size=6),
    wanted=st.integers(1, 10**9),
    best_value=st.sampled_from([1.0, math.inf]),
)
def test_the_score_of_any_curve_is_finite_and_at_most_the_best_value(sizes, scores, wanted, best_value):
    observed = [(rows, scored(score)) for rows, score in zip(sizes, scores, strict=False)]
    curve = LearningCurve([*observed, (max(sizes), scored(scores[0]))], best_value)

    score, low, high = curve.expect([float(wanted), 2.0 * wanted])

    assert np.isfinite([score, low, high]).all()
    assert low <= score <= high <= best_value


def test_the_interval_widens_with_the_distance_from_the_known_sizes():
    curve = LearningCurve([(1_000, scored(0.7)), (4_000, scored(0.8))])

    widths = [high - low for _, low, high in (curve.expect([rows]) for rows in (4_000.0, 16_000.0, 64_000.0))]

    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(2 * 1.645 * 0.01, rel=0.05)


@pytest.mark.parametrize("exponent", [0.02, 0.5])
def test_the_interval_holds_where_errors_hardly_fall_and_where_they_fall_fast(exponent):
    def error(rows):
        return 0.3 * (rows / 1_000) ** -exponent

    curve = LearningCurve([(rows, scored(1 - error(rows))) for rows in (1_000, 4_000)])

    _, low, high = curve.expect([32_000])

    assert low < 1 - error(32_000) < high


def test_a_flat_curve_promises_less_than_its_noise_suggests():
    # Two scores of few rows differ by less than their errors.
    noisy = LearningCurve([(1_000, scored(0.88, 0.03)), (4_000, scored(0.92, 0.03))]).expect([64_000])
    exact = LearningCurve([(1_000, scored(0.88, 0.001)), (4_000, scored(0.92, 0.001))]).expect([64_000])

    assert noisy[0] < exact[0]
    assert noisy[1] < exact[1]
