"""As many steps as there is time for: the calls they take, and that they end in time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.backends._early_stopping import StopSignal
from fitwithin.backends._early_stopping.steps import OneMore, advance_until
from fitwithin.testing import FakeClock


class Learner:
    """Takes so long for the start of a call, and so long for every step."""

    def __init__(self, start, step, seconds, converges_at=10**9):
        self.clock = FakeClock()
        self.stop_signal = StopSignal(seconds, clock=self.clock)
        self.start, self.step, self.converges_at = start, step, converges_at
        self.calls = []

    @property
    def done(self):
        return self.calls[-1] if self.calls else 0

    def advance(self, steps):
        assert steps > self.done
        self.clock.advance(self.start + self.step * (steps - self.done))
        self.calls.append(steps)
        return steps < self.converges_at


prices = st.floats(0, 10)


@given(prices, prices, st.floats(0, 1000), st.integers(1, 300), st.integers(1, 8), st.sampled_from([0.5, 0.7, 1.0]))
def test_steps_that_are_alike_end_in_time_but_for_the_first_call(start, step, seconds, most, first, share):
    learner = Learner(start, step, seconds)

    advance_until(learner.stop_signal, most, learner.advance, first=first, share=share)

    assert 1 <= learner.done <= most
    assert learner.clock() <= max(seconds, start + step * min(first, most)) + 1e-6


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 1000))
def test_no_time_is_left_in_which_another_call_would_surely_end(start, step, seconds):
    learner = Learner(start, step, seconds)

    advance_until(learner.stop_signal, 10**6, learner.advance)

    # After one call alone nobody can tell its start from its step: each may be all of it.
    assert learner.stop_signal.seconds_left() <= 2 * (start + step) + 1e-6


def test_with_plenty_of_time_there_are_two_calls():
    learner = Learner(start=1, step=1, seconds=1000)

    advance_until(learner.stop_signal, 100, learner.advance)

    assert learner.calls == [1, 100]


def test_calls_get_shorter_towards_the_end():
    learner = Learner(start=0, step=1, seconds=100)

    advance_until(learner.stop_signal, 1000, learner.advance)

    sizes = [after - before for before, after in zip([0, *learner.calls], learner.calls, strict=False)]
    assert sizes == [1, 48, 25, 13, 6, 3, 2, 1]
    assert learner.clock() == 99


def test_the_first_call_comes_however_late_it_is():
    learner = Learner(start=5, step=1, seconds=0)

    advance_until(learner.stop_signal, 100, learner.advance, first=4)

    assert learner.calls == [4]


def test_calls_are_whole_rounds_of_all_jobs_but_for_the_last():
    learner = Learner(start=0, step=0.25, seconds=10)

    advance_until(learner.stop_signal, 30, learner.advance, first=4)

    assert learner.calls == [4, 16, 28, 30]


def test_no_call_comes_after_the_learner_has_converged():
    learner = Learner(start=0, step=1, seconds=1000, converges_at=1)

    advance_until(learner.stop_signal, 100, learner.advance)

    assert learner.calls == [1]


def test_growth_limits_how_far_a_call_relies_on_the_one_before():
    learner = Learner(start=0, step=1, seconds=10_000)

    advance_until(learner.stop_signal, 100, learner.advance, growth=1)

    assert learner.calls == [1, 2, 4, 8, 16, 32, 64, 100]


def test_a_clock_that_is_too_coarse_to_see_a_step_lets_all_of_them_pass():
    learner = Learner(start=0, step=0, seconds=1)

    advance_until(learner.stop_signal, 100, learner.advance)

    assert learner.calls == [1, 100]


@pytest.mark.parametrize(("seconds", "steps"), [(0, 1), (10, 9), (10.5, 10), (1000, 100)])
def test_one_more_step_is_taken_only_if_it_would_end_in_time(seconds, steps):
    clock = FakeClock()
    one_more = OneMore(StopSignal(seconds, clock=clock))
    taken = 0
    while taken < 100:
        clock.advance(1)
        taken += 1
        if not one_more():
            break

    assert taken == steps


def test_what_comes_before_the_first_step_is_no_measure_of_the_next():
    clock = FakeClock()
    one_more = OneMore(StopSignal(10, clock=clock))
    clock.advance(9)

    assert one_more()


@given(prices, st.floats(0.1, 10), st.floats(0, 1000), st.integers(1, 300))
def test_a_fit_that_came_to_its_end_left_nothing_undone_and_another_one_did(start, step, seconds, most):
    learner = Learner(start, step, seconds)

    advance_until(learner.stop_signal, most, learner.advance)

    assert (learner.stop_signal.skipped_seconds > 0) is (learner.done < most)


def test_what_is_undone_is_what_the_steps_left_out_would_have_taken():
    learner = Learner(start=0, step=2, seconds=100)

    advance_until(learner.stop_signal, 1000, learner.advance)

    assert learner.stop_signal.skipped_seconds == pytest.approx(2 * (1000 - learner.done))


def test_who_has_converged_left_nothing_undone():
    learner = Learner(start=0, step=1, seconds=1000, converges_at=1)

    advance_until(learner.stop_signal, 100, learner.advance)

    assert learner.stop_signal.skipped_seconds == 0


@pytest.mark.parametrize(("most", "skipped_seconds"), [(50, 41), (9, 0), (0, 0)])
def test_one_more_step_tells_what_is_undone_if_it_knows_how_many_were_asked_for(most, skipped_seconds):
    clock = FakeClock()
    stop_signal = StopSignal(10, clock=clock)
    one_more = OneMore(stop_signal, most)
    clock.advance(1)
    while one_more():
        clock.advance(1)

    assert stop_signal.skipped_seconds == skipped_seconds
