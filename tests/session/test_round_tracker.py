"""The bookkeeping of a session."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.target import Labels
from fitwithin._session.round_tracker import RoundTracker
from fitwithin.backends import ExamReport, FitReport
from fitwithin.backends._metrics import accuracy_interval
from fitwithin.backends._process.row_reader import RowPositions
from fitwithin.teachers import Deck, Exam, Lesson
from fitwithin.testing import FakeClock


def a_deck(size):
    return SimpleNamespace(pool_size=size, size=size, pile=SimpleNamespace(waited_seconds=0.0))


def a_tracker(size=20, clock=None):
    return RoundTracker(a_deck(size), clock or FakeClock())


def teach(tracker, rows, continues=False, gave_up=False, may_give_up=False):
    rows = np.array(rows)
    give_up_over = 10.0 if gave_up or may_give_up else None
    lesson = Lesson(rows, batch=len(rows) if continues else None, give_up_over=give_up_over)
    tracker.begin(lesson)
    tracker.add_fit(FitReport(handover_seconds=0.0, fit_seconds=1.0, gave_up=gave_up))


def examine(tracker, rows, wrong=(), **kind):
    rows = np.array(rows)
    report = ExamReport(np.isin(rows, list(wrong)), handover_seconds=0.0, exam_seconds=0.5)
    tracker.add_exam(rows, report, **kind)


def close(tracker, estimate=None):
    tracker.current.estimate = estimate
    return tracker.close(elapsed=0.0)


def test_a_round_counts_what_was_taught_and_examined():
    tracker = a_tracker()
    teach(tracker, [0, 1, 2])
    examine(tracker, [3, 4, 5, 6], wrong=[4])
    examine(tracker, [7])

    finished = close(tracker)

    assert (finished.number, finished.rows, finished.new_rows) == (1, 3, 3)
    assert (finished.examined, finished.fresh) == (5, 5)


def test_rounds_are_numbered():
    tracker = a_tracker()
    numbers = []

    for _ in range(3):
        teach(tracker, [0])
        numbers.append(close(tracker).number)

    assert numbers == [1, 2, 3]


def test_a_round_has_the_estimate_that_it_is_closed_with():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, range(1, 6), wrong=[1])

    expected = accuracy_interval(7, 10)
    finished = close(tracker, expected)

    assert (finished.estimate, finished.low, finished.high) == (expected.value, expected.low, expected.high)


def test_a_round_without_an_exam_has_no_estimate():
    tracker = a_tracker()
    teach(tracker, [0])

    finished = close(tracker)

    assert (finished.examined, finished.estimate, finished.low, finished.high) == (0, None, None, None)


def test_new_rows_are_those_that_no_earlier_lesson_held():
    tracker = a_tracker()
    teach(tracker, [0, 1, 2])
    close(tracker)
    teach(tracker, [2, 1, 8, 9])

    assert close(tracker).new_rows == 2


def test_new_mistakes_are_new_rows_that_the_model_before_got_wrong():
    tracker = a_tracker()
    teach(tracker, [0, 1])
    examine(tracker, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(tracker)
    teach(tracker, [0, 1, 2, 3, 4, 6])

    assert close(tracker).new_mistakes == 2


def test_a_mistake_that_was_taught_is_not_new_in_the_next_round():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 1])
    close(tracker)
    teach(tracker, [0, 1, 2])

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes) == (1, 0)


def test_a_row_that_was_wrong_once_and_then_right_is_no_mistake():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [1])
    close(tracker)
    teach(tracker, [0, 1])

    assert close(tracker).new_mistakes == 0


def test_a_mistake_of_an_older_model_is_not_one_of_the_model_before():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1], wrong=[1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [3])
    close(tracker)
    teach(tracker, [0, 1])

    assert close(tracker).new_mistakes == 0


def test_rows_are_fresh_when_they_were_never_taught_and_never_examined():
    tracker = a_tracker()
    teach(tracker, [0, 1])
    examine(tracker, [2, 3])
    close(tracker)
    teach(tracker, [4, 5])
    examine(tracker, [1, 2, 6, 7, 8], wrong=[1, 2, 6])

    assert tracker.current.fresh.tolist() == [False, False, True, True, True]
    finished = close(tracker)
    assert (finished.examined, finished.fresh) == (5, 3)


def test_rows_of_the_lesson_itself_are_not_fresh():
    tracker = a_tracker()
    teach(tracker, [0, 1])
    examine(tracker, [1, 2])

    assert close(tracker).fresh == 1


def test_a_row_is_fresh_in_one_exam_of_a_round_only():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1, 2])
    examine(tracker, [2, 3])

    assert close(tracker).fresh == 3


def test_rows_that_were_examined_in_an_earlier_round_are_not_fresh():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1])
    close(tracker)
    teach(tracker, [0, 2])
    examine(tracker, [1])

    assert tracker.current.fresh.tolist() == [False]


def test_validation_rows_never_count_as_fresh():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1, 2], purpose="validation")
    examine(tracker, [2, 3])

    assert tracker.current.fresh.tolist() == [False, False, False, True]
    assert close(tracker).examined == 4


def test_holdout_rows_are_fresh_for_every_model():
    tracker = a_tracker()

    for lesson in ([0], [0, 1]):
        teach(tracker, lesson)
        examine(tracker, [5, 6, 7], wrong=[6], purpose="holdout")
        assert tracker.current.fresh.all()
        assert close(tracker).fresh == 3


def test_holdout_rows_of_a_model_that_was_examined_twice_are_those_of_both_exams():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1, 2], purpose="holdout")
    examine(tracker, [3], purpose="holdout")
    assert tracker.last_exams["holdout"].tolist() == [1, 2, 3]
    close(tracker)

    teach(tracker, [0, 4])
    examine(tracker, [2], purpose="holdout")

    assert tracker.last_exams["holdout"].tolist() == [2]


def test_holdout_rows_are_not_fresh_once_they_were_taught_or_examined():
    tracker = a_tracker()
    teach(tracker, [0, 5])
    examine(tracker, [6])
    examine(tracker, [5, 6, 7], purpose="holdout")

    assert close(tracker).fresh == 2


def test_mistakes_on_holdout_rows_do_not_count_as_known():
    tracker = a_tracker()
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
    tracker = a_tracker(size=4)
    teach(tracker, rows)

    assert bool(tracker.current.has_every_row) is whole


def test_a_row_that_is_taught_twice_over_counts_as_often_as_it_is_taught():
    tracker = a_tracker()
    teach(tracker, [0, 0, 1])

    assert close(tracker).rows == 3


def test_lessons_are_whole_one_by_one_and_not_together():
    tracker = a_tracker(size=4)
    teach(tracker, [0, 1])
    close(tracker)
    teach(tracker, [2, 3])

    assert not tracker.current.has_every_row


def test_rows_behind_a_new_model_are_those_of_its_lesson():
    tracker = a_tracker()
    teach(tracker, [0, 1, 2])
    assert tracker.current.n_rows_trained == 3
    close(tracker)

    teach(tracker, [2, 3])

    assert tracker.current.n_rows_trained == 2


def test_rows_behind_a_model_that_continues_are_those_of_all_its_lessons():
    tracker = a_tracker()
    teach(tracker, [0, 1, 2], continues=True)
    close(tracker)
    teach(tracker, [2, 3, 3, 4], continues=True)

    assert tracker.current.n_rows_trained == 5
    finished = close(tracker)
    assert (finished.number, finished.rows, finished.new_rows) == (2, 4, 2)


def test_a_model_that_was_fitted_may_continue():
    tracker = a_tracker(size=6)
    teach(tracker, [0, 1, 2, 3])
    close(tracker)
    teach(tracker, [3, 4], continues=True)

    assert tracker.current.n_rows_trained == 5
    assert not tracker.current.has_every_row


def test_lessons_that_continue_are_whole_together():
    tracker = a_tracker(size=4)
    wholes = []

    for rows in ([0, 1], [1, 2], [2, 2], [3, 0], [1]):
        teach(tracker, rows, continues=True)
        wholes.append(bool(tracker.current.has_every_row))
        close(tracker)

    assert wholes == [False, False, False, True, True]


def test_a_new_model_forgets_what_went_before():
    tracker = a_tracker(size=4)
    teach(tracker, [0, 1, 2, 3], continues=True)
    close(tracker)

    teach(tracker, [0, 1])

    assert tracker.current.n_rows_trained == 2
    assert not tracker.current.has_every_row


def test_mistakes_of_the_model_before_are_new_in_a_lesson_that_continues():
    tracker = a_tracker()
    teach(tracker, [0, 1], continues=True)
    examine(tracker, [2, 3, 4, 5], wrong=[3, 4, 5])
    close(tracker)
    teach(tracker, [1, 2, 3, 4, 6], continues=True)

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes) == (4, 2)


def test_a_fit_that_gave_up_leaves_no_trace_on_its_rows():
    tracker = a_tracker(size=6)
    teach(tracker, [0, 1])
    close(tracker)
    teach(tracker, [0, 2, 3], gave_up=True)
    gave_up = close(tracker)
    teach(tracker, [0, 2, 3])
    examine(tracker, [1, 4])

    finished = close(tracker)

    assert (gave_up.number, gave_up.rows, gave_up.new_rows, gave_up.new_mistakes) == (2, 3, 0, 0)
    assert (finished.number, finished.rows, finished.new_rows, finished.fresh) == (3, 3, 2, 1)


def test_rows_of_a_fit_that_gave_up_are_fresh():
    tracker = a_tracker()
    teach(tracker, [0])
    close(tracker)
    teach(tracker, [1, 2, 3], gave_up=True)
    close(tracker)
    teach(tracker, [0, 1])
    examine(tracker, [1, 2, 3])

    assert tracker.current.fresh.tolist() == [False, True, True]


def test_mistakes_of_the_model_before_a_fit_that_gave_up_are_new_in_the_next_one():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1, 2, 3], wrong=[1, 2])
    close(tracker)
    teach(tracker, [0, 1], gave_up=True)
    close(tracker)
    teach(tracker, [0, 1, 2, 3])

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes) == (3, 2)


def test_a_fit_that_may_give_up_and_does_not_is_like_any_other():
    tracker = a_tracker()
    teach(tracker, [0])
    examine(tracker, [1, 2, 3], wrong=[1, 2])
    close(tracker)
    teach(tracker, [0, 1], may_give_up=True)
    examine(tracker, [1, 4])

    finished = close(tracker)

    assert (finished.new_rows, finished.new_mistakes, finished.fresh) == (1, 1, 1)
    teach(tracker, [0, 1, 2])
    finished = close(tracker)
    assert (finished.new_rows, finished.new_mistakes) == (1, 0)


def test_a_fit_that_gave_up_leaves_the_rows_of_other_loops_trained():
    tracker = a_tracker()
    other = tracker.open_loop()
    tracker.begin(Lesson(np.arange(3), give_up_over=10.0))
    teach(other, [1, 2])
    tracker.add_fit(FitReport(handover_seconds=0.0, fit_seconds=1.0, gave_up=True))
    close(tracker)
    teach(tracker, [0, 1, 2])

    assert close(tracker).new_rows == 1


def test_a_model_continues_with_the_one_before_a_fit_that_gave_up():
    tracker = a_tracker()
    teach(tracker, [0, 1, 2])
    close(tracker)
    teach(tracker, [3, 4], gave_up=True)
    close(tracker)
    teach(tracker, [4, 5], continues=True)

    assert tracker.current.n_rows_trained == 5


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), max_size=12))
def test_counts_of_lessons_that_continue_agree_with_plain_sets(lessons):
    tracker = a_tracker(10)
    taught = set()

    for lesson in lessons:
        teach(tracker, lesson, continues=True)
        new = set(lesson) - taught
        taught |= new

        assert tracker.current.n_rows_trained == len(taught)
        assert bool(tracker.current.has_every_row) == (len(taught) == 10)
        finished = close(tracker)
        assert (finished.rows, finished.new_rows) == (len(lesson), len(new))


@given(st.lists(st.tuples(st.sets(st.integers(0, 19), min_size=1), st.sets(st.integers(0, 19))), max_size=8))
def test_counts_agree_with_plain_sets(rounds):
    tracker = a_tracker(20)
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
    tracker = a_tracker(clock=clock)
    with tracker.timing_choice():
        clock.advance(0.5)
    current = tracker.begin(Lesson(np.arange(2), expected_score=0.9), 7.0, 3.0)
    tracker.add_fit(FitReport(handover_seconds=1.0, fit_seconds=2.0, setup_seconds=1.5))
    for _ in range(2):
        with tracker.timing_choice():
            clock.advance(0.25)
        report = ExamReport(np.zeros(2, dtype=bool), handover_seconds=0.5, exam_seconds=3.0)
        tracker.add_exam(np.arange(2, 4), report)
    current.saved, current.saved_at = SimpleNamespace(save_seconds=3.0), 99.0

    finished = tracker.close(elapsed=100.0)

    assert finished.seconds_handover == 2.0
    assert finished.seconds_fit == 2.0
    assert finished.seconds_exam == 6.0
    assert finished.seconds_model == 3.0
    assert finished.seconds_choose == 1.0
    assert finished.seconds_setup == 1.5
    assert (finished.predicted_fit, finished.predicted_setup, finished.predicted_estimate) == (7.0, 3.0, 0.9)
    assert finished.elapsed == 99.0
    assert finished.best is True


def test_seconds_of_one_round_are_not_those_of_the_next():
    clock = FakeClock()
    tracker = a_tracker(clock=clock)
    with tracker.timing_choice():
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
    tracker = a_tracker(clock=clock)

    def fail():
        with tracker.timing_choice():
            clock.advance(2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    teach(tracker, [0])
    assert close(tracker).seconds_choose == 2.0


def test_a_round_is_open_from_its_lesson_to_its_end():
    tracker = a_tracker()
    assert tracker.current is None

    teach(tracker, [0])
    assert tracker.current is not None

    close(tracker)
    assert tracker.current is None


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([1], dtype=np.uint8), [3, 4], (5,), range(3)])
def test_any_row_numbers_become_an_array_of_them(rows):
    lesson = a_tracker().check_request(Lesson(rows, exams=(Exam(rows),)))

    for checked in (lesson.rows, lesson.exams[0].rows):
        assert checked.tolist() == list(rows)
        assert checked.dtype == np.intp


@pytest.mark.parametrize("request_", [None, 5, np.arange(3), [0, 1], "lesson", Lesson], ids=repr)
def test_a_request_of_another_kind_is_refused(request_):
    with pytest.raises(TypeError, match="Lesson"):
        a_tracker().check_request(request_)


@pytest.mark.parametrize(
    "rows",
    [[], np.arange(0), np.array(3), [[0, 1]], [0.0, 1.0], ["0"], [True, False], None],
    ids=repr,
)
@pytest.mark.parametrize("kind", [Lesson, Exam])
def test_rows_that_are_no_row_numbers_are_refused(kind, rows):
    tracker = a_tracker()
    teach(tracker, [0])

    with pytest.raises(ValueError, match=kind.__name__):
        tracker.check_request(kind(rows))


@pytest.mark.parametrize("rows", [[-1], [20], [0, 5, 99]])
@pytest.mark.parametrize("kind", [Lesson, Exam])
def test_rows_outside_the_pool_are_refused(kind, rows):
    tracker = a_tracker(20)
    teach(tracker, [0])

    with pytest.raises(IndexError, match="outside the pool, which has 20 rows"):
        tracker.check_request(kind(np.array(rows)))


@pytest.mark.parametrize(
    ("exam", "error"),
    [(Exam([]), ValueError), (Exam([20]), IndexError), (Exam(np.arange(3), "validate"), ValueError)],
    ids=["no rows", "outside the pool", "unknown purpose"],
)
def test_the_exams_of_a_lesson_are_checked_before_it_begins(exam, error):
    with pytest.raises(error, match="Exam"):
        a_tracker(20).check_request(Lesson([0], exams=(Exam([1]), exam)))


@pytest.mark.parametrize("purpose", ["validate", True, None])
def test_an_exam_with_an_unknown_purpose_is_refused(purpose):
    tracker = a_tracker()
    teach(tracker, [0])

    with pytest.raises(ValueError, match=f"purpose={purpose!r}; expected one of 'mistakes', 'score', 'validation'"):
        tracker.check_request(Exam(np.arange(3), purpose))


def test_an_exam_before_the_first_lesson_is_refused():
    with pytest.raises(ValueError, match="Exam before its first Lesson"):
        a_tracker().check_request(Exam(np.arange(3)))


@pytest.mark.parametrize("batch", [0, -1, 2.5, "64"])
def test_a_batch_that_is_no_number_of_rows_is_refused(batch):
    with pytest.raises(ValueError, match=f"batch={batch!r}; expected None or a positive number"):
        a_tracker().check_request(Lesson(np.arange(3), batch=batch))


@pytest.mark.parametrize("batch", [None, 1, 64, np.int64(8)])
def test_any_positive_number_of_rows_is_a_batch(batch):
    assert a_tracker().check_request(Lesson(np.arange(3), batch=batch)).batch == batch


def test_the_rows_behind_a_model_are_counted_by_class():
    tracker = RoundTracker(a_deck(6), FakeClock(), Labels.encode(["a", "b", "c", "a", "a", "b"]))
    counts = []

    for rows, goes_on in (([0, 1], False), ([3, 4, 5], False), ([4, 2, 2], True), ([1], False)):
        teach(tracker, rows, continues=goes_on)
        counts.append(tracker.current.class_counts.tolist())
        assert sum(counts[-1]) == tracker.current.n_rows_trained

    assert counts == [[1, 1, 0], [2, 1, 0], [2, 1, 1], [0, 1, 0]]


def test_waiting_for_rows_of_a_data_set_is_no_part_of_a_choice():
    clock = FakeClock()
    tracker = a_tracker(20, clock)
    with tracker.timing_choice():
        clock.advance(5.0)
        tracker.deck.pile.waited_seconds += 4.0

    assert tracker.slowest_choice == pytest.approx(1.0)


def test_deck_tracker_and_positions_together_keep_less_than_a_byte_for_each_row_of_the_pool():
    size, n_used = 20_000_000, 50_000
    tracemalloc.start()
    try:
        deck = Deck(size, np.random.default_rng(0))
        tracker, positions = RoundTracker(deck, FakeClock()), RowPositions(size)
        rows = deck.deal(n_used)
        teach(tracker, rows)
        positions.set(rows, np.arange(n_used))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 0.9 * size
