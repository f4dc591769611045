"""Auto's plan of the next lesson."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.records import Estimate
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.plan import Planner, plan_next_lesson
from fitwithin.teachers._auto.state import BestLesson
from fitwithin.testing import FakeClock
from teacher_driver import a_state, cost_estimates

searches = st.none() | st.builds(MistakeSearch, st.floats(0, 1))
seconds = st.floats(1e-4, 50)


def state_after(
    limit=100.0, took=1.0, *, size=100_000, exam=1e-6, can_stop_early=False, spent=0.0, has_scores=True, killable=True
):
    """The state after lessons of 250 and 2000 rows, the larger one of which took so many seconds."""
    clock, lessons = FakeClock(), [(250, 0.125 * took), (2000, took)]
    costs = cost_estimates(limit, lessons=lessons, exam=exam, can_stop_early=can_stop_early, clock=clock)
    costs.killable = killable
    state = a_state(size, costs=costs)
    state.lesson = np.concatenate([state.lesson, state.deck.deal(1750)])
    state.has_model, state.error_rate = True, 0.25
    if has_scores:
        score = Estimate(0.75, 0.74, 0.76)
        state.curve.observe(250, 0.7, 0.005)
        state.curve.observe(2000, score.value, score.standard_error)
        state.best, state.score = BestLesson(state.lesson, score), score
    clock.advance(spent)
    return state


def find_largest(state, *, emphasis=False, search=None):
    return Planner(state, search)._find_largest_that_ends(
        len(state.lesson), state.costs.seconds_left, emphasis=emphasis
    )


@given(st.floats(0.01, 1000), seconds, st.integers(6000, 10**6), st.booleans(), st.booleans(), searches, st.booleans())
def test_a_lesson_has_enough_chance_more_rows_than_the_last_and_no_more_than_there_are(
    limit, took, size, can_stop_early, killable, search, has_scores
):
    state = state_after(limit, took, size=size, can_stop_early=can_stop_early, killable=killable, has_scores=has_scores)

    plan = plan_next_lesson(state, search)

    if plan is None:
        return
    assert plan.n_rows <= state.max_rows
    assert plan.is_retry or plan.n_rows > len(state.lesson)
    assert search is not None or not plan.emphasis
    if not state.was_cut_short:
        within = state.costs.seconds_left - state.reserved_seconds(plan.n_rows)
        assert state.costs.chance_to_end(plan.n_rows, within) >= Planner(state, search)._min_chance - 1e-9
        assert state.costs.may_begin(plan.n_rows)


@given(st.floats(0, 100), st.floats(0, 100), seconds, st.booleans(), st.booleans())
def test_more_time_never_makes_the_largest_lesson_smaller(spent, more, took, can_stop_early, killable):
    settings = {"took": took, "can_stop_early": can_stop_early, "killable": killable}

    less, most = (find_largest(state_after(100, spent=min(gone, 100), **settings)) for gone in (spent + more, spent))

    assert less <= most


@pytest.mark.parametrize("can_stop_early", [False, True])
def test_without_a_time_limit_every_row_can_be_taught(can_stop_early):
    state = state_after(math.inf, can_stop_early=can_stop_early)

    assert find_largest(state) == state.max_rows
    assert plan_next_lesson(state, None).final_rows == state.max_rows


@given(searches, st.booleans())
def test_nothing_is_planned_when_every_row_is_taught(search, can_stop_early):
    state = state_after(math.inf, can_stop_early=can_stop_early)
    state.lesson = np.concatenate([state.lesson, state.deck.deal(state.deck.left)])
    state.best = BestLesson(state.lesson, state.score)

    assert plan_next_lesson(state, search) is None


def test_nothing_is_planned_without_time():
    assert plan_next_lesson(state_after(100, spent=100.0), None) is None


def test_the_gain_of_a_plan_counts_the_lesson_and_a_last_one_after_it():
    plan = plan_next_lesson(state_after(100, 0.5), None)

    assert plan.gain > 0
    assert plan.expected_score > 0.75
    assert plan.final_rows >= plan.n_rows


def test_all_rows_are_taught_if_there_is_time_although_the_curve_is_flat():
    state = state_after(1000.0, 0.1)
    # One lucky score, and none that would let one expect more.
    for rows in (2000, 4000, 8000):
        state.curve.observe(rows, 0.70, 1e-4)

    assert plan_next_lesson(state, None).n_rows == state.max_rows


def test_a_flat_curve_is_not_worth_the_time_if_it_is_too_short_for_all_rows():
    state = state_after(10.0, 1.0)
    state.curve = LearningCurve()
    for rows in (250, 500, 1000, 2000, 2000):
        state.curve.observe(rows, 0.60, 1e-4)

    assert plan_next_lesson(state, None) is None


def test_a_second_lesson_is_tried_whatever_the_first_one_took():
    state = a_state(100_000, costs=cost_estimates(100, lessons=[(250, 500.0)]))

    assert 250 < plan_next_lesson(state, None).n_rows <= 2500
    state.costs.killable = False
    assert plan_next_lesson(state, None) is None


@pytest.mark.parametrize(("spent", "is_planned"), [(0.0, True), (9.0, False)])
def test_a_learner_that_was_cut_short_gets_a_larger_lesson_while_much_time_is_left(spent, is_planned):
    clock = FakeClock()
    costs = cost_estimates(10, lessons=[(250, 100.0)], can_stop_early=True, clock=clock)
    state = a_state(100_000, costs=costs)
    state.was_cut_short = True
    clock.advance(spent)

    assert (plan_next_lesson(state, None) is not None) is is_planned


def test_the_search_for_mistakes_takes_time_from_the_lesson():
    state, search = state_after(20, 0.5, exam=1e-3), MistakeSearch(0.5)

    assert find_largest(state, emphasis=True, search=search) < find_largest(state)


def test_mistakes_are_among_the_rows_if_these_helped_before():
    helped, hurt = state_after(100, 0.5), state_after(100, 0.5)
    helped.curve.observe(2000, 0.80, 0.005, emphasis=True)
    hurt.curve.observe(2000, 0.70, 0.005, emphasis=True)

    assert plan_next_lesson(helped, MistakeSearch(0.2)).emphasis
    assert not plan_next_lesson(hurt, MistakeSearch(0.2)).emphasis
    assert not plan_next_lesson(helped, None).emphasis


def test_other_rows_are_tried_if_no_larger_lesson_ends_in_time_but_not_for_ever():
    states = (state_after(100, 10.0, spent=spent) for spent in np.arange(80, 95, 0.2))
    state = next(state for state in states if not find_largest(state))
    state.curve.observe(2000, 0.77, 0.005, emphasis=True)

    plan = plan_next_lesson(state, MistakeSearch(0.2))

    assert plan.is_retry
    assert plan.n_rows == len(state.lesson)
    state.retries = 99
    assert plan_next_lesson(state, MistakeSearch(0.2)) is None


@given(st.floats(0.1, 1000), seconds)
def test_a_memory_limit_is_a_limit_of_the_plan(limit, took):
    state = state_after(limit, took)
    state.costs.memory.limit = 10**8
    state.costs.memory.observe_stop(10_000)

    plan = plan_next_lesson(state, None)

    assert plan is None or plan.n_rows <= 10_000
