"""The state of Auto: the last lesson, the validation rows, and the time that is reserved for them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.selection import KeptModel, ModelSelector, ValidationExam
from fitwithin.teachers import Deck, Exam, Lesson
from fitwithin.teachers._auto.state import _LEAST_SECONDS, BestLesson, TeachingState
from fitwithin.testing import FakeClock
from teacher_driver import a_state, answers_to, cost_estimates, driven


@given(st.integers(501, 20_000), st.integers(1, 400))
def test_lesson_validation_rows_holdout_rows_and_deck_share_the_pool(size, first):
    state = a_state(size, first)
    driven(state.enlarge_validation_set())

    kept_back = size - len(state.lesson) - state.deck.left
    assert len(state.lesson) == first
    assert kept_back == 2 * len(state.validation_set)
    assert state.max_rows == size - kept_back
    assert not np.isin(state.validation_set, np.concatenate([state.lesson, state.deck.deal(size)])).any()


@pytest.mark.parametrize(("size", "n_rows"), [(501, 50), (1999, 199), (4000, 200), (10_000, 400), (10**6, 10_000)])
def test_validation_rows_are_a_tenth_of_a_small_pool_and_a_smaller_part_of_a_large_one(size, n_rows):
    state = a_state(size, first=50)
    driven(state.enlarge_validation_set())

    assert len(state.validation_set) == n_rows


def test_the_first_exam_is_small_since_its_cost_is_unknown():
    assert len(a_state(10**6).validation_set) == 200


def test_only_as_many_validation_rows_are_used_as_are_worth_their_time_and_never_fewer_than_before():
    state, slower = (a_state(10**6, costs=cost_estimates(100, exam=exam)) for exam in (1e-3, 1.0))
    driven(state.enlarge_validation_set())
    driven(slower.enlarge_validation_set())

    assert 200 < len(state.validation_set) < 10_000
    assert state.costs.exam_seconds(len(state.validation_set)) <= 0.05 * 100
    assert len(slower.validation_set) == 200


def test_a_lesson_is_followed_by_holdout_rows_and_then_by_as_many_validation_rows():
    state = a_state()

    lesson, holdout, validation = driven(state.teach_and_validate(state.lesson)).asked

    assert isinstance(lesson, Lesson)
    assert validation.purpose == "validation"
    assert holdout.purpose == "holdout"
    assert len(validation.rows) == len(holdout.rows) == len(state.validation_set)
    assert not np.isin(validation.rows, holdout.rows).any()


def neighbors_state(limit):
    """The state of a learner whose exams take 1 ms a row for each 100,000 rows of the model, after its first lesson."""
    state = a_state(200_000, first=1000, costs=cost_estimates(limit, clock=FakeClock()))
    state.costs.cost.observe_exam(1000, 0.01, model_rows=1000)
    driven(state.enlarge_validation_set())
    return state


def examined(state, steps, seconds_per_row=1e-8):
    """Drive a lesson and its exams, whose seconds grow with the rows of the model, and return the exams."""
    asked, answers = [], None
    while True:
        try:
            request = steps.send(answers)
        except StopIteration:
            return asked
        answers = None
        if isinstance(request, Exam):
            asked.append(request)
            seconds = seconds_per_row * len(state.lesson) * len(request.rows)
            state.costs._budget.clock.advance(seconds)
            state.costs.cost.observe_exam(len(request.rows), seconds, len(state.lesson))
            answers = answers_to(request, request.rows % 5 == 0)


@pytest.mark.parametrize("limit", [2.0, 10.0, 30.0])
def test_a_model_that_is_slow_to_examine_is_examined_on_the_first_of_the_same_rows(limit):
    state = neighbors_state(limit)
    before = state.costs.seconds_left

    exams = examined(state, state.teach_and_validate(np.arange(100_000)))

    (validation,) = (exam.rows for exam in exams if exam.purpose == "validation")
    assert 100 <= len(validation) < len(state.validation_set)
    np.testing.assert_array_equal(validation, state.validation_set[: len(validation)])
    assert before - state.costs.seconds_left <= max(0.3 * before, 2 * 100 * 1e-3)
    assert exams[0].purpose == "holdout", "a chosen model has an estimate"
    assert len(exams[0].rows) == 100, "few rows, which tell what the others take"
    holdout = np.concatenate([exam.rows for exam in exams if exam.purpose == "holdout"])
    assert len(np.unique(holdout)) == len(holdout) <= len(validation)


def test_holdout_rows_without_time_are_examined_at_the_end():
    state = neighbors_state(10.0)
    examined(state, state.teach_and_validate(np.concatenate([state.lesson, state.deck.deal(100_000)])))
    n_before = state._n_holdout

    exams = examined(state, state.examine_unused_rows())

    assert [exam.purpose for exam in exams] == ["holdout"]
    assert 0 < len(exams[0].rows) <= len(state.validation_set) - n_before


def test_the_price_of_exams_lets_a_large_lesson_be_planned():
    state = neighbors_state(10.0)
    state.costs.cost.observe_exam(1000, 0.1, model_rows=10_000)

    assert state.reserved_seconds(180_000) < 0.3 * state.costs.seconds_left


def test_validation_rows_give_the_score_and_the_error_rate():
    state = a_state()
    wrong = set(state.validation_set[:30].tolist())

    driven(state.teach_and_validate(state.lesson), lambda rows: np.isin(rows, list(wrong)))

    assert state.error_rate == 30 / len(state.validation_set)
    assert state.score.value == pytest.approx(1 - state.error_rate)


def test_the_lesson_is_the_last_one_that_was_taught():
    state = a_state()
    larger = np.concatenate([state.lesson, state.deck.deal(100)])

    driven(state.teach_and_validate(larger))

    assert (state.lesson == larger).all()


def test_without_validation_rows_there_is_no_score_and_no_error():
    state = a_state(600, first=600)

    session = driven(state.teach_and_validate(state.lesson))

    assert not session.exams
    assert state.score is None


def test_without_a_time_limit_a_lesson_has_none():
    state = a_state()

    assert next(state.teach_and_validate(state.lesson)).within is None


@given(st.floats(0, 1000), st.floats(0.01, 1), st.floats(0, 1e-2))
def test_a_lesson_leaves_time_for_the_exams_of_its_model(limit, share, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    within, n_rows = next(state.teach_and_validate(state.lesson, share)).within, state.count_exam_rows(250)

    assert 0 < within <= max(share * limit, _LEAST_SECONDS), "without any time it would be a measurement"
    assert within == _LEAST_SECONDS or within + state.costs.exam_seconds(2 * n_rows) <= limit


@given(st.floats(0.01, 1000), st.integers(1, 10**5), st.floats(0, 1e-2))
def test_the_reserved_time_is_finite_and_longer_than_the_exams(limit, rows, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    n_exam_rows = 2 * state.count_exam_rows(rows)
    assert state.costs.exam_seconds(n_exam_rows, rows) < state.reserved_seconds(rows) < math.inf


@pytest.mark.parametrize(("seconds", "was_cut_short"), [(1.0, False), (30.0, True)])
def test_a_lesson_was_cut_short_if_its_fit_takes_longer_than_its_time(seconds, was_cut_short):
    clock = FakeClock()
    state = a_state(costs=cost_estimates(100, clock=clock, can_stop_early=True))

    driven(state.teach_and_validate(state.lesson, 0.1), cost=state.costs.cost, lesson=lambda rows: seconds)

    assert state.was_cut_short is was_cut_short


# Measurements


def stepwise_state(size=100_000, limit=100.0, *, took=1.0, setup=0.1):
    """The state of a learner that can stop early after a first lesson of 250 rows."""
    state = a_state(size, costs=cost_estimates(limit, can_stop_early=True))
    state.costs.cost.observe_fit(250, took, setup)
    return state


def measured(state, setup_per_row=1e-6):
    """Drive the measurements of a learner that tells its set-up and steps."""
    steps, asked = state.measure_steps(), []
    for lesson in steps:
        asked.append(lesson)
        rows = len(lesson.rows)
        state.costs.cost.observe_fit(rows, setup_per_row * rows + 4e-3 * rows, setup_per_row * rows)
    return asked


def test_a_measurement_is_a_lesson_of_more_rows_with_no_time_for_steps():
    state = stepwise_state()

    asked = measured(state)

    assert asked
    assert all(isinstance(lesson, Lesson) and lesson.is_measurement for lesson in asked)
    sizes = [250, *(len(lesson.rows) for lesson in asked)]
    assert all(after > before for before, after in itertools.pairwise(sizes))
    assert not state.has_model


def test_rows_of_a_measurement_are_the_first_to_be_taught():
    state = stepwise_state()
    n_left = state.deck.left

    *_, last = measured(state)

    assert state.deck.left == n_left
    np.testing.assert_array_equal(np.concatenate([state.lesson, state.deck.deal(len(last.rows) - 250)]), last.rows)


def test_a_learner_that_cannot_stop_early_or_has_an_expensive_set_up_is_not_measured():
    assert not measured(a_state(100_000, costs=cost_estimates(100, lessons=[(250, 0.1)])))
    assert not measured(stepwise_state(took=60.0, setup=50.0))


def test_a_learner_that_does_not_know_its_steps_is_measured_once():
    state = stepwise_state()

    assert len(list(state.measure_steps())) == 1
    assert not list(state.measure_steps())


def test_a_measurement_that_takes_too_much_memory_is_the_last_and_loses_no_rows():
    state = stepwise_state()
    n_left, steps = state.deck.left, state.measure_steps()
    next(steps)

    with pytest.raises(StopIteration):
        steps.throw(OutOfMemory(2, 1))

    assert state.deck.left == n_left
    assert not state.has_model
    assert not list(state.measure_steps())


# The end: unused rows, or a last fit with every row


def taught_state(n_rows, size=6000, **settings):
    state = a_state(size, **settings)
    driven(state.teach_and_validate(np.concatenate([state.lesson, state.deck.deal(n_rows - len(state.lesson))])))
    return state


def test_unused_rows_are_examined_for_the_estimate_and_are_no_holdout_rows():
    state = taught_state(1000)

    (exam,) = driven(state.examine_unused_rows()).asked

    # Holdout rows would be held out from a later fit that goes on.
    assert exam.purpose == "mistakes"
    assert not np.isin(exam.rows, np.concatenate([state.lesson, state.validation_set])).any()


def test_unused_rows_are_not_examined_if_the_last_model_is_not_the_best_one_or_gone():
    worse, gone = taught_state(1000), taught_state(1000)
    driven(worse.teach_and_validate(worse.lesson[:500]), lambda rows: rows % 2 == 0)
    gone.has_model = False

    assert not driven(worse.examine_unused_rows()).asked
    assert not driven(gone.examine_unused_rows()).asked


def test_unused_rows_are_not_examined_if_the_user_chose_the_holdout_rows():
    deck = Deck(6000, np.random.default_rng(0))
    deck.hold_out(np.arange(100), np.arange(100, 200))
    state = TeachingState(deck, 250)
    driven(state.teach_and_validate(state.lesson))

    assert not driven(state.examine_unused_rows()).asked


def test_a_refit_takes_every_row_of_the_pool_if_the_best_model_has_all_others():
    state = taught_state(5600)
    assert not state.deck.left

    refit, exam = driven(state.refit_with_every_row()).asked

    assert refit.refit is True
    assert exam.purpose == "validation"
    np.testing.assert_array_equal(exam.rows, state.validation_set)
    assert sorted(refit.rows.tolist()) == list(range(6000))


@pytest.mark.parametrize("why_not", ["rows are left", "cut short", "not allowed", "no time", "not the best"])
def test_there_is_no_refit_otherwise(why_not):
    limit = 12.0 if why_not == "no time" else 100.0
    state = taught_state(
        5000 if why_not == "rows are left" else 5600, costs=cost_estimates(limit, lessons=[(5600, 10)])
    )
    if why_not == "cut short":
        state.best = replace(state.best, was_cut_short=True)
    if why_not == "not allowed":
        state.deck.can_refit = False
    if why_not == "not the best":
        state.best = replace(state.best, rows=state.lesson[:300])

    assert not driven(state.refit_with_every_row()).asked


# The best lesson, by the rule of the session


def scored(value, n_rows=400, wrong_first=True):
    """Answers of a model with this score on 400 validation rows; its mistakes are the first rows, or the last ones."""
    wrong = np.arange(n_rows) < round((1 - value) * n_rows)
    return answers_to(Exam(np.arange(n_rows), "validation"), wrong if wrong_first else wrong[::-1])


def test_a_larger_lesson_with_a_slightly_lower_score_is_the_best_one_and_a_smaller_one_is_not():
    best, other = scored(0.80), scored(0.79, wrong_first=False)
    lesson = BestLesson(np.arange(1000), best.score, influence=best.influence)

    assert lesson.yields_to(2000, other.score, other.influence)
    assert not lesson.yields_to(1000, other.score, other.influence)
    assert not lesson.yields_to(2000, scored(0.6).score, scored(0.6).influence)
    assert lesson.yields_to(500, scored(0.85).score, None)


def test_scores_on_different_numbers_of_rows_are_not_paired():
    # The two influences could be of as many resamples of other rows.
    best, new = scored(0.80), scored(0.78)
    lesson = BestLesson(np.arange(1000), best.score, influence=best.influence, n_validation_rows=400)

    assert not lesson.yields_to(2000, new.score, new.influence, 400)
    assert lesson.yields_to(2000, new.score, new.influence, 200)


@given(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans(), st.integers(1, 3000))
def test_it_agrees_with_the_session(value, other, wrong_first, is_paired, n_rows):
    best, new = scored(value), scored(other, wrong_first=wrong_first)
    influences = (best.influence, new.influence) if is_paired else (None, None)
    selector, rows = ModelSelector("best"), np.arange(400)
    record = ModelRecord(1, 1000, None, None, best.score, None)
    selector.replace_best(KeptModel(None, record, ValidationExam(rows, influences[0])))

    preferred = selector.prefers(new.score, validated=True, exam=ValidationExam(rows, influences[1]), n_rows=n_rows)

    lesson = BestLesson(np.arange(1000), best.score, influence=influences[0])
    assert lesson.yields_to(n_rows, new.score, influences[1]) is bool(preferred)
