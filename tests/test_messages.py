"""The records that teacher, session and user exchange."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest

from fitwithin import Round
from fitwithin.teachers import Answers, Exam, Lesson

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
    "judges",
]


def a_round(**changes):
    plain = Round(
        number=1,
        rows=50,
        new_rows=50,
        new_mistakes=0,
        examined=100,
        fresh=100,
        seconds_handover=0.1,
        seconds_fit=2.0,
        seconds_exam=0.5,
        seconds_model=0.2,
        seconds_choose=0.0,
        predicted_fit=None,
        estimate=0.8,
        low=0.7,
        high=0.9,
        best=True,
        elapsed=2.8,
    )
    return replace(plain, **changes)


@pytest.mark.parametrize(("judges", "fresh", "flattered"), [(0, 8, True), (0, 10, False), (5, 0, False)])
def test_a_score_over_rows_that_were_seen_before_flatters_unless_a_panel_judges(judges, fresh, flattered):
    assert a_round(examined=10, fresh=fresh, judges=judges).is_flattered == flattered


def test_a_round_has_the_fields_that_are_promised():
    assert [field.name for field in fields(Round)] == FIELDS


def test_a_history_makes_a_data_frame():
    history = [a_round(), a_round(number=2, rows=100, predicted_fit=4.3, estimate=None, low=None, high=None)]

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

    assert not any([exam.margins, exam.scored, exam.judges, exam.audits])
    assert (lesson.batch, lesson.within) == (None, None)
    assert Answers(exam.rows, np.zeros(3, bool)).score is None
