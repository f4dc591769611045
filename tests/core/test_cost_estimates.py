"""What a teacher may afford."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.cost import CostEstimates, LearnerTraits
from fitwithin.testing import FakeClock
from teacher_driver import cost_estimates


def test_without_a_budget_there_is_time_for_everything():
    costs = CostEstimates()

    assert costs.seconds_left == math.inf
    assert costs.count_exam_rows(0.01, 10**9) == 10**9
    assert (costs.fit_seconds(1000), costs.exam_seconds(1000)) == (0.0, 0.0)


def test_what_is_left_goes_by_the_budget():
    clock = FakeClock()
    costs = cost_estimates(10, clock=clock)
    clock.advance(4)

    assert costs.seconds_left == 6


def test_an_exam_that_cannot_be_killed_is_expected_to_grow_with_the_rows_of_the_model_if_exams_do():
    costs = cost_estimates()
    assert costs.exam_seconds(100, 1000) == 0.0
    for model_rows, seconds in ((1000, 1.0), (2000, 1.5)):
        costs.cost.observe_exam(100, seconds, model_rows=model_rows)
    assert 1.5 < costs.exam_seconds(100, 8000) < 6.0

    costs.killable = False
    assert costs.exam_seconds(100, 8000) == pytest.approx(6.0)
    assert costs.exam_seconds(100, 1000) == pytest.approx(1.0)

    costs.cost.observe_exam(100, 1.5, model_rows=4000)
    assert costs.exam_seconds(100, 8000) == pytest.approx(1.5), "twice the rows took no longer"


def test_a_lesson_reserves_time_for_its_exams_for_saving_its_model_and_for_delays():
    costs = cost_estimates(10, lessons=[(1000, 2.0)])
    costs.cost.observe_handover(1000, 5.0)
    costs.cost.observe_exam(100, 0.5, model_rows=1000)
    costs.cost.observe_save(1000, 0.25)

    reserves = costs.reserves(1000, 200)

    assert reserves.exams == pytest.approx(1.0)
    assert reserves.load == pytest.approx(0.25)
    assert 0.0 < reserves.delay < 0.5
    assert reserves.checkpoint == 0.0
    assert reserves.total == pytest.approx(reserves.exams + reserves.load + reserves.delay)
    assert costs.reserves(1000, 0).exams == 0.0


def test_steps_are_known_once_a_fit_told_them():
    costs = cost_estimates(lessons=[(100, 2.0)], can_stop_early=True)
    assert not costs.knows_steps

    costs.cost.observe_fit(100, 2.0, 0.5)

    assert costs.knows_steps


def test_lessons_and_exams_cost_what_the_last_ones_did():
    costs = cost_estimates(lessons=[(100, 2.0)], exam=0.01)

    assert costs.fit_seconds(100) == 2.0
    assert costs.exam_seconds(300) == pytest.approx(3.0)


@pytest.mark.parametrize(("seconds", "most", "rows"), [(10, 50, 50), (10, 500, 100), (0, 500, 0), (50, 0, 0)])
def test_as_many_rows_are_examinable_as_the_time_allows(seconds, most, rows):
    assert cost_estimates(100, exam=0.1).count_exam_rows(seconds, most) == rows


@given(st.floats(0, 1e6), st.integers(0, 10**7), st.floats(1e-9, 10))
def test_what_is_examinable_is_within_bounds_and_within_its_time(seconds, most, exam):
    costs = cost_estimates(100, exam=exam)

    rows = costs.count_exam_rows(seconds, most)

    assert 0 <= rows <= most
    assert costs.exam_seconds(rows) <= seconds * (1 + 1e-9)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), max_size=6), st.integers(1, 10**6))
def test_a_learner_that_can_stop_early_is_as_good_as_at_its_end_a_little_before(lessons, rows):
    traits = LearnerTraits(worth_share=0.6)
    plain, stoppable = (cost_estimates(lessons=lessons, traits=traits, can_stop_early=can) for can in (False, True))

    assert stoppable.chance_to_end(rows, 10.0) >= plain.chance_to_end(rows, 10.0)


@pytest.mark.parametrize(("can_stop_early", "share"), [(False, 1.0), (True, 0.6)])
def test_a_part_of_the_steps_is_worth_a_whole_fit_only_if_it_can_stop_early(can_stop_early, share):
    costs = cost_estimates(traits=LearnerTraits(worth_share=0.6), can_stop_early=can_stop_early)

    assert costs.worth_share == share


@pytest.mark.parametrize(("killable", "chance"), [(True, 0.25), (False, 0.995)])
def test_a_fit_that_cannot_be_ended_must_be_nearly_sure_to_end(killable, chance):
    assert cost_estimates(killable=killable).least_chance(0.25) == chance


def test_another_learner_has_the_same_deadline_and_estimates_of_its_own():
    costs = cost_estimates(lessons=[(100, 2.0)])

    other = costs.for_other_learner(LearnerTraits(growth=1.7))

    assert other.seconds_left == costs.seconds_left
    assert other.fit_seconds(100) == 0.0
    other.cost.observe_fit(100, 1.0)
    assert other.fit_seconds(1000) == pytest.approx(10**1.7)


def after_rounds(took, limit, *, killable=True):
    """The costs after two rounds of 100 rows, with this number of seconds left."""
    costs = cost_estimates(limit, lessons=[(100, took), (100, took)])
    costs.cost.observe_handover(100, 0.0)
    costs.killable = killable
    return costs


@pytest.mark.parametrize(
    ("limit", "killed", "unkilled"), [(100.0, True, True), (10.5, True, False), (1.0, False, False)]
)
def test_a_round_that_can_be_killed_begins_with_a_small_chance_and_any_other_must_be_nearly_sure(
    limit, killed, unkilled
):
    assert after_rounds(10.0, limit).may_finish(100) is killed
    assert after_rounds(10.0, limit, killable=False).may_finish(100) is unkilled


def test_a_second_round_may_begin_whatever_the_first_one_took_if_it_can_be_killed():
    costs = cost_estimates(1.0, lessons=[(100, 500.0)])
    costs.cost.observe_handover(100, 0.0)

    assert costs.may_try_again
    assert costs.may_finish(100)
    costs.killable = False
    assert not costs.may_finish(100)


def test_the_seconds_that_nothing_can_end_are_the_set_up_or_the_whole_fit():
    plain, stepwise = cost_estimates(lessons=[(100, 2.0)]), cost_estimates()
    stepwise.cost.observe_fit(100, 2.0, 0.5)

    assert plain.setup_seconds(100) == 2.0
    assert stepwise.setup_seconds(100) == 0.5
