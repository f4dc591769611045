"""Every teacher keeps the contract, and `check_teacher` reports those that do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from fitwithin.teachers import (
    OSCT,
    SGD,
    TCT,
    Answers,
    Auto,
    Double,
    Exam,
    Full,
    Lesson,
    TBatch,
    TCTActive,
    TCTBase,
    examine,
)
from fitwithin.testing import check_teacher


class MistakesOnly:
    """Adds only mistakes of the last model; a plain class, as a user would write it."""

    returns = "best"

    def teach(self, deck):
        lesson = deck.opening(20)
        while deck.left:
            yield Lesson(lesson)
            answers = yield from examine(deck.deal(4 * len(lesson)))
            if not answers.mistakes:
                return "no mistakes"
            lesson = np.concatenate([lesson, answers.rows[answers.wrong]])
        yield Lesson(lesson)
        return "all rows"


TEACHERS = [
    Auto(),
    MistakesOnly(),
    Double(),
    Double(first=3),
    Full(),
    TCT(),
    TCT(alpha=0, first=10),
    TCT(alpha=1, first=1),
    TCT(alpha=0.5, first=0.3),
    TBatch(7),
    TCTActive(),
    TCTActive(alpha=1, first=3),
]


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: repr(teacher).split(" object")[0])
@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(1, 1500),
    classes=st.none() | st.integers(1, 300),
    every=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_teacher_keeps_the_contract(teacher, size, classes, every, seed):
    strata = None if classes is None else (np.arange(size) % classes).astype(np.uint16)

    check_teacher(teacher, size=size, strata=strata, answer=lambda rows: rows % every == 1, seed=seed)


@pytest.mark.parametrize(
    "teacher",
    [OSCT(first=5), OSCT(guess="half-percent", returns="best"), TCTBase(), TCTBase(alpha=0.9, first=3)],
    ids=repr,
)
@settings(max_examples=15)
@given(size=st.integers(1, 500), every=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_a_teacher_that_examines_taught_rows_keeps_the_rest_of_the_contract(teacher, size, every, seed):
    check_teacher(
        teacher,
        size=size,
        answer=lambda rows: rows % every == 1,
        seed=seed,
        max_requests=12,
        endless=True,
        examines_taught=True,
    )


@pytest.mark.parametrize("batch", [1, 64])
@settings(max_examples=15)
@given(size=st.integers(1, 1500), seed=st.integers(0, 2**32 - 1))
def test_an_endless_teacher_keeps_the_rest_of_the_contract(batch, size, seed):
    check_teacher(SGD(batch=batch), size=size, answer=lambda rows: rows < 0, seed=seed, max_requests=50, endless=True)


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: repr(teacher).split(" object")[0])
@pytest.mark.parametrize("wrong", [False, True], ids=["always right", "always wrong"])
def test_every_teacher_keeps_the_contract_with_a_learner_that_is_always_right_or_wrong(teacher, wrong):
    check_teacher(teacher, size=3000, answer=lambda rows: np.full(len(rows), wrong))


def a_teacher(*requests, returns="best", reason="all rows"):
    """A teacher that makes these requests."""

    class Scripted:
        def teach(self, deck):
            # A tuple takes no answers.
            yield from (request for request in requests)
            return reason

    teacher = Scripted()
    teacher.returns = returns
    return teacher


LESSON = Lesson(np.arange(3))


class Unrepeatable:
    """Makes other requests the second time."""

    returns = "last"

    def __init__(self):
        self.times = 0

    def teach(self, deck):
        self.times += 1
        yield Lesson(np.arange(self.times))
        return "all rows"


class UnclonableSettings(BaseEstimator):
    """Has a setting that is not a parameter, so that a clone loses it."""

    returns = "last"
    rows = 1

    def teach(self, deck):
        yield Lesson(np.arange(self.rows))
        return "all rows"


def a_teacher_with_unclonable_settings():
    teacher = UnclonableSettings()
    teacher.rows = 5
    return teacher


@pytest.mark.parametrize(
    ("teacher", "complaint"),
    [
        (a_teacher(LESSON, returns="worst"), "returns"),
        (a_teacher(), "at least once"),
        (a_teacher(Exam(np.arange(3)), LESSON), "before its first Exam"),
        (a_teacher(LESSON, Exam(np.array([5, 2]))), "rows of the current lesson"),
        (a_teacher(Lesson(np.arange(3), (Exam(np.array([5, 2])),))), "rows of the current lesson"),
        (a_teacher(Lesson(np.arange(3), (Exam(np.arange(0)),))), "at least one row"),
        (a_teacher(Lesson(np.arange(3), (Exam(np.array([100])),))), "outside the pool"),
        (a_teacher(Lesson(np.arange(5), (Exam(np.array([6])), Exam(np.array([7]))))), "each purpose"),
        (a_teacher(np.arange(3)), "yields Lesson"),
        (a_teacher(Lesson([0, 1])), "array of row numbers"),
        (a_teacher(Lesson(np.ones((2, 2), dtype=int))), "one-dimensional"),
        (a_teacher(Lesson(np.ones(3))), "row numbers"),
        (a_teacher(Lesson(np.ones(3, dtype=bool))), "row numbers"),
        (a_teacher(Lesson(np.arange(0))), "at least one row"),
        (a_teacher(Lesson(np.array([0, 100]))), "outside the pool"),
        (a_teacher(Lesson(np.array([-1, 0]))), "outside the pool"),
        (a_teacher(LESSON, reason=None), "stop reason"),
        (a_teacher(LESSON, reason="bored"), "stop reason"),
        (a_teacher(*[LESSON] * 2000), "did not end"),
        (Unrepeatable(), "same requests"),
        (a_teacher_with_unclonable_settings(), "clone"),
    ],
)
def test_a_broken_contract_is_reported(teacher, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_teacher(teacher, size=100, answer=lambda rows: rows % 2 == 0)


def test_examine_without_rows_makes_no_request():
    with pytest.raises(StopIteration) as end:
        next(examine(np.arange(0)))

    assert isinstance(end.value.value, Answers)
    assert end.value.value.mistakes == 0


def test_examine_makes_one_request_and_returns_its_answers():
    asking = examine(np.arange(4))
    answers = Answers(np.arange(4), np.array([True, False, False, True]))

    exam = next(asking)
    with pytest.raises(StopIteration) as end:
        asking.send(answers)

    assert exam.rows.tolist() == [0, 1, 2, 3]
    assert end.value.value is answers
