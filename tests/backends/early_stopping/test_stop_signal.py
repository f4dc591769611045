"""A stop signal counts down on its clock and limits the steps of a fit."""

import math

import pytest

from fitwithin.backends import FitLimits
from fitwithin.backends._early_stopping.stop_signal import StopSignal, make_stop_signal
from fitwithin.testing import FakeClock


def test_the_signal_is_set_when_its_seconds_have_passed_on_its_clock():
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
def test_the_signal_is_set_from_the_start_without_time(seconds):
    assert StopSignal(seconds).is_set()


def test_differences_of_seconds_left_are_finite_without_a_limit():
    clock = FakeClock()
    stop_signal = StopSignal(math.inf, clock=clock)
    before = stop_signal.seconds_left()
    clock.advance(3)

    assert before - stop_signal.seconds_left() == 3
    assert not stop_signal.is_set()


def take_steps(seconds, max_steps, cost=1.0):
    """Return the number of steps taken and `skipped_seconds`."""
    clock = FakeClock()
    stop_signal = StopSignal(seconds, clock=clock)
    done = 0
    for number in stop_signal.steps(max_steps):
        assert number == done
        clock.advance(cost)
        done += 1
    return done, stop_signal.skipped_seconds


@pytest.mark.parametrize(
    ("seconds", "done", "skipped_seconds"), [(math.inf, 9, 0), (9, 9, 0), (4.5, 5, 4), (0, 1, 8), (-3, 1, 8)]
)
def test_steps_end_when_the_time_is_up_and_the_skipped_seconds_are_estimated(seconds, done, skipped_seconds):
    assert take_steps(seconds, max_steps=9) == (done, skipped_seconds)


def test_a_loop_that_breaks_by_itself_skips_nothing():
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    for _ in stop_signal.steps(1000):
        clock.advance(11)
        break

    assert stop_signal.skipped_seconds == 0


def test_zero_steps_yield_nothing():
    assert take_steps(10, max_steps=0) == (0, 0)


def test_the_time_before_the_first_step_is_setup():
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    clock.advance(3)
    for _ in stop_signal.steps(4):
        clock.advance(1)

    assert stop_signal.setup_seconds == 3


def test_setup_is_counted_from_the_beginning_of_the_fit():
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    clock.advance(3)
    stop_signal.begin_fit()
    clock.advance(1)
    stop_signal.finish_setup()

    assert stop_signal.setup_seconds == 1
    assert stop_signal.seconds_left() == 6


@pytest.mark.parametrize(("seconds_left", "setup_seconds"), [(7.5, 2.5), (10, 0), (12, 0)])
def test_setup_that_ended_before_is_told_by_the_seconds_left_then(seconds_left, setup_seconds):
    stop_signal = StopSignal(10, clock=FakeClock())

    stop_signal.finish_setup(seconds_left)

    assert stop_signal.setup_seconds == setup_seconds


def test_without_steps_the_setup_is_unknown():
    stop_signal = StopSignal(10)
    stop_signal.is_set()

    assert stop_signal.setup_seconds is None


def test_without_a_time_there_is_no_signal():
    assert make_stop_signal(FitLimits(kill_after=3)) is None


@pytest.mark.parametrize("seconds_per_step", [1e-4, 0.01, 5.0])
def test_a_fit_that_gives_up_takes_a_few_steps_and_tells_what_all_would_take(seconds_per_step):
    clock = FakeClock()
    stop_signal = make_stop_signal(FitLimits(give_up_over=5.0), clock)

    n_steps = 0
    for _ in stop_signal.steps(10**5):
        clock.advance(seconds_per_step)
        n_steps += 1

    assert stop_signal.gave_up
    assert (stop_signal.n_steps, stop_signal.planned_steps) == (n_steps, 10**5)
    assert 1 < n_steps < 10**3
    assert clock() + stop_signal.skipped_seconds == pytest.approx(10**5 * seconds_per_step)


def test_a_fit_that_is_affordable_goes_on():
    clock = FakeClock()
    stop_signal = make_stop_signal(FitLimits(give_up_over=30.0), clock)
    clock.advance(10)
    for _ in stop_signal.steps(200):
        clock.advance(0.1)

    assert not stop_signal.gave_up
    assert (stop_signal.n_steps, stop_signal.planned_steps, stop_signal.skipped_seconds) == (200, 200, 0)


def test_setup_counts_towards_the_projection():
    clock = FakeClock()
    stop_signal = make_stop_signal(FitLimits(give_up_over=29.0), clock)
    clock.advance(10)
    for _ in stop_signal.steps(200):
        clock.advance(0.1)

    assert stop_signal.gave_up


def test_a_fit_with_few_steps_takes_all_of_them_before_it_can_give_up():
    stop_signal = make_stop_signal(FitLimits(give_up_over=0.0), FakeClock())

    assert list(stop_signal.steps(2)) == [0, 1]
    assert stop_signal.skipped_seconds == 0


def test_a_fit_that_does_not_count_its_steps_never_gives_up():
    clock = FakeClock()
    stop_signal = make_stop_signal(FitLimits(give_up_over=0.0), clock)
    clock.advance(100)

    assert not stop_signal.is_set()


def test_a_loop_that_breaks_by_itself_was_not_cut_short():
    stop_signal = StopSignal(10, clock=FakeClock())
    for number in stop_signal.steps(1000):
        if number == 4:
            break

    assert (stop_signal.n_steps, stop_signal.planned_steps) == (5, 5)


def test_a_loop_whose_time_is_up_was_cut_short():
    clock = FakeClock()
    stop_signal = StopSignal(2.5, clock=clock)
    for _ in stop_signal.steps(9):
        clock.advance(1)

    assert (stop_signal.n_steps, stop_signal.planned_steps) == (3, 9)
