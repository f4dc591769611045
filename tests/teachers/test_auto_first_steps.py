"""Auto's look at many rows: the first steps of a fit, which tell what all would take."""

import itertools

import numpy as np
import pytest

from fitwithin._core.exceptions import OutOfMemory
from fitwithin.teachers import LessonReport
from fitwithin.teachers._auto.first_steps import look_at_many_rows
from teacher_driver import Driver, a_state, cost_estimates, driven


def stepwise_state(size=100_000, limit=100.0, *, took=1.0, setup=0.1):
    """The state of a learner that can stop early after a first lesson of 250 rows."""
    state = a_state(size, costs=cost_estimates(limit, can_stop_early=True))
    driven(state.teach_and_validate(state.lesson))
    state.costs.cost.observe_fit(250, took, setup)
    return state


def looked(state, *, go_on=False, seconds_per_row=4e-3, gives_up=True):
    """Drive the looks of a learner that tells its set-up and steps, and return the lessons."""
    steps, report, asked, driver = look_at_many_rows(state, go_on=go_on), None, [], Driver()
    while True:
        try:
            lesson = steps.send(report)
        except StopIteration:
            return asked
        asked.append(lesson)
        n_rows = len(lesson.rows)
        state.costs.cost.observe_fit(n_rows, seconds_per_row * n_rows, 1e-6 * n_rows)
        if gives_up and seconds_per_row * n_rows > lesson.give_up_over:
            report = LessonReport(0.1, gave_up=True)
        else:
            report = driver.carry_out(lesson)


@pytest.mark.parametrize("go_on", [False, True])
def test_a_look_is_a_lesson_of_more_rows_that_gives_up_if_it_cannot_end(go_on):
    state = stepwise_state()

    asked = looked(state, go_on=go_on, seconds_per_row=0.1)

    assert asked
    sizes = [250, *(len(lesson.rows) for lesson in asked)]
    assert all(after > before for before, after in itertools.pairwise(sizes))
    for lesson in asked:
        # On a part of the rows it would take time from a larger fit.
        may_go_on = go_on and len(lesson.rows) == state.max_rows
        assert 0 < lesson.stop_after <= (100.0 if may_go_on else 5.0)
        assert lesson.give_up_over == (lesson.stop_after if may_go_on else 0.0)
    assert not state.has_model
    assert len(state.lesson) == 250


def test_rows_of_a_look_that_gave_up_are_the_first_to_be_taught():
    state = stepwise_state()
    n_left = state.deck.left

    *_, last = looked(state)

    assert state.deck.left == n_left
    np.testing.assert_array_equal(np.concatenate([state.lesson, state.deck.deal(len(last.rows) - 250)]), last.rows)


def test_a_look_at_every_row_that_ends_in_time_is_the_next_lesson():
    state = stepwise_state(50_000)
    n_left, max_rows = state.deck.left, state.max_rows

    *others, lesson = looked(state, go_on=True, seconds_per_row=1e-4)

    assert all(other.give_up_over == 0.0 for other in others)
    assert len(lesson.rows) == max_rows
    assert lesson.give_up_over == lesson.stop_after > 50
    assert [exam.purpose for exam in lesson.exams] == ["holdout", "validation"]
    np.testing.assert_array_equal(state.lesson, lesson.rows)
    assert state.has_best_model
    assert state.deck.left == n_left - (len(lesson.rows) - 250)


def test_a_look_during_a_comparison_loses_no_rows_although_its_fit_was_too_short_to_give_up():
    state = stepwise_state()
    n_left = state.deck.left

    asked = looked(state, seconds_per_row=1e-6, gives_up=False)

    assert asked
    assert state.deck.left == n_left
    assert len(state.lesson) == 250
    assert not state.has_model
    np.testing.assert_array_equal(state.best.rows, asked[-1].rows)


def test_a_learner_that_cannot_stop_early_or_has_an_expensive_set_up_has_no_look():
    assert not looked(a_state(100_000, costs=cost_estimates(100, lessons=[(250, 0.1)])))
    assert not looked(stepwise_state(took=60.0, setup=50.0))


def test_a_learner_that_does_not_tell_its_steps_has_no_look():
    assert not looked(a_state(100_000, costs=cost_estimates(100, lessons=[(250, 0.1)], can_stop_early=True)))


def test_a_learner_that_does_not_know_its_steps_has_no_look():
    state = a_state(100_000, costs=cost_estimates(100, can_stop_early=True, knows_steps=False))
    state.costs.cost.observe_fit(250, 1.0, 0.1)

    assert not looked(state)


def test_a_look_that_takes_too_much_memory_is_the_last_of_its_size_and_loses_no_rows():
    state = stepwise_state()
    n_left, steps = state.deck.left, look_at_many_rows(state, go_on=False)
    lesson = next(steps)
    state.costs.memory.limit = 10**8
    state.costs.memory.observe_stop(len(lesson.rows))

    with pytest.raises(StopIteration):
        steps.throw(OutOfMemory(2, 1))

    assert state.deck.left == n_left
    assert not state.has_model
    assert all(len(later.rows) < len(lesson.rows) for later in looked(state))
