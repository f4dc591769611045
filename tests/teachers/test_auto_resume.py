"""Auto goes on from where an earlier fit on the same rows ended."""

from dataclasses import replace

import numpy as np
import pytest

from fitwithin._core.records import Estimate, LessonReport
from fitwithin._core.rounds import ResumePoint
from fitwithin.teachers import Auto, Deck, Lesson
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.testing import FakeClock
from teacher_driver import Driver, cost_estimates, driven

N_USABLE = 20_000 - 2 * 800


def make_deck(n_taught=3000, **settings):
    deck = Deck(20_000, np.random.default_rng(0))
    rows = np.random.default_rng(1).permutation(20_000).astype(np.int32)
    score = Estimate(0.8, 0.79, 0.81)
    deck.resume_point = ResumePoint(
        rows[1600 : 1600 + n_taught], rows[:800], rows[800:1600], score=score, notes={}, **settings
    )
    return deck


def resumed(deck, **settings):
    return driven(Auto(**settings).teach(deck), driver=Driver(stored=deck.resume_point))


def test_the_first_request_is_a_larger_lesson_and_the_next_ones_are_the_same_exams():
    deck = make_deck()
    past = deck.resume_point

    requests = Auto().teach(deck)
    lesson = next(requests)
    holdout = requests.send(LessonReport(1.0, answers={}, is_best=True))

    assert isinstance(lesson, Lesson)
    (validation,) = lesson.exams
    np.testing.assert_array_equal(lesson.rows[:3000], past.lesson)
    assert len(np.unique(lesson.rows)) == len(lesson.rows) > 3000
    assert not np.intersect1d(lesson.rows, np.concatenate([past.validation_rows, past.holdout_rows])).size
    assert (validation.purpose, holdout.purpose) == ("validation", "holdout")
    np.testing.assert_array_equal(validation.rows, past.validation_rows)
    np.testing.assert_array_equal(holdout.rows, past.holdout_rows)


def test_it_ends_with_every_row():
    session = resumed(make_deck())

    assert session.result == "all rows"
    assert len(session.lessons[-1]) == N_USABLE


@pytest.mark.parametrize("was_cut_short", [False, True])
def test_a_lesson_of_every_row_is_repeated_only_if_it_was_cut_short(was_cut_short):
    session = resumed(make_deck(N_USABLE, was_cut_short=was_cut_short))

    assert session.result == "all rows"
    assert [len(rows) for rows in session.lessons] == [N_USABLE] * was_cut_short


def test_what_the_earlier_fit_learned_of_the_cost_is_not_measured_again():
    clock = FakeClock()
    deck = make_deck()
    # The seconds are as regular as was expected.
    lessons = [(rows, 1e-2 * rows**0.9) for rows in (100, 250, 1000, 3000)]
    deck.costs = cost_estimates(60.0, lessons=lessons, clock=clock)

    lesson = resumed(deck).asked[0]

    assert deck.costs.fit_seconds(len(lesson.rows)) > 0.5 * 60.0


def test_rows_that_the_last_fit_of_an_earlier_call_added_are_kept_back_again():
    deck = make_deck(n_taught=3000)
    past = deck.resume_point
    kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
    deck.resume_point = replace(past, lesson=np.concatenate([past.lesson, kept_back]))

    session = resumed(deck)

    assert session.lessons
    np.testing.assert_array_equal(session.lessons[0][:3000], past.lesson)
    assert not any(np.isin(rows, kept_back).any() for rows in session.lessons)


@pytest.mark.parametrize(("value", "is_best"), [(0.79, False), (0.8, True), (0.81, True)])
def test_the_model_of_an_earlier_fit_stays_the_best_one_unless_a_new_one_is_as_good(value, is_best):
    deck = make_deck()
    state = TeachingState(deck)
    stored = state.best

    def is_wrong(rows):
        return np.arange(len(rows)) >= round(value * len(rows))

    driven(state.teach(state.list_rows(4000)), driver=Driver(is_wrong, stored=deck.resume_point))

    assert (state.best is not stored) is is_best
