"""The size of Auto's next plain lesson, and the fits that measure what it would take."""

import contextlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.cost import LearnerTraits
from fitwithin._core.exceptions import LearnerDied, OutOfMemory
from fitwithin._core.memory_model import MemoryModel
from fitwithin.teachers import LessonReport
from fitwithin.teachers._auto.bet import _MAX_MEASUREMENTS, choose_bet, choose_measurement, find_chance, teach_bets
from fitwithin.testing import FakeClock
from teacher_driver import Driver, a_state, cost_estimates, driven

seconds = st.floats(1e-4, 50)


def state_after(limit=100.0, took=1.0, *, size=100_000, exam=1e-6, spent=0.0, n_trained=2000, **settings):
    """The state after lessons of 250 and 2000 rows, the larger one with these seconds."""
    clock, lessons = FakeClock(), [(250, 0.125 * took), (2000, took)]
    state = a_state(size, costs=cost_estimates(limit, lessons=lessons, exam=exam, clock=clock, **settings))
    state.n_trained = n_trained
    clock.advance(spent)
    return state


def bet_of(state):
    return choose_bet(state, state.max_rows)


@given(st.floats(0.01, 1000), seconds, st.integers(6000, 10**5), st.booleans(), st.booleans())
def test_a_bet_has_enough_chance_more_rows_than_the_last_and_no_more_than_there_are(
    limit, took, size, can_stop_early, killable
):
    state = state_after(limit, took, size=size, can_stop_early=can_stop_early, killable=killable)

    bet = bet_of(state)

    if bet:
        assert min(1.1 * 2000, state.max_rows) <= bet <= state.max_rows
        assert find_chance(state, bet) >= 0.25
        assert state.costs.may_begin(bet), "the session would refuse it, and end"


@given(st.floats(0, 100), st.floats(0, 100), seconds, st.booleans())
def test_more_time_never_makes_the_bet_much_smaller(spent, more, took, can_stop_early):
    less, most = (
        bet_of(state_after(200, took, spent=gone, can_stop_early=can_stop_early)) for gone in (spent + more, spent)
    )

    # A size with the larger expected gain may lie below one that is nearly sure by some steps of the grid.
    assert most >= 0.75 * less


@pytest.mark.parametrize("killable", [False, True])
def test_a_fit_that_cannot_be_killed_is_only_begun_if_it_is_nearly_sure_to_end(killable):
    state = state_after(10.0, killable=killable)

    assert (find_chance(state, bet_of(state)) >= 0.995) is not killable


@pytest.mark.parametrize("can_stop_early", [False, True])
def test_without_a_time_limit_every_row_is_the_bet(can_stop_early):
    state = state_after(math.inf, can_stop_early=can_stop_early)

    assert bet_of(state) == state.max_rows


def test_every_row_is_the_bet_if_that_is_likely_to_end_although_fewer_gain_more_by_expectation():
    state = state_after(100.0, 0.8)

    assert find_chance(state, state.max_rows) < 0.99
    assert bet_of(state) == state.max_rows


@pytest.mark.parametrize("spent", [99.9, 100.0])
def test_there_is_no_bet_without_time(spent):
    assert bet_of(state_after(100, spent=spent)) == 0


def test_a_bet_that_cannot_be_killed_is_not_every_row_because_that_is_likely_to_end():
    # Every row ends in time with a chance of nine in ten.
    bet = bet_of(state_after(4.0, size=6000, killable=False))

    assert bet < 5400


def test_nothing_is_taught_when_every_row_is():
    state = state_after()
    state.n_trained = state.max_rows

    assert not driven(teach_bets(state)).asked


def test_a_learner_that_is_worth_something_when_it_stops_early_bets_on_more_rows():
    traits = LearnerTraits(worth_share=0.6)
    stoppable, plain = (bet_of(state_after(20.0, can_stop_early=can, traits=traits)) for can in (True, False))

    assert stoppable > 1.2 * plain


# Measurements


def session_of(limit, seconds, *, size=100_000, setup=None, **settings):
    """The lessons after the first one of a learner whose fits take `seconds`, until the deadline or the end."""
    clock = FakeClock()
    state = a_state(size, costs=cost_estimates(limit, clock=clock, can_stop_early=setup is not None, **settings))
    driver = Driver(cost=state.costs.cost, lesson=seconds, setup=setup, exam=1e-6, clock=clock)
    driven(state.teach(state.order), driver=driver)
    return driven(teach_bets(state), driver=driver), clock, state


def test_a_learner_that_cannot_stop_measures_in_at_most_two_lessons_and_then_bets():
    session, clock, _ = session_of(60.0, lambda n_rows: 2e-3 * n_rows)

    sizes = [len(rows) for rows in session.lessons]
    assert sizes == sorted(sizes)
    assert 1 <= sum(2e-3 * size < 0.12 * 60 for size in sizes) <= 2
    assert 0.4 * 30_000 < sizes[-1] < 30_000
    assert clock() <= 60.0


@pytest.mark.parametrize("growth", [0.9, 1.1, 1.5, 2.0])
def test_measurements_take_a_small_part_of_the_time_and_a_bet_the_largest(growth):
    def seconds(n_rows):
        return 200 * (n_rows / 95_000) ** growth

    session, clock, _ = session_of(60.0, seconds)

    taken = [seconds(len(rows)) for rows in session.lessons]
    assert taken[0] <= 0.15 * 60.0
    assert max(taken) >= 0.3 * 60.0
    assert clock() <= 60.0


