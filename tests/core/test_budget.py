"""The seconds that are left."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.budget import Budget
from fitwithin.testing import FakeClock


def test_a_budget_is_spent_from_the_moment_it_is_made():
    clock = FakeClock(1000)
    budget = Budget(10, clock=clock)

    clock.advance(4)

    assert budget.elapsed() == 4
    assert budget.remaining() == 6
    assert not budget.is_spent


def test_reserved_seconds_do_not_remain_but_have_not_elapsed():
    clock = FakeClock()
    budget = Budget(10, clock=clock)
    budget.reserves.load, budget.reserves.delay = 2, 1

    clock.advance(6)

    assert budget.remaining() == 1
    assert budget.elapsed() == 6


@pytest.mark.parametrize(("elapsed", "spent"), [(0, False), (9.5, False), (10, True), (11, True)])
def test_a_budget_is_spent_when_nothing_remains(elapsed, spent):
    clock = FakeClock()
    budget = Budget(10, clock=clock)

    clock.advance(elapsed)

    assert budget.is_spent is spent


def test_check_raises_timeout_error_once_the_budget_is_spent():
    clock = FakeClock()
    budget = Budget(10, clock=clock)
    budget.raise_if_spent()

    clock.advance(10)

    with pytest.raises(TimeoutError):
        budget.raise_if_spent()


def test_a_budget_reads_the_monotonic_clock_unless_told_otherwise():
    assert Budget(10).clock is time.monotonic


def test_a_fake_clock_never_goes_back():
    with pytest.raises(ValueError, match="never goes back"):
        FakeClock().advance(-1)


@given(
    seconds=st.floats(0.001, 1e6),
    reserved=st.floats(0, 1e6),
    steps=st.lists(st.floats(0, 1e5), max_size=10),
)
def test_what_remains_never_grows_and_is_never_negative(seconds, reserved, steps):
    clock = FakeClock()
    budget = Budget(seconds, clock=clock)
    budget.reserves.checkpoint = reserved
    readings = [budget.remaining()]

    for step in steps:
        clock.advance(step)
        readings.append(budget.remaining())

    assert readings == sorted(readings, reverse=True)
    assert min(readings) >= 0
    assert budget.is_spent == (readings[-1] == 0)


def test_seconds_of_earlier_calls_count():
    clock = FakeClock()
    budget = Budget(10, clock=clock, spent=7.0)
    clock.advance(2)

    assert budget.elapsed() == 9.0
    assert budget.remaining() == 1.0


def test_a_deadline_does_not_change_when_the_seconds_of_earlier_calls_are_counted_in():
    clock = FakeClock()
    budget = Budget(10, clock=clock)
    clock.advance(2)

    later = budget.after(7.0)
    budget.reserves.load = 1.0

    assert (later.seconds, later.spent, later.elapsed()) == (17.0, 7.0, 9.0)
    assert later.remaining() == budget.remaining() == 7.0
