"""When a checkpoint is written."""

import pytest

from fitwithin._core.budget import Budget
from fitwithin._session.write_plan import WriteSchedule
from fitwithin.testing import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def plan(clock):
    return WriteSchedule(Budget(100, clock=clock))


def write_model(plan, clock, seconds, load_seconds=0.1):
    began = plan.begin_model()
    clock.advance(seconds)
    plan.observe_model(began, load_seconds)


def test_the_first_model_is_written_at_once_unless_it_takes_a_quarter_of_the_time(plan):
    assert plan.is_due(0.1, is_last=False)
    assert not plan.is_due(1.5, is_last=False)


def test_models_take_a_twentieth_of_the_time(plan, clock):
    write_model(plan, clock, 1.0)
    seconds = plan.predict_seconds(0.1)
    assert 1.0 < seconds < 2.0

    clock.advance(20 * seconds - 1)
    assert not plan.is_due(0.1, is_last=False)
    clock.advance(1.1)
    assert plan.is_due(0.1, is_last=False)


def test_small_models_are_written_every_two_seconds_at_most(plan, clock):
    write_model(plan, clock, 0.0)

    clock.advance(1.9)
    assert not plan.is_due(0.1, is_last=False)
    clock.advance(0.2)
    assert plan.is_due(0.1, is_last=False)


def test_a_model_is_written_at_any_time_if_that_is_worth_it_and_there_is_time(plan, clock):
    write_model(plan, clock, 1.0)
    assert plan.is_due(0.1, is_last=False, worth_seconds=2.0)
    assert not plan.is_due(0.1, is_last=False, worth_seconds=1.0)

    clock.advance(98.5)
    assert not plan.is_due(0.1, is_last=False, worth_seconds=2.0)
    assert not plan.is_due(0.1, is_last=True)


def test_the_last_model_is_written_in_the_time_that_was_reserved_for_it(plan, clock):
    write_model(plan, clock, 1.0)
    reserved = plan.reserved_seconds(0.1)

    clock.advance(99 - reserved - 0.1)

    assert plan.is_due(0.1, is_last=True)


def test_nothing_is_reserved_for_a_model_that_takes_over_a_fifth_of_the_limit(plan, clock):
    write_model(plan, clock, 1.0)

    assert plan.reserved_seconds(0.2) > plan.reserved_seconds(0.1) > 1.0
    assert plan.reserved_seconds(5.0) == 0.0


def test_what_an_earlier_call_observed_is_used(plan, clock):
    write_model(plan, clock, 3.0)
    other = WriteSchedule(Budget(100, clock=clock))

    other.restore(plan.observed)

    assert other.predict_seconds(0.1) == plan.predict_seconds(0.1)


@pytest.mark.parametrize("forged", [None, "x", [1.0], [1.0, "x"], {}])
def test_observations_of_another_form_are_ignored(plan, forged):
    plan.restore(forged)

    assert plan.observed is None


def test_states_that_take_long_are_written_less_often(plan, clock):
    assert plan.is_state_due(is_last=False)
    with plan.timing_state():
        clock.advance(1.0)

    clock.advance(19.0)
    assert not plan.is_state_due(is_last=False)
    assert plan.is_state_due(is_last=True)
    clock.advance(1.5)
    assert plan.is_state_due(is_last=False)