def test_before_every_row_that_should_end_measurements_take_a_small_part_of_that_fit():
    session, clock, state = session_of(1000.0, lambda n_rows: 1e-3 * n_rows)

    assert len(session.lessons[-1]) == state.max_rows
    assert clock() < 1.4 * 1e-3 * state.max_rows


def test_a_learner_that_knows_its_steps_begins_large_and_gives_up_after_its_first_steps():
    session, clock, _ = session_of(30.0, lambda n_rows: 2e-4 * n_rows, size=10**6, setup=lambda n_rows: 1e-6 * n_rows)

    assert 1 <= len(session.given_up) <= 4
    assert all(request.give_up_over is not None for request in session.given_up)
    affordable = 30.0 / 2e-4
    assert 0.5 * affordable < len(session.lessons[-1]) < 2 * affordable
    assert clock() <= 30.0 + 1e-6


def test_a_fit_that_was_projected_to_end_in_time_goes_on():
    session, _, state = session_of(1000.0, lambda n_rows: 1e-3 * n_rows, setup=lambda n_rows: 1e-6 * n_rows)

    assert not session.given_up
    assert [len(rows) for rows in session.lessons] == [state.max_rows]


@pytest.mark.parametrize("least_share", [0.0, 0.5])
def test_a_sure_bet_is_given_up_if_it_gets_too_few_steps_to_be_worth_more_than_a_smaller_fit(least_share):
    session, _, state = session_of(
        400.0,
        lambda n_rows: (1e-3 if n_rows <= 2000 else 1e-2) * n_rows,
        setup=lambda n_rows: 1e-6 * n_rows,
        traits=LearnerTraits(least_share=least_share),
    )

    first, last = session.asked[0], session.lessons[-1]
    assert len(first.rows) == state.max_rows
    assert (first in session.given_up) is (least_share > 0)
    assert (len(last) < state.max_rows) is (least_share > 0)


def test_after_the_measurements_that_gave_up_the_next_fit_goes_on():
    clock = FakeClock()
    costs = cost_estimates(30.0, lessons=[(250, 0.5, 0.1), (2000, 1.0, 0.1)], clock=clock, can_stop_early=True)
    state = a_state(100_000, costs=costs)
    steps, reports = teach_bets(state), []
    request = next(steps)
    while request.give_up_over is not None:
        reports.append(request)
        request = steps.send(LessonReport(0.0, gave_up=True))

    assert 1 <= len(reports) <= _MAX_MEASUREMENTS
    assert request.stop_after is not None


def test_a_second_lesson_is_tried_whatever_the_first_one_took_unless_nothing_can_kill_it():
    for killable in (True, False):
        state = a_state(100_000, costs=cost_estimates(100, lessons=[(250, 500.0)], killable=killable))
        state.n_trained = 250

        assert bool(driven(teach_bets(state)).asked) is killable


def test_where_nothing_can_kill_it_a_learner_that_stops_after_any_step_is_tried_again():
    first = LearnerTraits(growth=1.2)
    tried = []
    for knows_steps in (False, True):
        costs = cost_estimates(
            10, lessons=[(250, 40.0)], traits=first, killable=False, can_stop_early=True, knows_steps=knows_steps
        )
        state = a_state(100_000, costs=costs)
        state.n_trained = 250
        tried.append(bool(driven(teach_bets(state)).asked))

    assert tried == [True, False]


def test_every_row_needs_no_measurement_if_it_is_nearly_sure_to_end():
    state = state_after(120.0, traits=LearnerTraits(spread=0.01))

    assert bet_of(state) == state.max_rows
    assert choose_measurement(state, state.max_rows, 7.0) == 0


def test_a_bet_that_takes_too_much_memory_is_followed_by_a_smaller_one():
    state = state_after(math.inf)
    state.costs.memory = MemoryModel(1 << 30)
    steps = teach_bets(state)
    first = next(steps)
    assert len(first.rows) == state.max_rows

    # The session notes it before it tells the teacher.
    state.costs.memory.observe_stop(len(first.rows))
    second = steps.throw(OutOfMemory(2, 1))

    assert state.n_trained < len(second.rows) < len(first.rows)


def test_a_bet_whose_learner_fails_is_followed_by_fewer_rows_and_then_by_its_failure():
    state, failure = state_after(math.inf), LearnerDied("it was killed by SIGSEGV")
    steps = teach_bets(state)
    asked = [len(next(steps).rows)]
    with contextlib.suppress(StopIteration):
        while True:
            asked.append(len(steps.throw(failure if len(asked) == 1 else LearnerDied("again")).rows))

    assert asked[0] == 96_000
    assert all(2 * less <= more for more, less in itertools.pairwise(asked))
    assert asked[-1] < 2 * 2 * state.n_trained
    assert state.failure is failure


def test_the_rows_of_a_bet_begin_with_those_of_the_lessons_before():
    session, _, state = session_of(60.0, lambda n_rows: 2e-3 * n_rows)

    for rows in session.lessons:
        np.testing.assert_array_equal(rows, state.order[: len(rows)])


def test_a_first_model_that_was_cut_short_gets_the_time_left_if_no_larger_fit_would_end():
    clock = FakeClock()
    state = a_state(costs=cost_estimates(10, clock=clock, can_stop_early=True))
    driver = Driver(cost=state.costs.cost, lesson=lambda n_rows: 0.1 * n_rows, setup=lambda n_rows: 0.1, clock=clock)
    driven(state.teach(state.order, most_seconds=0.3), driver=driver)

    lessons = driven(teach_bets(state), driver=driver).lessons

    assert [len(rows) for rows in lessons] == [state.n_first]
    assert clock() > 9.0
