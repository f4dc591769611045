"""The bookkeeping of a session."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.scoring import accuracy_interval
from fitwithin._core.target import Labels
from fitwithin._session.round_tracker import RoundTracker
from fitwithin.backends import ExamReport, FitReport
from fitwithin.teachers import Exam, Lesson
from fitwithin.testing import FakeClock


def a_notebook(size=20, clock=None):
    return RoundTracker(size, clock or FakeClock())


def teach(tracker, rows, predicted_fit=None, goes_on=False):
    tracker.begin(np.array(rows), predicted_fit, goes_on=goes_on)
    tracker.taught(FitReport(handover=0.0, fit=1.0))


def examine(tracker, rows, wrong=(), **kind):
    rows = np.array(rows)
    tracker.examined(rows, ExamReport(np.isin(rows, list(wrong)), handover=0.0, exam=0.5), **kind)


def close(tracker):
    return tracker.close(estimate=tracker.estimate(), best=False, store=0.0, elapsed=0.0)


def test_a_round_counts_what_was_taught_and_examined():
    tracker = a_notebook()
    teach(tracker, [0, 1, 2])
    examine(tracker, [3, 4, 5, 6], wrong=[4])
    examine(tracker, [7])

    finished = close(tracker)

    assert (finished.number, finished.rows, finished.new_rows) == (1, 3, 3)
    assert (finished.examined, finished.fresh) == (5, 5)
    assert finished.estimate == 0.8


def test_rounds_are_numbered():
    tracker = a_notebook()
    numbers = []

    for _ in range(3):
        teach(tracker, [0])
        numbers.append(close(tracker).number)

    assert numbers == [1, 2, 3]


def test_a_round_has_the_interval_of_all_its_exams():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, range(1, 6), wrong=[1])
    examine(tracker, range(6, 11), wrong=[6, 7])

    finished = close(tracker)

    expected = accuracy_interval(7, 10)
    assert (finished.estimate, finished.low, finished.high) == (expected.value, expected.low, expected.high)


def test_a_round_without_an_exam_has_no_estimate():
    tracker = a_notebook()
    teach(tracker, [0])

    finished = close(tracker)

    assert (finished.examined, finished.estimate, finished.low, finished.high) == (0, None, None, None)
    assert tracker.fresh_estimate() is None


def test_new_rows_are_those_that_no_earlier_lesson_held():
    tracker = a_notebook()
    teach(tracker, [0, 1, 2])
    close(tracker)
    teach(tracker, [2, 1, 8, 9])

    assert close(tracker).new_rows == 2


def test_new_mistakes_are_new_rows_that_the_model_before_got_wrong():
    tracker = a_notebook()
    teach(tracker, [0, 1])
    examine(tracker, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(tracker)
    teach(tracker, [0, 1, 2, 3, 4, 6])

    assert close(tracker).new_mistakes == 2


def test_a_mistake_that_was_taught_is_not_new_in_the_next_round():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 1])
    close(tracker)
    teach(tracker, [0, 1, 2])

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes) == (1, 0)


def test_a_row_that_was_wrong_once_and_then_right_is_no_mistake():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [1])
    close(tracker)
    teach(tracker, [0, 1])

    assert close(tracker).new_mistakes == 0


def test_a_mistake_of_an_older_model_is_not_one_of_the_model_before():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [3])
    close(tracker)
    teach(tracker, [0, 1])

    assert close(tracker).new_mistakes == 0


def test_rows_are_fresh_when_they_were_never_taught_and_never_examined():
    tracker = a_notebook()
    teach(tracker, [0, 1])
    examine(tracker, [2, 3])
    close(tracker)
    teach(tracker, [4, 5])
    examine(tracker, [1, 2, 6, 7, 8], wrong=[1, 2, 6])

    assert tracker.fresh_estimate() == accuracy_interval(2, 3)
    finished = close(tracker)
    assert (finished.examined, finished.fresh, finished.estimate) == (5, 3, 0.4)


def test_rows_of_the_lesson_itself_are_not_fresh():
    tracker = a_notebook()
    teach(tracker, [0, 1])
    examine(tracker, [1, 2])

    assert close(tracker).fresh == 1


def test_a_row_is_fresh_in_one_exam_of_a_round_only():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1, 2])
    examine(tracker, [2, 3])

    assert close(tracker).fresh == 3


def test_an_exam_without_fresh_rows_gives_no_fresh_estimate():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [1])

    assert tracker.estimate() is not None
    assert tracker.fresh_estimate() is None


def test_rows_that_judge_are_fresh_to_nobody():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1, 2], purpose="validation")
    examine(tracker, [2, 3])

    assert tracker.fresh_estimate() == accuracy_interval(1, 1)
    assert tracker.fresh.tolist() == [False, False, False, True]
    assert close(tracker).examined == 4


def test_rows_that_audit_are_fresh_for_every_model():
    tracker = a_notebook()

    for lesson in ([0], [0, 1]):
        teach(tracker, lesson)
        examine(tracker, [5, 6, 7], wrong=[6], purpose="holdout")
        assert tracker.fresh_estimate() == accuracy_interval(2, 3)
        assert close(tracker).fresh == 3


def test_rows_that_audit_are_not_fresh_once_they_were_taught_or_examined():
    tracker = a_notebook()
    teach(tracker, [0, 5])
    examine(tracker, [6])
    examine(tracker, [5, 6, 7], purpose="holdout")

    assert close(tracker).fresh == 2


def test_mistakes_of_an_audit_are_known_to_nobody():
    tracker = a_notebook()
    teach(tracker, [0])
    examine(tracker, [1, 2], wrong=[1], purpose="holdout")
    examine(tracker, [3, 4], wrong=[3], purpose="validation")
    close(tracker)
    teach(tracker, [0, 1, 3])

    assert close(tracker).new_mistakes == 1


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        ([0, 1, 2, 3], True),
        ([3, 1, 0, 2], True),
        ([0, 1, 2], False),
        ([0, 1, 2, 2], False),
        ([0, 1, 2, 3, 3, 0], True),
    ],
)
def test_a_lesson_is_whole_when_it_holds_every_row(rows, whole):
    tracker = a_notebook(size=4)
    teach(tracker, rows)

    assert bool(tracker.whole) is whole


def test_a_row_that_is_taught_twice_over_counts_as_often_as_it_is_taught():
    tracker = a_notebook()
    teach(tracker, [0, 0, 1])

    assert close(tracker).rows == 3


def test_lessons_are_whole_one_by_one_and_not_together():
    tracker = a_notebook(size=4)
    teach(tracker, [0, 1])
    close(tracker)
    teach(tracker, [2, 3])

    assert not tracker.whole


def test_rows_behind_a_new_model_are_those_of_its_lesson():
    tracker = a_notebook()
    teach(tracker, [0, 1, 2])
    assert tracker.behind == 3
    close(tracker)

    teach(tracker, [2, 3])

    assert tracker.behind == 2


def test_rows_behind_a_model_that_goes_on_are_those_of_all_its_lessons():
    tracker = a_notebook()
    teach(tracker, [0, 1, 2], goes_on=True)
    close(tracker)
    teach(tracker, [2, 3, 3, 4], goes_on=True)

    assert tracker.behind == 5
    finished = close(tracker)
    assert (finished.number, finished.rows, finished.new_rows) == (2, 4, 2)


def test_a_model_that_was_fitted_may_go_on():
    tracker = a_notebook(size=6)
    teach(tracker, [0, 1, 2, 3])
    close(tracker)
    teach(tracker, [3, 4], goes_on=True)

    assert tracker.behind == 5
    assert not tracker.whole


def test_lessons_that_go_on_are_whole_together():
    tracker = a_notebook(size=4)
    wholes = []

    for rows in ([0, 1], [1, 2], [2, 2], [3, 0], [1]):
        teach(tracker, rows, goes_on=True)
        wholes.append(bool(tracker.whole))
        close(tracker)

    assert wholes == [False, False, False, True, True]


def test_a_new_model_forgets_what_went_before():
    tracker = a_notebook(size=4)
    teach(tracker, [0, 1, 2, 3], goes_on=True)
    close(tracker)

    teach(tracker, [0, 1])

    assert tracker.behind == 2
    assert not tracker.whole


def test_mistakes_of_the_model_before_are_new_in_a_lesson_that_goes_on():
    tracker = a_notebook()
    teach(tracker, [0, 1], goes_on=True)
    examine(tracker, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(tracker)
    teach(tracker, [1, 2, 3, 4, 6], goes_on=True)

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes) == (4, 2)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), max_size=12))
def test_counts_of_lessons_that_go_on_agree_with_plain_sets(lessons):
    tracker = a_notebook(10)
    taught = set()

    for lesson in lessons:
        teach(tracker, lesson, goes_on=True)
        new = set(lesson) - taught
        taught |= new

        assert tracker.behind == len(taught)
        assert bool(tracker.whole) == (len(taught) == 10)
        finished = close(tracker)
        assert (finished.rows, finished.new_rows) == (len(lesson), len(new))


@given(st.lists(st.tuples(st.sets(st.integers(0, 19), min_size=1), st.sets(st.integers(0, 19))), max_size=8))
def test_counts_agree_with_plain_sets(rounds):
    tracker = a_notebook(20)
    taught, seen = set(), set()

    for lesson, exam in rounds:
        teach(tracker, sorted(lesson))
        if exam:
            examine(tracker, sorted(exam))
        finished = close(tracker)

        assert finished.rows == len(lesson)
        assert finished.new_rows == len(lesson - taught)
        assert finished.examined == len(exam)
        assert finished.fresh == len(exam - seen - lesson)
        taught |= lesson
        seen |= lesson | exam


def test_seconds_are_added_up():
    clock = FakeClock()
    tracker = a_notebook(clock=clock)
    with tracker.choosing():
        clock.advance(0.5)
    tracker.begin(np.arange(2), predicted_fit=7.0)
    tracker.taught(FitReport(handover=1.0, fit=2.0))
    for _ in range(2):
        with tracker.choosing():
            clock.advance(0.25)
        tracker.examined(np.arange(2, 4), ExamReport(np.zeros(2, dtype=bool), handover=0.5, exam=4.0))

    finished = tracker.close(estimate=tracker.estimate(), best=True, store=3.0, elapsed=99.0)

    assert finished.seconds_handover == 2.0
    assert finished.seconds_fit == 2.0
    assert finished.seconds_exam == 8.0
    assert finished.seconds_model == 3.0
    assert finished.seconds_choose == 1.0
    assert finished.predicted_fit == 7.0
    assert finished.elapsed == 99.0
    assert finished.best is True


def test_seconds_of_one_round_are_not_those_of_the_next():
    clock = FakeClock()
    tracker = a_notebook(clock=clock)
    with tracker.choosing():
        clock.advance(5.0)
    teach(tracker, [0])
    examine(tracker, [1])
    close(tracker)
    teach(tracker, [0])

    finished = close(tracker)

    assert finished.seconds_choose == 0.0
    assert finished.seconds_exam == 0.0


def test_choosing_is_timed_even_if_the_teacher_fails():
    clock = FakeClock()
    tracker = a_notebook(clock=clock)

    def fail():
        with tracker.choosing():
            clock.advance(2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    teach(tracker, [0])
    assert close(tracker).seconds_choose == 2.0


def test_a_round_is_open_from_its_lesson_to_its_end():
    tracker = a_notebook()
    assert not tracker.open

    teach(tracker, [0])
    assert tracker.open

    close(tracker)
    assert not tracker.open


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([1], dtype=np.uint8), [3, 4], (5,), range(3)])
def test_any_row_numbers_become_an_array_of_them(rows):
    checked = a_notebook().checked(Lesson(rows))

    assert checked.tolist() == list(rows)
    assert checked.dtype == np.intp


@pytest.mark.parametrize("request_", [None, 5, np.arange(3), [0, 1], "lesson", Lesson], ids=repr)
def test_a_request_of_another_kind_is_refused(request_):
    with pytest.raises(TypeError, match="Lesson"):
        a_notebook().checked(request_)


@pytest.mark.parametrize(
    "rows",
    [[], np.arange(0), np.array(3), [[0, 1]], [0.0, 1.0], ["0"], [True, False], None],
    ids=repr,
)
@pytest.mark.parametrize("kind", [Lesson, Exam])
def test_rows_that_are_no_row_numbers_are_refused(kind, rows):
    tracker = a_notebook()
    teach(tracker, [0])

    with pytest.raises(ValueError, match=kind.__name__):
        tracker.checked(kind(rows))


@pytest.mark.parametrize("rows", [[-1], [20], [0, 5, 99]])
@pytest.mark.parametrize("kind", [Lesson, Exam])
def test_rows_outside_the_pool_are_refused(kind, rows):
    tracker = a_notebook(20)
    teach(tracker, [0])

    with pytest.raises(IndexError, match="pool of 20 rows"):
        tracker.checked(kind(np.array(rows)))


def test_an_exam_before_the_first_lesson_is_refused():
    with pytest.raises(ValueError, match="Lesson before its first Exam"):
        a_notebook().checked(Exam(np.arange(3)))


@pytest.mark.parametrize("batch", [0, -1, 2.5, "64"])
def test_a_batch_that_is_no_number_of_rows_is_refused(batch):
    with pytest.raises(ValueError, match=f"batch of a Lesson must be .* got {batch!r}"):
        a_notebook().checked(Lesson(np.arange(3), batch))


@pytest.mark.parametrize("batch", [None, 1, 64, np.int64(8)])
def test_any_positive_number_of_rows_is_a_batch(batch):
    assert len(a_notebook().checked(Lesson(np.arange(3), batch))) == 3


def test_the_rows_behind_a_model_are_counted_by_class():
    tracker = RoundTracker(6, FakeClock(), Labels.encode(["a", "b", "c", "a", "a", "b"]))
    counts = []

    for rows, goes_on in (([0, 1], False), ([3, 4, 5], False), ([4, 2, 2], True), ([1], False)):
        teach(tracker, rows, goes_on=goes_on)
        counts.append(tracker.behind_by_class.tolist())
        assert sum(counts[-1]) == tracker.behind

    assert counts == [[1, 1, 0], [2, 1, 0], [2, 1, 1], [0, 1, 0]]
