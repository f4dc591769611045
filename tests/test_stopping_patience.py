"""Patience is read off one clock."""

import math

import pytest

from fitwithin._stopping import Patience
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
