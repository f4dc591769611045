"""Rows reach another process unchanged, each at most once, and lessons lie side by side."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools import TablePool
from fitwithin.backends._process.shared_rows import FileRows, RowMap, RowReader, Span, mapped_file, share
from fitwithin.testing import FakeClock


def a_pool(size):
    X = np.random.default_rng(size).random((size, 4))
    return TablePool(X, Labels.encode(np.arange(size) % 3 * 10))


def reader_of(rows):
    return RowReader(rows.layout, tuple(file.fd for file in rows.files))


def check(pool, reader, place, rows):
    there, here = reader.read(place), pool.read(rows)
    np.testing.assert_array_equal(there.X, here.X)
    np.testing.assert_array_equal(there.y, here.y)


uses = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 39), min_size=1, max_size=40)), max_size=8)


@given(uses, st.booleans())
def test_any_sequence_of_lessons_and_exams_reads_back_what_was_asked_for(uses, distinct):
    pool = a_pool(40)
    shared = RowMap(pool, Budget(60))
    shared._chunk = 7  # Small enough for several chunks in a lesson of forty rows.
    used = set()
    for is_lesson, numbers in uses:
        rows = np.array(list(dict.fromkeys(numbers)) if distinct else numbers)
        used.update(rows.tolist())

        place = shared.lesson(rows) if is_lesson else shared.exam(rows)

        check(pool, reader_of(shared), place, rows)
        assert shared.length == len(used)
        if is_lesson and distinct:
            assert (place.start, place.stop) == (0, len(rows))
    shared.close()


def test_a_growing_lesson_moves_only_what_is_new():
    pool = a_pool(30)
    shared = RowMap(pool, Budget(60))
    shared.lesson(np.arange(10))
    shared.exam(np.arange(10, 30))
    before = shared._maps[-1][:10].copy()

    place = shared.lesson(np.array([*range(10), 25, 12, 29]))

    assert isinstance(place, Span)
    np.testing.assert_array_equal(shared._maps[-1][:10], before)
    check(pool, reader_of(shared), place, np.array([*range(10), 25, 12, 29]))
    shared.close()


@given(st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=30, unique=True), min_size=1, max_size=5))
def test_exam_rows_stay_readable_while_lessons_move_them(lessons):
    pool = a_pool(40)
    shared, exam = RowMap(pool, Budget(60)), np.arange(30, 40)
    for numbers in lessons:
        rows = np.array(numbers)

        check(pool, reader_of(shared), shared.lesson(rows), rows)
        check(pool, reader_of(shared), shared.exam(exam), exam)
    assert shared.length == 10 + len({number for numbers in lessons for number in numbers})
    shared.close()


def test_fresh_exam_rows_lie_side_by_side():
    shared = RowMap(a_pool(30), Budget(60))
    shared.lesson(np.arange(5))

    place = shared.exam(np.array([20, 9, 13]))

    assert (place.start, place.stop) == (5, 8)
    shared.close()


def test_memory_follows_the_rows_that_are_used():
    X = np.ones((1_000_000, 8))
    shared = RowMap(TablePool(X, Labels.encode(np.arange(len(X)) % 2)), Budget(60))

    shared.lesson(np.arange(0, 1_000_000, 1000))

    assert os.fstat(shared.files[-1].fd).st_blocks * 512 < 200_000
    shared.close()


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:], np.s_[::2], np.s_[:, 1:3]])
def test_a_part_of_a_memory_map_is_found_in_its_file(part, tmp_path):
    whole = np.memmap(tmp_path / "rows", mode="w+", shape=(40, 4), dtype=np.float32)
    whole[:] = np.random.default_rng(0).random((40, 4))
    pool = TablePool(np.asarray(whole)[part], Labels.encode(np.arange(len(whole[part])) % 2))

    shared = share(pool, Budget(60))

    assert isinstance(shared, FileRows)
    check(pool, reader_of(shared), shared.lesson(np.array([7, 3, 11])), np.array([7, 3, 11]))
    shared.close()


def test_arrays_that_another_process_could_not_see_are_not_taken_for_files(tmp_path):
    np.zeros(12, dtype=np.float32).tofile(tmp_path / "rows")
    private = np.memmap(tmp_path / "rows", mode="c", shape=(4, 3), dtype=np.float32)
    backwards = np.memmap(tmp_path / "rows", mode="r", shape=(4, 3), dtype=np.float32)[::-1]

    assert mapped_file(private) is None
    assert mapped_file(backwards) is None
    assert mapped_file(np.zeros((4, 3))) is None


def test_a_pool_of_another_kind_is_refused_with_a_way_out():
    with pytest.raises(TypeError, match="backend='inline'"):
        share([1, 2, 3], Budget(60))


def test_copying_stops_at_the_deadline():
    clock = FakeClock()
    shared = RowMap(a_pool(30), Budget(1, clock=clock))
    clock.advance(2)

    with pytest.raises(TimeoutError):
        shared.exam(np.arange(30))
    shared.close()
