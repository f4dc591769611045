"""The records that teacher, session and user exchange."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest

from fitwithin import Round
from fitwithin._core.records import NO_LIMITS, FitLimits, examine, teach
from fitwithin.teachers import Answers, Exam, Lesson, LessonReport
from sample_fits import A_ROUND

FIELDS = [
    "number",
    "rows",
    "new_rows",
    "new_mistakes",
    "examined",
    "fresh",
    "seconds_handover",
    "seconds_fit",
    "seconds_exam",
    "seconds_model",
    "seconds_choose",
    "predicted_fit",
    "estimate",
    "low",
    "high",
    "best",
    "elapsed",
    "validation_rows",
    "peak_memory",
    "seconds_setup",
    "predicted_setup",
    "predicted_estimate",
    "candidate",
]


def a_round(**changes):
    return replace(A_ROUND, **changes)


@pytest.mark.parametrize(("validation_rows", "fresh", "flattered"), [(0, 8, True), (0, 10, False), (5, 0, False)])
def test_a_score_over_rows_that_were_seen_before_flatters_unless_validation_rows_decide(
    validation_rows, fresh, flattered
):
    assert a_round(examined=10, fresh=fresh, validation_rows=validation_rows).is_biased == flattered


def test_a_round_has_the_fields_that_are_promised():
    assert [field.name for field in fields(Round)] == FIELDS


def test_a_history_makes_a_data_frame():
    history = [a_round(rows=50), a_round(number=2, rows=100, predicted_fit=4.3, estimate=None, low=None, high=None)]

    frame = pd.DataFrame(history)

    assert list(frame.columns) == FIELDS
    assert frame["rows"].tolist() == [50, 100]
    assert frame["estimate"].isna().tolist() == [False, True]
    assert frame["best"].dtype == bool


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (a_round(), "best"),
        (Lesson(np.arange(3)), "rows"),
        (Exam(np.arange(3)), "rows"),
        (Answers(np.arange(3), np.zeros(3, bool)), "wrong"),
        (LessonReport(1.0), "is_best"),
        (FitLimits(), "stop_after"),
    ],
    ids=["Round", "Lesson", "Exam", "Answers", "LessonReport", "FitLimits"],
)
def test_records_are_frozen(record, field):
    with pytest.raises(FrozenInstanceError):
        setattr(record, field, None)


def test_rounds_with_the_same_content_are_equal():
    assert a_round() == a_round()
    assert a_round() != a_round(number=2)


@pytest.mark.parametrize(("wrong", "mistakes"), [([], 0), ([False, False], 0), ([True, False, True], 2)])
def test_answers_count_their_mistakes(wrong, mistakes):
    answers = Answers(np.arange(len(wrong)), np.array(wrong, dtype=bool))

    assert answers.mistakes == mistakes
    assert type(answers.mistakes) is int


def test_an_exam_is_a_plain_one_and_a_lesson_has_no_limit_unless_it_is_said():
    exam, lesson = Exam(np.arange(3)), Lesson(np.arange(3))

    assert (exam.purpose, exam.margins) == ("mistakes", False)
    assert exam.seconds is None
    assert (lesson.batch, lesson.exams, lesson.candidate, lesson.expected_score) == (None, (), None, None)
    assert (lesson.refit, lesson.oversampled) == (False, False)
    assert lesson.limits == NO_LIMITS == FitLimits(stop_after=None, kill_after=None, give_up_over=None)
    assert Answers(exam.rows, np.zeros(3, bool)).score is None


def test_the_limits_of_a_lesson_are_those_of_its_fit():
    lesson = Lesson(np.arange(3), stop_after=1.0, kill_after=2.0, give_up_over=3.0)

    assert lesson.limits == FitLimits(stop_after=1.0, kill_after=2.0, give_up_over=3.0)


def test_a_report_has_the_fields_that_are_promised():
    report = LessonReport(1.5)

    assert [field.name for field in fields(LessonReport)] == [
        "seconds",
        "setup_seconds",
        "steps",
        "planned_steps",
        "was_cut_short",
        "gave_up",
        "model_bytes",
        "answers",
        "is_best",
    ]
    assert (report.seconds, report.setup_seconds, report.steps, report.planned_steps) == (1.5, None, None, None)
    assert (report.was_cut_short, report.gave_up, report.model_bytes) == (False, False, None)
    assert (dict(report.answers), report.is_best) == ({}, None)


@pytest.mark.parametrize("answer", [None, Answers(np.arange(3), np.zeros(3, bool))], ids=["None", "Answers"])
def test_a_lesson_that_is_answered_with_something_else_is_an_error(answer):
    steps = teach(Lesson(np.arange(3)))
    next(steps)

    with pytest.raises(TypeError, match="expected a LessonReport"):
        steps.send(answer)


@pytest.mark.parametrize("answer", [None, LessonReport(1.0)], ids=["None", "LessonReport"])
def test_an_exam_that_is_answered_with_something_else_is_an_error(answer):
    steps = examine(np.arange(3))
    next(steps)

    with pytest.raises(TypeError, match="expected Answers"):
        steps.send(answer)


def test_an_exam_without_rows_is_answered_at_once():
    with pytest.raises(StopIteration) as end:
        next(examine(np.arange(0), margins=True))

    answers = end.value.value
    assert len(answers.rows) == len(answers.wrong) == len(answers.margins) == 0
