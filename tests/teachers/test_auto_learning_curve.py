"""The score that Auto expects of a lesson."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fitwithin.teachers._auto.learning_curve import Expectation, LearningCurve

scores = st.floats(0, 1)
sizes = st.integers(100, 10**6)
errors = st.floats(0, 0.05)
points = st.lists(st.tuples(sizes, scores, errors, st.booleans()), min_size=1, max_size=8)


def after(*points):
    curve = LearningCurve()
    for rows, score, error, *emphasis in points:
        curve.observe(rows, score, error, emphasis=any(emphasis))
    return curve


@given(scores, st.floats(1e-6, 1), scores)
def test_a_gain_is_never_negative_and_at_least_the_expected_difference(mean, deviation, score):
    gain = Expectation(mean, deviation).gain_over(score)

    assert gain >= -1e-12
    assert gain >= mean - score - 1e-9


@given(scores, st.floats(1e-6, 0.5), st.floats(1e-3, 0.5), scores)
def test_an_uncertain_score_promises_more_than_a_certain_one_with_the_same_mean(mean, deviation, more, score):
    certain, uncertain = Expectation(mean, deviation), Expectation(mean, deviation + more)

    assert uncertain.gain_over(score) >= certain.gain_over(score) - 1e-12


def test_a_gain_is_the_mean_of_what_exceeds_the_score():
    draws = np.random.default_rng(0).normal(0.8, 0.02, size=400_000)

    assert Expectation(0.8, 0.02).gain_over(0.81) == pytest.approx(np.maximum(draws - 0.81, 0).mean(), rel=0.02)


@given(points, sizes, st.booleans())
def test_an_expectation_is_finite_and_uncertain(points, rows, emphasis):
    expected = after(*points).predict(rows, emphasis=emphasis)

    assert math.isfinite(expected.mean)
    assert 0 < expected.deviation < math.inf


@given(scores, errors, sizes, st.integers(2, 100), st.integers(2, 100))
def test_the_deviation_grows_with_the_distance_from_what_was_seen(score, error, rows, factor, more):
    curve = after((rows, score, error))

    near, far = curve.predict(rows * factor), curve.predict(rows * factor * more)

    assert curve.predict(rows).deviation <= near.deviation <= far.deviation * (1 + 1e-9)


@given(scores, errors, sizes, st.integers(2, 100))
def test_more_rows_are_expected_to_help_after_one_lesson(score, error, rows, factor):
    curve = after((rows, score, error))

    assert curve.predict(rows * factor).mean > curve.predict(rows).mean


@pytest.mark.parametrize("exponent", [0.2, 0.35, 0.5, 1.0])
@pytest.mark.parametrize(("limit", "gain"), [(0.95, 0.3), (0.8, 0.05), (0.7, 0.0)])
def test_it_follows_a_power_law_within_its_interval(exponent, limit, gain):
    def law(rows):
        return limit - gain * (rows / 250) ** -exponent

    curve = after(*((rows, law(rows), 0.005) for rows in (250, 2000, 8000)))

    for rows in (16_000, 64_000, 256_000):
        expected = curve.predict(rows)
        assert abs(expected.mean - law(rows)) <= 2 * expected.deviation


def test_scores_that_scatter_make_it_less_certain():
    smooth = after((250, 0.70, 0.01), (1000, 0.75, 0.01), (2000, 0.77, 0.01), (4000, 0.78, 0.01))
    scattered = after((250, 0.70, 0.01), (1000, 0.85, 0.01), (2000, 0.65, 0.01), (4000, 0.78, 0.01))

    assert smooth.predict(16_000).deviation < scattered.predict(16_000).deviation


@pytest.mark.parametrize("offset", [0.05, -0.05])
def test_lessons_with_mistakes_lie_above_or_below_the_others_by_what_was_seen(offset):
    curve = after((250, 0.7, 0.005), (2000, 0.78, 0.005), (2000, 0.78 + offset, 0.005, True))

    difference = curve.predict(8000, emphasis=True).mean - curve.predict(8000).mean

    # The trial alone does not prove all of it.
    assert 0.3 <= difference / offset <= 1.0


def test_without_a_lesson_with_mistakes_nothing_is_expected_of_them_but_a_larger_deviation():
    curve = after((250, 0.7, 0.005), (2000, 0.78, 0.005))

    plain, emphasized = curve.predict(8000), curve.predict(8000, emphasis=True)

    assert emphasized.mean == pytest.approx(plain.mean)
    assert emphasized.deviation > plain.deviation


@given(points, st.sampled_from([math.nan, math.inf, -math.inf]))
def test_a_score_that_is_no_number_is_not_a_point(points, score):
    curve = after(*points)

    curve.observe(500, score, 0.01)
    curve.observe(500, 0.5, score)

    assert len(curve) == len(points)


@given(st.floats(-1e4, -1e-3), st.floats(1e-3, 1e4))
def test_a_loss_below_zero_has_a_scale_of_its_own(first, error):
    assume(error <= abs(first))
    expected = after((250, first, error), (1000, first / 2, error)).predict(4000)

    assert first <= expected.mean <= -first
