"""The steps of a fit are spread over calls that end in time."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.backends._early_stopping.several_calls import advance_until, restart_until
from fitwithin.backends._early_stopping.stop_signal import StepTimer, StopSignal
from fitwithin.testing import FakeClock


class TimedLearner:
    """A learner with fixed seconds for the setup of a call and for every step."""

    def __init__(self, setup, step, seconds):
        self.clock = FakeClock()
        self.stop_signal = StopSignal(seconds, clock=self.clock)
        self.setup, self.step = setup, step
        self.calls = []

    @property
    def done(self):
        return self.calls[-1] if self.calls else 0

    def advance_to(self, steps):
        assert steps > self.done
        self.clock.advance(self.setup + self.step * (steps - self.done))
        self.calls.append(steps)


costs = st.floats(0, 10)


@given(costs, costs, st.floats(0, 1000), st.integers(1, 300), st.integers(1, 8))
def test_steps_of_equal_length_end_in_time_after_the_first_call(setup, step, seconds, max_steps, first_steps):
    learner = TimedLearner(setup, step, seconds)

    advance_until(learner.stop_signal, max_steps, learner.advance_to, first_steps=first_steps)

    assert 1 <= learner.done <= max_steps
    assert learner.clock() <= max(seconds, setup + step * min(first_steps, max_steps)) + 1e-6


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 1000))
def test_too_little_time_is_left_for_a_call_that_would_surely_end(setup, step, seconds):
    learner = TimedLearner(setup, step, seconds)

    advance_until(learner.stop_signal, 10**6, learner.advance_to)

    # A single call does not tell its setup from its step: either may be all of it.
    assert learner.stop_signal.seconds_left() <= 2 * (setup + step) + 1e-6


def test_with_plenty_of_time_there_are_two_calls():
    learner = TimedLearner(setup=1, step=1, seconds=1000)

    advance_until(learner.stop_signal, 100, learner.advance_to)

    assert learner.calls == [1, 100]


def test_calls_get_shorter_towards_the_end():
    learner = TimedLearner(setup=0, step=1, seconds=100)

    advance_until(learner.stop_signal, 1000, learner.advance_to)

    sizes = [after - before for before, after in zip([0, *learner.calls], learner.calls, strict=False)]
    assert sizes == [1, 48, 25, 13, 6, 3, 2, 1]
    assert learner.clock() == 99


def test_the_first_call_is_made_even_without_time():
    learner = TimedLearner(setup=5, step=1, seconds=0)

    advance_until(learner.stop_signal, 100, learner.advance_to, first_steps=4)

    assert learner.calls == [4]


def test_calls_take_multiples_of_the_first_steps_until_the_last():
    learner = TimedLearner(setup=0, step=0.25, seconds=10)

    advance_until(learner.stop_signal, 30, learner.advance_to, first_steps=4)

    assert learner.calls == [4, 16, 28, 30]


def test_steps_too_short_for_the_clock_are_all_taken():
    learner = TimedLearner(setup=0, step=0, seconds=1)

    advance_until(learner.stop_signal, 100, learner.advance_to)

    assert learner.calls == [1, 100]


@pytest.mark.parametrize(("seconds", "steps"), [(0, 1), (10, 9), (10.5, 10), (1000, 100)])
def test_another_step_is_taken_only_if_it_would_end_in_time(seconds, steps):
    clock = FakeClock()
    timer = StepTimer(StopSignal(seconds, clock=clock))
    taken = 0
    while taken < 100:
        clock.advance(1)
        taken += 1
        if not timer.finish_step():
            break

    assert taken == steps


def test_the_setup_before_the_first_step_does_not_predict_the_next_step():
    clock = FakeClock()
    timer = StepTimer(StopSignal(10, clock=clock))
    clock.advance(9)

    assert timer.finish_step()


@given(costs, st.floats(0.1, 10), st.floats(0, 1000), st.integers(1, 300))
def test_skipped_seconds_are_positive_exactly_if_steps_were_skipped(setup, step, seconds, max_steps):
    learner = TimedLearner(setup, step, seconds)

    advance_until(learner.stop_signal, max_steps, learner.advance_to)

    assert (learner.stop_signal.skipped_seconds > 0) is (learner.done < max_steps)


def test_skipped_seconds_are_the_time_of_the_skipped_steps():
    learner = TimedLearner(setup=0, step=2, seconds=100)

    advance_until(learner.stop_signal, 1000, learner.advance_to)

    assert learner.stop_signal.skipped_seconds == pytest.approx(2 * (1000 - learner.done))


@pytest.mark.parametrize(("max_steps", "skipped_seconds"), [(50, 41), (9, 0), (0, 0)])
def test_the_timer_estimates_skipped_seconds_if_it_knows_the_number_of_steps(max_steps, skipped_seconds):
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    timer = StepTimer(stop_signal, max_steps)
    clock.advance(1)
    while timer.finish_step():
        clock.advance(1)

    assert stop_signal.skipped_seconds == skipped_seconds


@given(costs, st.floats(0.1, 10), st.integers(1, 50))
def test_the_timer_tells_the_setup_from_the_steps(setup, step, n_steps):
    clock = FakeClock()
    stop_signal = StopSignal(10**6, clock=clock)
    timer = StepTimer(stop_signal, n_steps)
    clock.advance(setup)
    for _ in range(n_steps):
        clock.advance(step)
        timer.finish_step()

    assert stop_signal.setup_seconds == pytest.approx(setup + (step if n_steps == 1 else 0), abs=1e-6)


@pytest.mark.parametrize(("seconds", "n_steps"), [(5, 1), (8.5, 1), (12, 2), (1000, 9)])
def test_a_timer_that_knows_the_beginning_times_the_first_step_too(seconds, n_steps):
    clock = FakeClock()
    stop_signal = StopSignal(seconds, clock=clock)
    timer = StepTimer(stop_signal, 9)
    clock.advance(4)
    timer.begin_steps()
    done = 0
    while done < 9:
        clock.advance(3)
        done += 1
        if not timer.finish_step():
            break

    assert done == n_steps
    assert stop_signal.setup_seconds == 4
    assert stop_signal.skipped_seconds == 3 * (9 - n_steps)


def test_a_first_step_shorter_than_the_others_leaves_no_setup():
    clock = FakeClock()
    stop_signal = StopSignal(100, clock=clock)
    timer = StepTimer(stop_signal)
    for step_seconds in (1, 2, 3):
        clock.advance(step_seconds)
        timer.finish_step()

    assert stop_signal.setup_seconds == 0


def test_the_timer_keeps_a_setup_that_is_known():
    clock = FakeClock()
    stop_signal = StopSignal(100, clock=clock)
    timer = StepTimer(stop_signal)
    clock.advance(1)
    stop_signal.finish_setup()
    for _ in range(3):
        clock.advance(4)
        timer.finish_step()

    assert stop_signal.setup_seconds == 1


@given(costs, st.floats(0.1, 10), st.integers(3, 300))
def test_the_setup_of_several_calls_is_that_of_the_first(setup, step, max_steps):
    learner = TimedLearner(setup, step, seconds=10**6)
    learner.clock.advance(7)

    advance_until(learner.stop_signal, max_steps, learner.advance_to)

    assert learner.stop_signal.setup_seconds == pytest.approx(7 + setup, abs=1e-6)


def test_a_single_call_counts_as_setup():
    learner = TimedLearner(setup=5, step=1, seconds=0)

    advance_until(learner.stop_signal, 100, learner.advance_to, first_steps=4)

    assert learner.stop_signal.setup_seconds == 9


# Calls that start anew


def restarted(seconds, *, setup=0.5, step=0.01, max_steps=1000, n_needed=10**6):
    """The steps of each call that starts anew, and the seconds that are left; `n_needed` steps converge."""
    clock, calls = FakeClock(), []
    stop_signal = StopSignal(seconds, clock=clock)

    def start_anew(n_steps):
        calls.append(n_steps)
        clock.advance(setup + step * min(n_steps, n_needed))
        return n_steps <= n_needed

    restart_until(stop_signal, max_steps, start_anew)
    return calls, stop_signal.seconds_left()


def test_a_short_first_call_that_was_mostly_setup_does_not_keep_the_learner_from_its_own_end():
    calls, left = restarted(10, n_needed=60)

    assert calls[-1] > 60
    assert left > 5


@given(st.floats(0, 2), st.floats(1e-3, 0.1), st.floats(0.01, 50))
def test_calls_that_start_anew_at_least_double_and_end_in_time_after_the_first(setup, step, seconds):
    calls, left = restarted(seconds, setup=setup, step=step)

    assert calls[0] == 1
    assert all(more >= 2 * less or more == 1000 for less, more in itertools.pairwise(calls))
    assert left >= 0 or len(calls) == 1


def test_all_steps_are_taken_anew_if_there_is_time_although_there_are_less_than_twice_as_many():
    calls, _ = restarted(70, setup=0.0, step=0.1, max_steps=600)
    assert calls == [1, 523], "three quarters of the time, and no time for all of them"

    calls, _ = restarted(7, max_steps=60)
    assert calls == [1, 8, 54, 60]


def advanced(give_up_over, *, setup=0.0, step=1.0, seconds=10**6):
    """The calls of a fit of 100 steps that may give up, and its signal."""
    clock, calls = FakeClock(), [0]
    stop_signal = StopSignal(seconds, clock=clock, give_up_over=give_up_over)

    def advance_to(n_steps):
        clock.advance(setup + step * (n_steps - calls[-1]))
        calls.append(n_steps)

    advance_until(stop_signal, 100, advance_to)
    return calls[1:], stop_signal


def test_a_fit_in_several_calls_gives_up_after_a_few_steps():
    calls, stop_signal = advanced(give_up_over=99)

    assert calls == [1, 2, 4]
    assert stop_signal.gave_up
    assert (stop_signal.n_steps, stop_signal.planned_steps, stop_signal.skipped_seconds) == (4, 100, 96)


def test_a_fit_in_several_calls_goes_on_if_it_is_affordable():
    calls, stop_signal = advanced(give_up_over=101)

    assert calls == [1, 2, 4, 8, 100]
    assert not stop_signal.gave_up
    assert (stop_signal.n_steps, stop_signal.planned_steps, stop_signal.skipped_seconds) == (100, 100, 0)


def test_a_fit_that_goes_on_is_still_stopped_in_time():
    _, stop_signal = advanced(give_up_over=101, seconds=50)

    assert not stop_signal.gave_up
    assert 8 < stop_signal.n_steps < stop_signal.planned_steps == 100
