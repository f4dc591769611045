"""The state of Auto: the last lesson, the validation rows, and the time that is reserved for them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers import Lesson
from fitwithin.testing import FakeClock
from teacher_driver import a_state, an_outlook, driven


@given(st.integers(501, 20_000), st.integers(1, 400))
def test_lesson_validation_rows_holdout_rows_and_deck_share_the_pool(size, first):
    state = a_state(size, first)
    driven(state.enlarge_validation_set())

    kept_back = size - len(state.lesson) - state.deck.left
    assert len(state.lesson) == first
    assert kept_back == 2 * len(state.validation_set)
    assert state.max_rows == size - kept_back
    assert not np.isin(state.validation_set, np.concatenate([state.lesson, state.deck.deal(size)])).any()


@pytest.mark.parametrize(("size", "n_rows"), [(501, 50), (1999, 199), (4000, 200), (10_000, 400), (10**6, 5000)])
def test_validation_rows_are_a_tenth_of_a_small_pool_and_a_smaller_part_of_a_large_one(size, n_rows):
    state = a_state(size, first=50)
    driven(state.enlarge_validation_set())

    assert len(state.validation_set) == n_rows


def test_the_first_exam_is_small_since_its_cost_is_unknown():
    assert len(a_state(10**6).validation_set) == 200


def test_only_as_many_validation_rows_are_used_as_are_worth_their_time_and_never_fewer_than_before():
    state, slower = (a_state(10**6, outlook=an_outlook(100, exam=exam)) for exam in (1e-3, 1.0))
    driven(state.enlarge_validation_set())
    driven(slower.enlarge_validation_set())

    assert len(state.validation_set) == 1500
    assert len(slower.validation_set) == 200


def test_a_lesson_is_followed_by_validation_rows_and_as_many_holdout_rows():
    state = a_state()

    lesson, validation, holdout = driven(state.teach_and_validate(state.lesson)).asked

    assert isinstance(lesson, Lesson)
    assert validation.purpose == "validation"
    assert holdout.purpose == "holdout"
    assert len(validation.rows) == len(holdout.rows) == len(state.validation_set)
    assert not np.isin(validation.rows, holdout.rows).any()


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

    assert next(state.teach_and_validate(state.lesson)).within is None


@given(st.floats(0, 1000), st.floats(0.01, 1), st.floats(0, 1e-2))
def test_a_lesson_leaves_time_for_the_exams_of_its_model(limit, share, exam):
    state = a_state(outlook=an_outlook(limit, exam=exam))

    within = next(state.teach_and_validate(state.lesson, share)).within

    assert 0 <= within <= share * limit
    assert within == 0 or within + state.outlook.exam_seconds(2 * len(state.validation_set)) <= limit


@given(st.floats(0.01, 1000), st.integers(1, 10**5), st.floats(0, 1e-2))
def test_the_reserved_time_is_finite_and_longer_than_the_exams(limit, rows, exam):
    state = a_state(outlook=an_outlook(limit, exam=exam))

    assert state.outlook.exam_seconds(2 * len(state.validation_set)) < state.reserved_seconds(rows) < math.inf


@pytest.mark.parametrize(("seconds", "was_cut_short"), [(1.0, False), (30.0, True)])
def test_a_lesson_was_cut_short_if_its_fit_takes_longer_than_its_time(seconds, was_cut_short):
    clock = FakeClock()
    state = a_state(outlook=an_outlook(100, clock=clock, can_stop_early=True))

    driven(state.teach_and_validate(state.lesson, 0.1), cost=state.outlook.cost, lesson=lambda rows: seconds)

    assert state.was_cut_short is was_cut_short
