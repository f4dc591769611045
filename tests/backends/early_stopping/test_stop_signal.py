"""StopSignal is read off one clock."""

import math

import pytest

from fitwithin.backends._early_stopping import StopSignal
from fitwithin.testing import FakeClock


def test_it_runs_out_by_the_clock_that_it_is_given():
    clock = FakeClock(100)
    stop_signal = StopSignal(2.5, clock=clock)
    clock.advance(2)

    assert stop_signal.seconds_left() == 0.5
    assert not stop_signal.is_set()
    clock.advance(0.5)
    assert stop_signal.is_set()
    clock.advance(1)
    assert stop_signal.seconds_left() == -1


@pytest.mark.parametrize("seconds", [0, -3])
def test_it_can_be_over_from_the_start(seconds):
    assert StopSignal(seconds).is_set()


def test_two_answers_of_an_endless_one_have_a_difference():
    clock = FakeClock()
    stop_signal = StopSignal(math.inf, clock=clock)
    before = stop_signal.seconds_left()
    clock.advance(3)

    assert before - stop_signal.seconds_left() == 3
    assert not stop_signal.is_set()


def stepped(seconds, most, cost=1.0):
    """How many steps of a second there are, and what is said to be skipped_seconds."""
    clock = FakeClock()
    stop_signal = StopSignal(seconds, clock=clock)
    done = 0
    for number in stop_signal.steps(most):
        assert number == done
        clock.advance(cost)
        done += 1
    return done, stop_signal.skipped_seconds


@pytest.mark.parametrize(
    ("seconds", "done", "skipped_seconds"), [(math.inf, 9, 0), (9, 9, 0), (4.5, 5, 4), (0, 1, 8), (-3, 1, 8)]
)
def test_there_are_as_many_steps_as_there_is_time_for_and_the_others_have_a_price(seconds, done, skipped_seconds):
    assert stepped(seconds, most=9) == (done, skipped_seconds)


def test_a_fit_that_is_content_before_leaves_nothing_undone():
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    for _ in stop_signal.steps(1000):
        clock.advance(11)
        break

    assert stop_signal.skipped_seconds == 0


def test_no_steps_are_no_steps():
    assert stepped(10, most=0) == (0, 0)
