"""The state of Auto: the last lesson, the validation rows, and the time that is reserved for them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers import Deck, Lesson
from fitwithin.teachers._auto.state import _LEAST_SECONDS, TeachingState
from fitwithin.testing import FakeClock
from teacher_driver import Driver, a_state, cost_estimates, driven


def taught_first(state, **settings):
    """Teach the first lesson, and return what was asked."""
    return driven(state.teach_and_validate(state.lesson), **settings)


@given(st.integers(501, 20_000), st.integers(1, 400))
def test_lesson_validation_rows_holdout_rows_and_deck_share_the_pool(size, first):
    state = a_state(size, first)
    taught_first(state)

    kept_back = size - len(state.lesson) - state.deck.left
    assert len(state.lesson) == first
    assert kept_back == 2 * len(state.validation_set)
    assert state.max_rows == size - kept_back
    assert not np.isin(state.validation_set, np.concatenate([state.lesson, state.deck.deal(size)])).any()


@pytest.mark.parametrize(("size", "n_rows"), [(501, 50), (1999, 199), (4000, 200), (10_000, 400), (10**6, 10_000)])
def test_validation_rows_are_a_tenth_of_a_small_pool_and_a_smaller_part_of_a_large_one(size, n_rows):
    state = a_state(size, first=50)
    taught_first(state)

    assert len(state.validation_set) == n_rows


def test_the_first_exams_have_a_hundredth_of_the_time_since_their_cost_is_unknown():
    without_limit, limited = a_state(10**6), a_state(10**6, costs=cost_estimates(100))

    assert [exam.seconds for exam in without_limit.make_exams(250)] == [None, None]
    assert [(len(exam.rows), exam.seconds) for exam in limited.make_exams(250)] == [(10_000, 1.0)] * 2


@pytest.mark.parametrize(("seconds", "least", "most"), [(1e-3, 700, 1000), (1e-2, 256, 256), (1e-6, 10_000, 10_000)])
def test_only_as_many_validation_rows_are_used_as_the_first_exam_had_time_for_and_never_very_few(seconds, least, most):
    clock = FakeClock()
    state = a_state(10**6, costs=cost_estimates(100, clock=clock))

    taught_first(state, exam=seconds, clock=clock, cost=state.costs.cost)

    assert least <= len(state.validation_set) <= most
    for exam in state.make_exams(500):
        assert len(exam.rows) == len(state.validation_set), "later models are compared on the same rows"


def test_a_lesson_has_an_exam_on_holdout_rows_and_then_one_on_as_many_validation_rows():
    state = a_state()

    (lesson,) = taught_first(state).asked

    assert isinstance(lesson, Lesson)
    holdout, validation = lesson.exams
    assert validation.purpose == "validation"
    assert holdout.purpose == "holdout"
    assert len(validation.rows) == len(holdout.rows) == len(state.validation_set)
    assert not np.isin(validation.rows, holdout.rows).any()


def neighbors_state(limit):
    """The state of a learner whose exams take 1 ms a row for each 100,000 rows of the model, after its first lesson."""
    clock = FakeClock()
    state = a_state(200_000, first=1000, costs=cost_estimates(limit, clock=clock))
    driver = Driver(cost=state.costs.cost, exam=lambda n_rows: 1e-8 * n_rows, clock=clock)
    taught_first(state, driver=driver)
    driver.answered.clear()
    return state, driver


@pytest.mark.parametrize("limit", [2.0, 10.0, 30.0])
def test_a_model_that_is_slow_to_examine_is_examined_on_the_first_of_the_same_rows(limit):
    state, driver = neighbors_state(limit)
    before = state.costs.seconds_left

    driven(state.teach_and_validate(np.arange(100_000)), driver=driver)

    holdout, validation = driver.answered
    assert (holdout.purpose, validation.purpose) == ("holdout", "validation"), "a chosen model has an estimate"
    assert 100 <= len(validation.rows) < len(state.validation_set)
    np.testing.assert_array_equal(validation.rows, state.validation_set[: len(validation.rows)])
    assert before - state.costs.seconds_left <= max(0.3 * before, 2 * 100 * 1e-3)
    assert len(np.unique(holdout.rows)) == len(holdout.rows) <= len(validation.rows)


def test_holdout_rows_without_time_are_examined_at_the_end():
    state, driver = neighbors_state(10.0)
    lesson = np.concatenate([state.lesson, state.deck.deal(100_000)])
    driven(state.teach_and_validate(lesson), driver=driver)
    (before, _), driver.answered = driver.answered, []

    driven(state.examine_unused_rows(), driver=driver)

    (exam,) = driver.answered
    assert exam.purpose == "holdout"
    assert 0 < len(exam.rows) <= len(state.validation_set) - len(before.rows)
    assert not np.isin(exam.rows, before.rows).any()


def test_the_price_of_exams_lets_a_large_lesson_be_planned():
    state, _ = neighbors_state(10.0)
    state.costs.cost.observe_exam(1000, 0.1, model_rows=10_000)

    assert state.reserved_seconds(180_000) < 0.3 * state.costs.seconds_left


def test_validation_rows_give_the_score_and_the_error_rate():
    state = a_state()
    wrong = set(state.validation_set[:30].tolist())

    driven(state.teach_and_validate(state.lesson), lambda rows: np.isin(rows, list(wrong)))

    assert state.error_rate == 30 / len(state.validation_set)
    assert state.score.value == pytest.approx(1 - state.error_rate)


def test_the_lesson_is_the_last_one_that_was_taught():
    state = a_state()
    larger = np.concatenate([state.lesson, state.deck.deal(100)])

    driven(state.teach_and_validate(larger))

    assert (state.lesson == larger).all()


def test_without_validation_rows_there_is_no_score_and_no_error():
    state = a_state(600, first=600)

    session = driven(state.teach_and_validate(state.lesson))

    assert not session.exams
    assert state.score is None


def test_without_a_time_limit_a_lesson_has_none():
    state = a_state()

    assert next(state.teach_and_validate(state.lesson)).stop_after is None


@given(st.floats(0, 1000), st.floats(0.01, 1), st.floats(0, 1e-2))
def test_a_lesson_leaves_time_for_the_exams_of_its_model(limit, share, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    lesson, n_rows = next(state.teach_and_validate(state.lesson, share)), state.count_exam_rows(250)

    assert 0 < lesson.stop_after <= max(share * limit, _LEAST_SECONDS), "a learner takes at least one step"
    assert lesson.stop_after == _LEAST_SECONDS or lesson.stop_after + state.costs.exam_seconds(2 * n_rows) <= limit


@given(st.floats(0.01, 1000), st.integers(1, 10**5), st.floats(0, 1e-2))
def test_the_reserved_time_is_finite_and_longer_than_the_exams(limit, rows, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    n_exam_rows = 2 * state.count_exam_rows(rows)
    assert state.costs.exam_seconds(n_exam_rows, rows) < state.reserved_seconds(rows) < math.inf


@pytest.mark.parametrize(("seconds", "was_cut_short"), [(1.0, False), (30.0, True)])
def test_a_lesson_was_cut_short_if_its_fit_takes_longer_than_its_time(seconds, was_cut_short):
    clock = FakeClock()
    state = a_state(costs=cost_estimates(100, clock=clock, can_stop_early=True))

    driven(state.teach_and_validate(state.lesson, 0.1), cost=state.costs.cost, lesson=lambda rows: seconds)

    assert state.was_cut_short is was_cut_short


# The end: unused rows, or a last fit with every row


def taught_state(n_rows, size=6000, driver=None, **settings):
    state = a_state(size, **settings)
    lesson = np.concatenate([state.lesson, state.deck.deal(n_rows - len(state.lesson))])
    driven(state.teach_and_validate(lesson), driver=driver)
    return state


def test_unused_rows_are_examined_for_the_estimate_and_are_no_holdout_rows():
    state = taught_state(1000)

    (exam,) = driven(state.examine_unused_rows()).asked

    # Holdout rows would be held out from a later fit that goes on.
    assert exam.purpose == "mistakes"
    assert not np.isin(exam.rows, np.concatenate([state.lesson, state.validation_set])).any()


def test_unused_rows_are_not_examined_if_the_last_model_is_not_the_best_one_or_gone():
    driver = Driver()
    worse, gone = taught_state(1000, driver=driver), taught_state(1000)
    driver.answer = lambda rows: rows % 2 == 0
    driven(worse.teach_and_validate(worse.lesson[:500]), driver=driver)
    gone.has_model = False

    assert not driven(worse.examine_unused_rows()).asked
    assert not driven(gone.examine_unused_rows()).asked


def test_unused_rows_are_not_examined_if_the_user_chose_the_holdout_rows():
    deck = Deck(6000, np.random.default_rng(0))
    deck.hold_out(np.arange(100), np.arange(100, 200))
    state = TeachingState(deck, 250)
    driven(state.teach_and_validate(state.lesson))

    assert not driven(state.examine_unused_rows()).asked


def test_a_refit_takes_every_row_of_the_pool_if_the_best_model_has_all_others():
    state = taught_state(5600)
    assert not state.deck.left

    (refit,) = driven(state.refit_with_every_row()).asked

    assert refit.refit is True
    (exam,) = refit.exams
    assert exam.purpose == "validation"
    np.testing.assert_array_equal(exam.rows, state.validation_set)
    assert sorted(refit.rows.tolist()) == list(range(6000))


@pytest.mark.parametrize("why_not", ["rows are left", "cut short", "not allowed", "no time", "not the best"])
def test_there_is_no_refit_otherwise(why_not):
    limit = 12.0 if why_not == "no time" else 100.0
    state = taught_state(
        5000 if why_not == "rows are left" else 5600, costs=cost_estimates(limit, lessons=[(5600, 10)])
    )
    if why_not == "cut short":
        state.best = replace(state.best, was_cut_short=True)
    if why_not == "not allowed":
        state.deck.can_refit = False
    if why_not == "not the best":
        state.best = replace(state.best, rows=state.lesson[:300])

    assert not driven(state.refit_with_every_row()).asked


# The best lesson, by the rule of the session


def share_wrong(share, *, first=True):
    """A model that gets a share of its rows wrong: the first ones, or the last ones."""
    return lambda rows: (np.arange(len(rows)) < share * len(rows))[:: 1 if first else -1]


def taught_twice(n_rows, other, **settings):
    """The state after a lesson of 1000 rows with a score of 0.8 and one of `n_rows`, whose score is 1 - `other`."""
    state, driver = a_state(10_000), Driver(share_wrong(0.2))
    driven(state.teach_and_validate(np.concatenate([state.lesson, state.deck.deal(750)])), driver=driver)
    driver.answer = share_wrong(other, first=False)
    new = state.deck.deal(max(0, n_rows - 1000))
    driven(state.teach_and_validate(np.concatenate([state.lesson, new])[:n_rows], **settings), driver=driver)
    return state, driver


@pytest.mark.parametrize(
    ("n_rows", "other", "is_best"),
    [(2000, 0.21, True), (1000, 0.21, False), (2000, 0.4, False), (500, 0.15, True)],
)
def test_a_larger_lesson_with_a_slightly_lower_score_is_the_best_one_and_a_smaller_one_is_not(n_rows, other, is_best):
    state, _ = taught_twice(n_rows, other)

    assert len(state.best.rows) == (n_rows if is_best else 1000)
    assert state.has_best_model is is_best
    assert state.retries == (not is_best and n_rows <= 1000)


def test_a_lesson_with_misclassified_rows_is_the_best_one_by_its_score_only():
    lower, _ = taught_twice(2000, 0.21, oversampled=True)
    higher, _ = taught_twice(2000, 0.19, oversampled=True)

    assert len(lower.best.rows) == 1000
    assert len(higher.best.rows) == 2000


@given(st.integers(1, 3000), st.floats(0, 1), st.booleans())
def test_it_agrees_with_the_session(n_rows, other, oversampled):
    state, driver = taught_twice(n_rows, other, oversampled=oversampled)

    kept = driver.selection.selector.best
    np.testing.assert_array_equal(state.best.rows, kept.record.rows)
    assert state.best.score is kept.validation.score
    assert state.best.n_validation_rows == len(kept.validation.rows)
