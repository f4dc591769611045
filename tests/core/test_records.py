"""The records that teacher, session and user exchange."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest

from fitwithin import Round
from fitwithin.teachers import Answers, Exam, Lesson
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
    ],
    ids=["Round", "Lesson", "Exam", "Answers"],
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
    assert (lesson.batch, lesson.stop_after, lesson.kill_after, lesson.give_up_over) == (None,) * 4
    assert Answers(exam.rows, np.zeros(3, bool)).score is None
