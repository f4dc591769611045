"""Of two lessons of the same size, one with mistakes in it, which makes the better model."""

import numpy as np
import pytest

from fitwithin.teachers._auto import Emphasis, trial
from teacher_driver import a_course, an_outlook, driven, every_fifth


def tried(course, alpha=0.2, *, hard_error=0.2, **price):
    """A trial whose first model errs on every fifth row, and whose second one as often as is said."""
    scored = []

    def answer(rows):
        scored.append(rows)
        # A search; the panel, auditors and judges of the random rows; the same of the hard ones.
        return every_fifth(rows) if len(scored) <= 4 else rows * 7919 % 1000 < 1000 * hard_error

    driven(course.teach(course.lesson))
    return driven(trial(course, Emphasis(alpha)), answer, **price)


def test_both_lessons_are_of_the_same_size_and_hold_the_first_one():
    course = a_course(20_000)
    first = course.lesson

    plain, hard = tried(course).lessons

    assert len(plain) == len(hard) == len(np.unique(hard)) == 2000
    assert (plain[:250] == first).all()
    assert (hard[:250] == first).all()


def test_one_of_them_has_mistakes_in_it():
    plain, hard = tried(a_course(20_000)).lessons

    others = np.setdiff1d(hard, plain)
    # They come by chance, and there may be a few too few.
    assert 0.9 * 350 <= len(others) <= 350
    assert every_fifth(others).all()


def test_both_are_judged_by_the_same_rows_that_neither_was_taught():
    session = tried(a_course(20_000))

    one, other = (exam.rows for exam in session.exams if exam.purpose == "score")
    assert (one == other).all()
    assert not np.isin(one, np.concatenate(session.lessons)).any()


@pytest.mark.parametrize(("hard_error", "pays"), [(0.1, True), (0.2, True), (0.3, False)])
def test_emphasis_pays_unless_it_did_clearly_worse(hard_error, pays):
    assert tried(a_course(20_000), hard_error=hard_error).result is pays


@pytest.mark.parametrize("hard_error", [0.1, 0.3])
def test_the_course_goes_on_from_the_random_rows_with_the_mistakes_of_a_winner_and_no_row_is_lost(hard_error):
    course = a_course(20_000)
    most = course.most

    session = tried(course, hard_error=hard_error)

    plain, hard = session.lessons
    assert set(course.lesson) == (set(plain) | set(hard) if session.result else set(plain))
    assert course.most == most
    assert len(np.unique(np.concatenate([course.lesson, course.deck.deal(20_000)]))) == most


@pytest.mark.parametrize("size", [501, 1000, 3000])
def test_a_pool_that_is_too_small_for_a_trial_has_none_and_no_emphasis(size):
    course = a_course(size, first=min(250, size // 10))

    session = tried(course)

    assert session.result is False
    assert bool(session.asked) is (size // 6 - len(course.lesson) >= size // 10)


def test_a_learner_that_is_slow_with_the_smallest_lesson_has_no_trial():
    session = tried(a_course(20_000, outlook=an_outlook(100, lessons=[(250, 6.0)])))

    assert not session.asked
    assert session.result is False


def test_a_black_box_that_is_not_so_fast_has_a_smaller_trial():
    course = a_course(100_000, outlook=an_outlook(100, lessons=[(250, 0.5)]))

    plain, _ = tried(course).lessons

    assert 1000 < len(plain) < 5000


def test_with_alpha_0_the_two_lessons_are_the_same():
    plain, hard = tried(a_course(20_000), alpha=0.0).lessons

    assert set(plain) == set(hard)
