"""Auto's lesson with misclassified rows, in the time after the plain ones."""

import numpy as np
import pytest

from fitwithin.teachers._auto.teacher import choose_size, teach_oversampled
from fitwithin.testing import FakeClock
from teacher_driver import Driver, a_state, cost_estimates, driven, every_fifth


def taught(state, answer=every_fifth):
    return driven(teach_oversampled(state), answer)


def test_a_small_lesson_judges_as_many_other_rows_as_the_large_one_has():
    state = a_state(20_000)

    session = taught(state)

    small, large = session.lessons
    (search,) = [exam for exam in session.exams if exam.purpose == "mistakes"]
    assert len(small) == state.n_usable // 10
    assert len(search.rows) == len(large) == int(0.45 * state.n_usable)
    assert not np.isin(search.rows, small).any()
    assert not np.isin(search.rows, np.concatenate([state.validation_set, state.holdout_rows])).any()


def test_the_large_lesson_holds_the_mistakes_of_both_halves():
    state = a_state(20_000)

    _, large = taught(state).lessons

    assert len(np.unique(large)) == len(large)
    assert np.mean(every_fifth(large)) == pytest.approx(0.2 + 0.8 * 0.2, abs=0.03)
    assert not np.isin(large, np.concatenate([state.validation_set, state.holdout_rows])).any()


def test_the_lesson_is_marked_as_oversampled_and_the_small_one_is_not():
    small, large = [request for request in taught(a_state(20_000)).asked if hasattr(request, "oversampled")]

    assert (small.oversampled, large.oversampled) == (False, True)


@pytest.mark.parametrize("share_wrong", [0.0, 1.0])
def test_a_model_without_mistakes_and_one_with_mistakes_only_leave_a_lesson_of_the_same_size(share_wrong):
    state = a_state(20_000)

    _, large = taught(state, lambda rows: np.full(len(rows), bool(share_wrong))).lessons

    assert len(np.unique(large)) == len(large) == int(0.45 * state.n_usable)


@pytest.mark.parametrize("size", [501, 1000, 4000])
def test_a_pool_that_is_too_small_has_none(size):
    assert not taught(a_state(size)).asked


def test_there_is_none_without_time_for_both_lessons():
    state = a_state(20_000, costs=cost_estimates(10, lessons=[(250, 1.0), (2000, 8.0)]))

    assert not taught(state).asked


def test_its_lessons_and_its_search_end_in_time():
    for limit in (30.0, 60.0, 120.0):
        clock = FakeClock()
        costs = cost_estimates(limit, lessons=[(250, 0.25), (2000, 2.0), (20_000, 20.0)], exam=1e-4, clock=clock)
        state = a_state(200_000, costs=costs)
        driver = Driver(cost=costs.cost, lesson=lambda n_rows: 1e-3 * n_rows, exam=1e-4, clock=clock)

        session = driven(teach_oversampled(state), driver=driver)

        assert clock() <= limit
        if session.asked:
            small, large = map(len, session.lessons)
            assert large >= small


def test_more_time_never_makes_the_lesson_smaller():
    sizes = [
        choose_size(a_state(20_000, costs=cost_estimates(limit, lessons=[(250, 0.25), (2000, 2.0)])))
        for limit in (1, 2, 5, 10, 20, 50, 100)
    ]

    assert sizes == sorted(sizes)
    assert sizes[-1] == int(0.45 * 19_000)
