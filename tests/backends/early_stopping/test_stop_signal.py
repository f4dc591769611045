"""Patience is read off one clock."""

import math

import pytest

from fitwithin.backends._early_stopping import Patience
from fitwithin.testing import FakeClock


def test_it_runs_out_by_the_clock_that_it_is_given():
    clock = FakeClock(100)
    patience = Patience(2.5, clock=clock)
    clock.advance(2)

    assert patience.left() == 0.5
    assert not patience.over()
    clock.advance(0.5)
    assert patience.over()
    clock.advance(1)
    assert patience.left() == -1


@pytest.mark.parametrize("seconds", [0, -3])
def test_it_can_be_over_from_the_start(seconds):
    assert Patience(seconds).over()


def test_two_answers_of_an_endless_one_have_a_difference():
    clock = FakeClock()
    patience = Patience(math.inf, clock=clock)
    before = patience.left()
    clock.advance(3)

    assert before - patience.left() == 3
    assert not patience.over()


def stepped(seconds, most, cost=1.0):
    """How many steps of a second there are, and what is said to be undone."""
    clock = FakeClock()
    patience = Patience(seconds, clock=clock)
    done = 0
    for number in patience.steps(most):
        assert number == done
        clock.advance(cost)
        done += 1
    return done, patience.undone


@pytest.mark.parametrize(
    ("seconds", "done", "undone"), [(math.inf, 9, 0), (9, 9, 0), (4.5, 5, 4), (0, 1, 8), (-3, 1, 8)]
)
def test_there_are_as_many_steps_as_there_is_time_for_and_the_others_have_a_price(seconds, done, undone):
    assert stepped(seconds, most=9) == (done, undone)


def test_a_fit_that_is_content_before_leaves_nothing_undone():
    clock = FakeClock()
    patience = Patience(10, clock=clock)
    for _ in patience.steps(1000):
        clock.advance(11)
        break

    assert patience.undone == 0


def test_no_steps_are_no_steps():
    assert stepped(10, most=0) == (0, 0)
