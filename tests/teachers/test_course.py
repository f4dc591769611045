"""The lesson so far, the panel that judges it, and the time there is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers import Lesson
from fitwithin.testing import FakeClock
from teacher_driver import a_course, an_outlook, driven


@given(st.integers(501, 20_000), st.integers(1, 400))
def test_lesson_judges_and_deck_share_the_pool(size, first):
    course = a_course(size, first)
    driven(course.summon_panel())

    kept_back = size - len(course.lesson) - course.deck.left
    assert len(course.lesson) == first
    assert kept_back == 2 * len(course.panel)
    assert course.most == size - kept_back
    assert not np.isin(course.panel, np.concatenate([course.lesson, course.deck.deal(size)])).any()


@pytest.mark.parametrize(("size", "judges"), [(501, 50), (1999, 199), (4000, 200), (10_000, 400), (10**6, 5000)])
def test_a_panel_is_a_tenth_of_a_small_pool_and_a_smaller_part_of_a_large_one(size, judges):
    course = a_course(size, first=50)
    driven(course.summon_panel())

    assert len(course.panel) == judges


def test_the_first_panel_is_small_since_nobody_knows_what_an_exam_takes():
    assert len(a_course(10**6).panel) == 200


def test_only_as_many_judges_are_summoned_as_are_worth_their_time_and_never_fewer_than_before():
    course, slower = (a_course(10**6, outlook=an_outlook(100, exam=exam)) for exam in (1e-3, 1.0))
    driven(course.summon_panel())
    driven(slower.summon_panel())

    assert len(course.panel) == 1500
    assert len(slower.panel) == 200


def test_a_lesson_is_followed_by_the_panel_and_then_by_as_many_auditors():
    course = a_course()

    lesson, panel, audit = driven(course.teach(course.lesson)).asked

    assert isinstance(lesson, Lesson)
    assert panel.purpose == "validation"
    assert audit.purpose == "holdout"
    assert len(panel.rows) == len(audit.rows) == len(course.panel)
    assert not np.isin(panel.rows, audit.rows).any()


def test_the_panel_tells_the_score_and_the_error():
    course = a_course()
    wrong = set(course.panel[:30].tolist())

    driven(course.teach(course.lesson), lambda rows: np.isin(rows, list(wrong)))

    assert course.error == 30 / len(course.panel)
    assert course.score.value == pytest.approx(1 - course.error)


def test_the_lesson_is_the_last_one_that_was_taught():
    course = a_course()
    larger = np.concatenate([course.lesson, course.deck.deal(100)])

    driven(course.teach(larger))

    assert (course.lesson == larger).all()


def test_without_a_panel_there_is_no_score_and_nothing_breaks():
    course = a_course(600, first=600)

    session = driven(course.teach(course.lesson))

    assert not session.exams
    assert course.score is None


def test_without_a_limit_a_lesson_has_none():
    course = a_course()

    assert next(course.teach(course.lesson)).within is None


@given(st.floats(0, 1000), st.floats(0.01, 1), st.floats(0, 1e-2))
def test_a_lesson_leaves_room_for_what_makes_its_model_count(limit, share, exam):
    course = a_course(outlook=an_outlook(limit, exam=exam))

    within = next(course.teach(course.lesson, share)).within

    assert 0 <= within <= share * limit
    assert within == 0 or within + course.outlook.exam_seconds(2 * len(course.panel)) <= limit


@given(st.floats(0.01, 1000), st.integers(1, 10**5), st.floats(0, 1e-2))
def test_the_reserve_is_finite_and_more_than_its_exams(limit, rows, exam):
    course = a_course(outlook=an_outlook(limit, exam=exam))

    assert course.outlook.exam_seconds(2 * len(course.panel)) < course.reserve(rows) < math.inf


@pytest.mark.parametrize(("seconds", "was_cut"), [(1.0, False), (30.0, True)])
def test_a_lesson_was_cut_if_all_of_it_takes_longer_than_it_was_given(seconds, was_cut):
    clock = FakeClock()
    course = a_course(outlook=an_outlook(100, clock=clock, can_stop_early=True))

    driven(course.teach(course.lesson, 0.1), cost=course.outlook.cost, lesson=lambda rows: seconds)

    assert course.was_cut is was_cut
