"""Which model is best."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.records import Estimate
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.selection import Candidate, ModelSelector, is_worse
from fitwithin.backends._scoring import accuracy_interval


def wilson(right, rows):
    """Wilson's score interval, from its textbook formula."""
    z = NormalDist().inv_cdf(0.975)
    share = right / rows
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return centre - reach, centre + reach


def an_estimate(low):
    return Estimate(low + 0.1, low, low + 0.2)


@pytest.mark.parametrize(
    ("right", "rows", "value", "low", "high"),
    [
        # acc - 1.96 sqrt(acc (1 - acc) / n), worked by hand
        (80, 100, 0.8, 0.8 - 1.96 * 0.04, 0.8 + 1.96 * 0.04),
        (50, 100, 0.5, 0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05),
        (9, 10, 0.9, 0.9 - 1.96 * 0.0948683298, 0.9 + 1.96 * 0.0948683298),
        (9000, 10_000, 0.9, 0.9 - 1.96 * 0.003, 0.9 + 1.96 * 0.003),
    ],
)
def test_the_bound_is_the_one_of_the_paper(right, rows, value, low, high):
    estimate = accuracy_interval(right, rows)

    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((value, low, high))


@pytest.mark.parametrize("rows", [1, 2, 5, 100, 12_345])
@pytest.mark.parametrize("share", [0, 1])
def test_at_none_and_all_right_the_interval_is_wilsons(rows, share):
    estimate = accuracy_interval(share * rows, rows)

    assert estimate.value == share
    assert (estimate.low, estimate.high) == pytest.approx(wilson(share * rows, rows), abs=1e-12)


def test_five_right_answers_are_no_proof():
    assert accuracy_interval(5, 5).low < accuracy_interval(95, 100).low


def test_an_exam_without_rows_gives_no_estimate():
    assert accuracy_interval(0, 0) is None


@given(st.integers(1, 10**6).flatmap(lambda rows: st.tuples(st.integers(0, rows), st.just(rows))))
def test_the_value_lies_within_its_interval_which_has_a_width(exam):
    estimate = accuracy_interval(*exam)

    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.low < estimate.high


class Model:
    """A saved model that counts how often it was discarded."""

    save_seconds = load_seconds = 0.0

    def __init__(self):
        self.discarded = 0

    def discard(self):
        self.discarded += 1


def a_selector(best=None, returns="best"):
    selector = ModelSelector(returns)
    if best is not None:
        selector.replace_best(Candidate(Model(), ModelRecord(1, 10, estimate=best)))
    return selector


@pytest.mark.parametrize(
    ("candidate", "best", "wins"),
    [
        (an_estimate(0.5), None, True),
        (an_estimate(0.51), an_estimate(0.5), True),
        (an_estimate(0.5), an_estimate(0.5), False),
        (an_estimate(0.49), an_estimate(0.5), False),
        (Estimate(0.9, 0.4, 1.0), Estimate(0.6, 0.5, 0.7), False),
    ],
)
def test_the_best_is_replaced_on_a_strictly_better_bound_only(candidate, best, wins):
    assert a_selector(best).prefers(candidate) is wins


@pytest.mark.parametrize("best", [None, an_estimate(0.0), an_estimate(0.9)])
def test_a_model_that_sat_no_exam_is_never_the_best(best):
    assert a_selector(best).prefers(None) is False


@pytest.mark.parametrize("candidate", [None, an_estimate(0.1)])
@pytest.mark.parametrize("best", [None, an_estimate(0.9)])
def test_a_model_taught_every_row_is_accepted_without_an_exam(candidate, best):
    assert a_selector(best).prefers(candidate, has_every_row=True) is True


@pytest.mark.parametrize("candidate", [None, an_estimate(0.1)])
@pytest.mark.parametrize("best", [None, an_estimate(0.9)])
@pytest.mark.parametrize("whole", [False, True])
def test_a_teacher_that_returns_its_last_model_takes_every_model(candidate, best, whole):
    assert a_selector(best, "last").prefers(candidate, has_every_row=whole) is True


@pytest.mark.parametrize(("high", "worse"), [(0.79, True), (0.80, False), (0.81, False), (math.nan, True)])
def test_a_model_is_worse_if_its_whole_interval_is_below_the_best_value(high, worse):
    assert is_worse(Estimate(high - 0.02, high - 0.04, high), Estimate(0.80, 0.78, 0.82)) is worse


@given(st.floats(0, 1), st.floats(0, 0.5))
def test_a_model_is_never_worse_than_one_that_is_just_as_good(value, reach):
    estimate = Estimate(value, value - reach, value + reach)

    assert not is_worse(estimate, estimate)


@pytest.mark.parametrize(("value", "wins"), [(0.80, True), (0.79, True), (0.77, False), (0.90, True)])
def test_on_the_same_validation_rows_a_new_model_wins_unless_it_is_clearly_worse(value, wins):
    selector = a_selector(Estimate(0.80, 0.78, 0.82))

    assert selector.prefers(Estimate(value, value - 0.02, value + 0.02), validated=True) is wins


def test_a_model_without_an_estimate_is_replaced_by_any_that_has_one():
    selector = a_selector()
    selector.replace_best(Candidate(Model(), ModelRecord(1, 10)))

    assert selector.prefers(an_estimate(0.1))
    assert selector.prefers(an_estimate(0.1), validated=True)


UNDEFINED = Estimate(math.nan, -math.inf, math.inf)


@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize("has_every_row", [False, True])
def test_a_model_whose_score_is_not_finite_never_replaces_another(validated, has_every_row):
    selector = a_selector(an_estimate(0.1))

    assert not selector.prefers(UNDEFINED, validated=validated, has_every_row=has_every_row)


@pytest.mark.parametrize("validated", [False, True])
def test_a_model_whose_score_is_not_finite_is_better_than_none_and_worse_than_any_other(validated):
    selector = a_selector()
    assert selector.prefers(UNDEFINED, validated=validated)

    selector.replace_best(Candidate(Model(), ModelRecord(1, 10, estimate=UNDEFINED)))

    assert selector.prefers(an_estimate(0.1), validated=validated)


def test_the_best_model_and_the_one_before_are_kept_until_the_selector_closes():
    selector, (first, second, third) = a_selector(), (Model(), Model(), Model())

    selector.replace_best(Candidate(first, ModelRecord(1, 10)))
    selector.replace_best(Candidate(second, ModelRecord(1, 20)))
    assert (first.discarded, second.discarded) == (0, 0)
    selector.replace_best(Candidate(third, ModelRecord(1, 30)))
    assert (first.discarded, second.discarded, third.discarded) == (1, 0, 0)
    selector.close()
    assert (first.discarded, second.discarded, third.discarded) == (1, 1, 1)


def test_the_standard_error_is_the_one_of_the_interval():
    assert accuracy_interval(80, 100).standard_error == pytest.approx(0.04)
