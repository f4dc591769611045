"""The bookkeeping of a session."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.scoring import accuracy_interval
from fitwithin._core.target import Labels
from fitwithin._session.round_tracker import Notebook
from fitwithin.backends import Examined, Taught
from fitwithin.teachers import Exam, Lesson
from fitwithin.testing import FakeClock


def a_notebook(size=20, clock=None):
    return Notebook(size, clock or FakeClock())


def teach(notebook, rows, predicted_fit=None, goes_on=False):
    notebook.begin(np.array(rows), predicted_fit, goes_on=goes_on)
    notebook.taught(Taught(handover=0.0, fit=1.0))


def examine(notebook, rows, wrong=(), **kind):
    rows = np.array(rows)
    notebook.examined(rows, Examined(np.isin(rows, list(wrong)), handover=0.0, exam=0.5), **kind)


def close(notebook):
    return notebook.close(estimate=notebook.estimate(), best=False, store=0.0, elapsed=0.0)


def test_a_round_counts_what_was_taught_and_examined():
    notebook = a_notebook()
    teach(notebook, [0, 1, 2])
    examine(notebook, [3, 4, 5, 6], wrong=[4])
    examine(notebook, [7])

    finished = close(notebook)

    assert (finished.number, finished.rows, finished.new_rows) == (1, 3, 3)
    assert (finished.examined, finished.fresh) == (5, 5)
    assert finished.estimate == 0.8


def test_rounds_are_numbered():
    notebook = a_notebook()
    numbers = []

    for _ in range(3):
        teach(notebook, [0])
        numbers.append(close(notebook).number)

    assert numbers == [1, 2, 3]


def test_a_round_has_the_interval_of_all_its_exams():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, range(1, 6), wrong=[1])
    examine(notebook, range(6, 11), wrong=[6, 7])

    finished = close(notebook)

    expected = accuracy_interval(7, 10)
    assert (finished.estimate, finished.low, finished.high) == (expected.value, expected.low, expected.high)


def test_a_round_without_an_exam_has_no_estimate():
    notebook = a_notebook()
    teach(notebook, [0])

    finished = close(notebook)

    assert (finished.examined, finished.estimate, finished.low, finished.high) == (0, None, None, None)
    assert notebook.fresh_estimate() is None


def test_new_rows_are_those_that_no_earlier_lesson_held():
    notebook = a_notebook()
    teach(notebook, [0, 1, 2])
    close(notebook)
    teach(notebook, [2, 1, 8, 9])

    assert close(notebook).new_rows == 2


def test_new_mistakes_are_new_rows_that_the_model_before_got_wrong():
    notebook = a_notebook()
    teach(notebook, [0, 1])
    examine(notebook, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(notebook)
    teach(notebook, [0, 1, 2, 3, 4, 6])

    assert close(notebook).new_mistakes == 2


def test_a_mistake_that_was_taught_is_not_new_in_the_next_round():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1], wrong=[1])
    close(notebook)
    teach(notebook, [0, 1])
    close(notebook)
    teach(notebook, [0, 1, 2])

    finished = close(notebook)

    assert (finished.new_rows, finished.new_mistakes) == (1, 0)


def test_a_row_that_was_wrong_once_and_then_right_is_no_mistake():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1], wrong=[1])
    close(notebook)
    teach(notebook, [0, 2])
    examine(notebook, [1])
    close(notebook)
    teach(notebook, [0, 1])

    assert close(notebook).new_mistakes == 0


def test_a_mistake_of_an_older_model_is_not_one_of_the_model_before():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1], wrong=[1])
    close(notebook)
    teach(notebook, [0, 2])
    examine(notebook, [3])
    close(notebook)
    teach(notebook, [0, 1])

    assert close(notebook).new_mistakes == 0


def test_rows_are_fresh_when_they_were_never_taught_and_never_examined():
    notebook = a_notebook()
    teach(notebook, [0, 1])
    examine(notebook, [2, 3])
    close(notebook)
    teach(notebook, [4, 5])
    examine(notebook, [1, 2, 6, 7, 8], wrong=[1, 2, 6])

    assert notebook.fresh_estimate() == accuracy_interval(2, 3)
    finished = close(notebook)
    assert (finished.examined, finished.fresh, finished.estimate) == (5, 3, 0.4)


def test_rows_of_the_lesson_itself_are_not_fresh():
    notebook = a_notebook()
    teach(notebook, [0, 1])
    examine(notebook, [1, 2])

    assert close(notebook).fresh == 1


def test_a_row_is_fresh_in_one_exam_of_a_round_only():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1, 2])
    examine(notebook, [2, 3])

    assert close(notebook).fresh == 3


def test_an_exam_without_fresh_rows_gives_no_fresh_estimate():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1])
    close(notebook)
    teach(notebook, [0, 2])
    examine(notebook, [1])

    assert notebook.estimate() is not None
    assert notebook.fresh_estimate() is None


def test_rows_that_judge_are_fresh_to_nobody():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1, 2], judges=True)
    examine(notebook, [2, 3])

    assert notebook.fresh_estimate() == accuracy_interval(1, 1)
    assert notebook.fresh.tolist() == [False, False, False, True]
    assert close(notebook).examined == 4


def test_rows_that_audit_are_fresh_for_every_model():
    notebook = a_notebook()

    for lesson in ([0], [0, 1]):
        teach(notebook, lesson)
        examine(notebook, [5, 6, 7], wrong=[6], audits=True)
        assert notebook.fresh_estimate() == accuracy_interval(2, 3)
        assert close(notebook).fresh == 3


def test_rows_that_audit_are_not_fresh_once_they_were_taught_or_examined():
    notebook = a_notebook()
    teach(notebook, [0, 5])
    examine(notebook, [6])
    examine(notebook, [5, 6, 7], audits=True)

    assert close(notebook).fresh == 2


def test_mistakes_of_an_audit_are_known_to_nobody():
    notebook = a_notebook()
    teach(notebook, [0])
    examine(notebook, [1, 2], wrong=[1], audits=True)
    examine(notebook, [3, 4], wrong=[3], judges=True)
    close(notebook)
    teach(notebook, [0, 1, 3])

    assert close(notebook).new_mistakes == 1


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
    notebook = a_notebook(size=4)
    teach(notebook, rows)

    assert bool(notebook.whole) is whole


def test_a_row_that_is_taught_twice_over_counts_as_often_as_it_is_taught():
    notebook = a_notebook()
    teach(notebook, [0, 0, 1])

    assert close(notebook).rows == 3


def test_lessons_are_whole_one_by_one_and_not_together():
    notebook = a_notebook(size=4)
    teach(notebook, [0, 1])
    close(notebook)
    teach(notebook, [2, 3])

    assert not notebook.whole


def test_rows_behind_a_new_model_are_those_of_its_lesson():
    notebook = a_notebook()
    teach(notebook, [0, 1, 2])
    assert notebook.behind == 3
    close(notebook)

    teach(notebook, [2, 3])

    assert notebook.behind == 2


def test_rows_behind_a_model_that_goes_on_are_those_of_all_its_lessons():
    notebook = a_notebook()
    teach(notebook, [0, 1, 2], goes_on=True)
    close(notebook)
    teach(notebook, [2, 3, 3, 4], goes_on=True)

    assert notebook.behind == 5
    finished = close(notebook)
    assert (finished.number, finished.rows, finished.new_rows) == (2, 4, 2)


def test_a_model_that_was_fitted_may_go_on():
    notebook = a_notebook(size=6)
    teach(notebook, [0, 1, 2, 3])
    close(notebook)
    teach(notebook, [3, 4], goes_on=True)

    assert notebook.behind == 5
    assert not notebook.whole


def test_lessons_that_go_on_are_whole_together():
    notebook = a_notebook(size=4)
    wholes = []

    for rows in ([0, 1], [1, 2], [2, 2], [3, 0], [1]):
        teach(notebook, rows, goes_on=True)
        wholes.append(bool(notebook.whole))
        close(notebook)

    assert wholes == [False, False, False, True, True]


def test_a_new_model_forgets_what_went_before():
    notebook = a_notebook(size=4)
    teach(notebook, [0, 1, 2, 3], goes_on=True)
    close(notebook)

    teach(notebook, [0, 1])

    assert notebook.behind == 2
    assert not notebook.whole


def test_mistakes_of_the_model_before_are_new_in_a_lesson_that_goes_on():
    notebook = a_notebook()
    teach(notebook, [0, 1], goes_on=True)
    examine(notebook, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(notebook)
    teach(notebook, [1, 2, 3, 4, 6], goes_on=True)

    finished = close(notebook)

    assert (finished.new_rows, finished.new_mistakes) == (4, 2)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), max_size=12))
def test_counts_of_lessons_that_go_on_agree_with_plain_sets(lessons):
    notebook = a_notebook(10)
    taught = set()

    for lesson in lessons:
        teach(notebook, lesson, goes_on=True)
        new = set(lesson) - taught
        taught |= new

        assert notebook.behind == len(taught)
        assert bool(notebook.whole) == (len(taught) == 10)
        finished = close(notebook)
        assert (finished.rows, finished.new_rows) == (len(lesson), len(new))


@given(st.lists(st.tuples(st.sets(st.integers(0, 19), min_size=1), st.sets(st.integers(0, 19))), max_size=8))
def test_counts_agree_with_plain_sets(rounds):
    notebook = a_notebook(20)
    taught, seen = set(), set()

    for lesson, exam in rounds:
        teach(notebook, sorted(lesson))
        if exam:
            examine(notebook, sorted(exam))
        finished = close(notebook)

        assert finished.rows == len(lesson)
        assert finished.new_rows == len(lesson - taught)
        assert finished.examined == len(exam)
        assert finished.fresh == len(exam - seen - lesson)
        taught |= lesson
        seen |= lesson | exam


def test_seconds_are_added_up():
    clock = FakeClock()
    notebook = a_notebook(clock=clock)
    with notebook.choosing():
        clock.advance(0.5)
    notebook.begin(np.arange(2), predicted_fit=7.0)
    notebook.taught(Taught(handover=1.0, fit=2.0))
    for _ in range(2):
        with notebook.choosing():
            clock.advance(0.25)
        notebook.examined(np.arange(2, 4), Examined(np.zeros(2, dtype=bool), handover=0.5, exam=4.0))

    finished = notebook.close(estimate=notebook.estimate(), best=True, store=3.0, elapsed=99.0)

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
    notebook = a_notebook(clock=clock)
    with notebook.choosing():
        clock.advance(5.0)
    teach(notebook, [0])
    examine(notebook, [1])
    close(notebook)
    teach(notebook, [0])

    finished = close(notebook)

    assert finished.seconds_choose == 0.0
    assert finished.seconds_exam == 0.0


def test_choosing_is_timed_even_if_the_teacher_fails():
    clock = FakeClock()
    notebook = a_notebook(clock=clock)

    def fail():
        with notebook.choosing():
            clock.advance(2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    teach(notebook, [0])
    assert close(notebook).seconds_choose == 2.0


def test_a_round_is_open_from_its_lesson_to_its_end():
    notebook = a_notebook()
    assert not notebook.open

    teach(notebook, [0])
    assert notebook.open

    close(notebook)
    assert not notebook.open


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
    notebook = a_notebook()
    teach(notebook, [0])

    with pytest.raises(ValueError, match=kind.__name__):
        notebook.checked(kind(rows))


@pytest.mark.parametrize("rows", [[-1], [20], [0, 5, 99]])
@pytest.mark.parametrize("kind", [Lesson, Exam])
def test_rows_outside_the_pool_are_refused(kind, rows):
    notebook = a_notebook(20)
    teach(notebook, [0])

    with pytest.raises(IndexError, match="pool of 20 rows"):
        notebook.checked(kind(np.array(rows)))


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
    notebook = Notebook(6, FakeClock(), Labels.encode(["a", "b", "c", "a", "a", "b"]))
    counts = []

    for rows, goes_on in (([0, 1], False), ([3, 4, 5], False), ([4, 2, 2], True), ([1], False)):
        teach(notebook, rows, goes_on=goes_on)
        counts.append(notebook.behind_by_class.tolist())
        assert sum(counts[-1]) == notebook.behind

    assert counts == [[1, 1, 0], [2, 1, 0], [2, 1, 1], [0, 1, 0]]
