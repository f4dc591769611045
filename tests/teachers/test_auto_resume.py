"""Auto goes on from where an earlier fit on the same rows ended."""

from dataclasses import replace

import numpy as np
import pytest

from fitwithin._core.records import Answers, Estimate
from fitwithin._core.rounds import ResumePoint
from fitwithin.teachers import Auto, Deck, Exam, Lesson, LessonReport
from fitwithin.teachers._auto.state import TeachingState
from teacher_driver import Driver, cost_estimates, driven, exams_of

DECIDED = {"validation rows chosen": True, "emphasis": False}


def make_deck(n_taught=3000, notes=None, **settings):
    deck = Deck(20_000, np.random.default_rng(0))
    rows = np.random.default_rng(1).permutation(20_000).astype(np.int32)
    deck.resume_point = ResumePoint(
        rows[1600 : 1600 + n_taught],
        rows[:800],
        rows[800:1600],
        score=Estimate(0.8, 0.79, 0.81),
        notes=DECIDED if notes is None else notes,
        **settings,
    )
    return deck


def answer(exam):
    wrong = np.arange(len(exam.rows)) % 5 == 0
    return Answers(exam.rows, wrong, score=Estimate(0.8, 0.79, 0.81))


def reply(request):
    """What a session would say, if every model becomes the best one."""
    if isinstance(request, Exam):
        return answer(request)
    return LessonReport(0.0, answers={exam.purpose: answer(exam) for exam in request.exams}, is_best=True)


def collect(deck, teacher=None, most=40):
    requests, answers, found = (teacher or Auto()).teach(deck), None, []
    while len(found) < most:
        try:
            found.append(requests.send(answers))
        except StopIteration as end:
            return found, end.value
        answers = reply(found[-1])
    return found, None


def test_the_first_request_is_a_larger_lesson_and_the_next_ones_are_the_same_exams():
    deck = make_deck()
    past = deck.resume_point

    (lesson, *_), _ = collect(deck)

    assert isinstance(lesson, Lesson)
    holdout, validation = lesson.exams
    np.testing.assert_array_equal(lesson.rows[:3000], past.lesson)
    assert len(lesson.rows) > 3000
    assert len(np.unique(lesson.rows)) == len(lesson.rows)
    assert not np.intersect1d(lesson.rows, np.concatenate([past.validation_rows, past.holdout_rows])).size
    assert (validation.purpose, holdout.purpose) == ("validation", "holdout")
    np.testing.assert_array_equal(validation.rows, past.validation_rows)
    np.testing.assert_array_equal(holdout.rows, past.holdout_rows)


def test_the_trial_is_not_repeated():
    requests, reason = collect(make_deck())

    assert reason == "all rows"
    assert not [exam for exam in exams_of(requests) if exam.purpose == "score"]


def test_emphasis_goes_on_with_the_second_lesson():
    deck = make_deck(notes=DECIDED | {"emphasis": True})

    requests, _ = collect(deck)

    assert isinstance(requests[0], Lesson)
    assert [exam.purpose for exam in requests[0].exams] == ["holdout", "validation"]
    assert deck.notes["emphasis"] in (True, False)


def test_a_trial_that_was_not_decided_begins_with_the_lesson_of_the_best_model():
    deck = make_deck(n_taught=250, notes={"validation rows chosen": True})

    (lesson, *_), _ = collect(deck)

    np.testing.assert_array_equal(lesson.rows, deck.resume_point.lesson)
    assert "emphasis" in deck.notes


def test_without_notes_of_its_own_it_begins_again():
    (lesson, *_), _ = collect(make_deck(notes={}))

    assert len(lesson.rows) == 250


@pytest.mark.parametrize("was_cut_short", [False, True])
def test_a_lesson_of_every_row_is_repeated_only_if_it_was_cut_short(was_cut_short):
    deck = make_deck(n_taught=18_400, was_cut_short=was_cut_short, fit_seconds=5.0)

    requests, reason = collect(deck)

    lessons = [request for request in requests if isinstance(request, Lesson)]
    assert reason == "all rows"
    assert [len(lesson.rows) for lesson in lessons if not lesson.refit] == [18_400] * was_cut_short
    assert lessons[-1].refit is True


@pytest.mark.parametrize(("limit", "repeats"), [(4.0, False), (20.0, True)])
def test_a_lesson_that_was_cut_short_is_repeated_only_if_it_may_take_longer(limit, repeats):
    deck = make_deck(n_taught=18_400, was_cut_short=True, fit_seconds=5.0)
    deck.costs = cost_estimates(limit, lessons=[(18_400, 50.0)], can_stop_early=True)

    requests, _ = collect(deck)

    assert bool(requests) is repeats


def test_rows_that_the_last_fit_of_an_earlier_call_added_are_kept_back_again():
    deck = make_deck(n_taught=3000)
    past = deck.resume_point
    kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
    deck.resume_point = replace(past, lesson=np.concatenate([past.lesson, kept_back]))

    requests, _ = collect(deck)

    lessons = [request for request in requests if isinstance(request, Lesson) and not request.refit]
    assert lessons
    np.testing.assert_array_equal(lessons[0].rows[:3000], past.lesson)
    assert not any(np.isin(lesson.rows, kept_back).any() for lesson in lessons)


@pytest.mark.parametrize(("value", "is_best"), [(0.79, False), (0.8, True), (0.81, True)])
def test_the_model_of_an_earlier_fit_stays_the_best_one_unless_a_new_one_is_as_good(value, is_best):
    deck = make_deck()
    state = TeachingState.resume(deck, deck.resume_point)
    stored, lesson = state.best, np.concatenate([state.lesson, deck.deal(1000)])

    def is_wrong(rows):
        return np.arange(len(rows)) >= round(value * len(rows))

    driven(state.teach_and_validate(lesson), driver=Driver(is_wrong, stored=deck.resume_point))

    assert state.score.value == pytest.approx(value, abs=1e-3)
    assert (state.best is not stored) is is_best
