"""Shared rows are read back unchanged, each is copied at most once, and training rows are contiguous."""

import gc
import os
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools.pool import StackedTable, TablePool
from fitwithin.backends._process.row_reader import RowPositions, RowReader
from fitwithin.backends._process.shared_memory import MappedFile
from fitwithin.backends._process.shared_rows import AppendOnlyRowMap, MappedFileRows, RowMap, share_rows
from fitwithin.testing import FakeClock


def make_pool(size):
    X = np.random.default_rng(size).random((size, 4))
    return TablePool(X, Labels.encode(np.arange(size) % 3 * 10))


def reader_of(rows):
    return RowReader(rows.layout, tuple(file.fd for file in rows.files))


def check(pool, reader, selection, rows):
    there, here = reader.read(selection), pool.read(rows)
    np.testing.assert_array_equal(there.X, here.X)
    np.testing.assert_array_equal(there.y, here.y)


uses = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 39), min_size=1, max_size=40)), max_size=8)


@given(uses, st.booleans())
def test_any_sequence_of_fits_and_exams_reads_back_the_requested_rows(uses, distinct):
    pool = make_pool(40)
    shared = RowMap(pool, Budget(60))
    shared._row_bytes = (1 << 20) // 7  # Small enough for several chunks in forty rows.
    used = set()
    for is_fit, numbers in uses:
        rows = np.array(list(dict.fromkeys(numbers)) if distinct else numbers)
        used.update(rows.tolist())

        selection = shared.share_training_rows(rows) if is_fit else shared.share_exam_rows(rows)

        check(pool, reader_of(shared), selection, rows)
        assert shared.n_appended == len(used)
        if is_fit and distinct:
            assert selection.index == range(len(rows))
    shared.close()


def test_of_a_row_that_comes_twice_the_last_position_counts():
    positions = RowPositions(50)

    positions.set(np.array([7, 9, 7]), np.array([0, 1, 2]))

    assert positions.find(np.array([7, 9])).tolist() == [2, 1]


@given(st.lists(st.lists(st.integers(0, 99), max_size=30), max_size=8))
def test_positions_are_those_that_were_set_last(uses):
    positions, expected = RowPositions(100), {}
    for number, rows in enumerate(uses):
        new = positions.find_new(np.array(rows, dtype=np.int32)).tolist()

        assert new == [row for row in dict.fromkeys(rows) if row not in expected]
        values = 1000 * number + np.arange(len(rows))
        positions.set(np.array(rows, dtype=np.int32), values)
        expected.update(zip(rows, values.tolist(), strict=True))
        known = np.array(list(expected), dtype=np.int32)
        assert positions.find(known).tolist() == list(expected.values())


def test_positions_are_sent_in_few_bytes():
    positions = RowPositions(50)
    positions.set(np.array([5]), np.array([0]))

    assert positions.find(np.array([5])).dtype == np.int32


def test_a_growing_subset_moves_only_new_rows():
    pool = make_pool(30)
    shared = RowMap(pool, Budget(60))
    shared.share_training_rows(np.arange(10))
    shared.share_exam_rows(np.arange(10, 30))
    before = shared._maps[-1][:10].copy()

    selection = shared.share_training_rows(np.array([*range(10), 25, 12, 29]))

    assert selection.index == range(13)
    np.testing.assert_array_equal(shared._maps[-1][:10], before)
    check(pool, reader_of(shared), selection, np.array([*range(10), 25, 12, 29]))
    shared.close()


@given(st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=30, unique=True), min_size=1, max_size=5))
def test_exam_rows_stay_readable_while_subsets_move_them(subsets):
    pool = make_pool(40)
    shared, exam = RowMap(pool, Budget(60)), np.arange(30, 40)
    for numbers in subsets:
        rows = np.array(numbers)

        check(pool, reader_of(shared), shared.share_training_rows(rows), rows)
        check(pool, reader_of(shared), shared.share_exam_rows(exam), exam)
    assert shared.n_appended == 10 + len({number for numbers in subsets for number in numbers})
    shared.close()


def test_new_exam_rows_are_contiguous():
    shared = RowMap(make_pool(30), Budget(60))
    shared.share_training_rows(np.arange(5))

    selection = shared.share_exam_rows(np.array([20, 9, 13]))

    assert selection.index == range(5, 8)
    shared.close()


@given(uses, st.sampled_from(["array", "frame"]))
def test_rows_of_an_append_only_map_never_move(uses, kind):
    pool = make_pool(40)
    if kind == "frame":
        pool.X = pytest.importorskip("pandas").DataFrame(pool.X, columns=list("abcd"))
    shared = share_rows(pool, Budget(60), n_readers=2)
    shared._row_bytes = (1 << 20) // 7
    earlier = []
    for is_fit, numbers in uses:
        rows = np.array(numbers)

        selection = shared.share_training_rows(rows) if is_fit else shared.share_exam_rows(rows)

        # Other processes may still read what was selected before.
        earlier.append((selection, rows))
        for known, expected in earlier:
            check(pool, reader_of(shared), known, expected)
    assert isinstance(shared, AppendOnlyRowMap)
    n_used = len({number for _, numbers in uses for number in numbers})
    assert shared.n_appended + 40 - shared._free_end == n_used
    shared.close()


@given(st.permutations(range(40)), st.lists(st.integers(1, 30), min_size=1, max_size=4), st.booleans())
def test_subsets_that_grow_one_order_are_contiguous_in_an_append_only_map(order, sizes, examine_before):
    pool, order = make_pool(40), np.array(order)
    shared = AppendOnlyRowMap(pool, Budget(60))
    if examine_before:
        assert isinstance(shared.share_exam_rows(order[30:]).index, range)
    for size in sorted(sizes):
        selection = shared.share_training_rows(order[:size])

        assert selection.index == range(size)
        shared.share_exam_rows(order[30:])
    shared.close()


@pytest.mark.parametrize("map_type", [RowMap, AppendOnlyRowMap])
def test_memory_is_proportional_to_the_rows_used(map_type):
    X = np.ones((1_000_000, 8))
    shared = map_type(TablePool(X, Labels.encode(np.arange(len(X)) % 2)), Budget(60))

    shared.share_training_rows(np.arange(0, 1_000_000, 1000))
    shared.share_exam_rows(np.arange(1, 1_000_000, 10_000))

    assert os.fstat(shared.files[-1].fd).st_blocks * 512 < 200_000
    shared.close()


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:], np.s_[::2], np.s_[:, 1:3]])
def test_a_slice_of_a_memory_map_is_found_in_its_file(part, tmp_path):
    whole = np.memmap(tmp_path / "rows", mode="w+", shape=(40, 4), dtype=np.float32)
    whole[:] = np.random.default_rng(0).random((40, 4))
    pool = TablePool(np.asarray(whole)[part], Labels.encode(np.arange(len(whole[part])) % 2))

    shared = share_rows(pool, Budget(60))

    assert isinstance(shared, MappedFileRows)
    check(pool, reader_of(shared), shared.share_training_rows(np.array([7, 3, 11])), np.array([7, 3, 11]))
    shared.close()


def test_arrays_that_another_process_would_read_differently_have_no_mapped_file(tmp_path):
    np.zeros(12, dtype=np.float32).tofile(tmp_path / "rows")
    private = np.memmap(tmp_path / "rows", mode="c", shape=(4, 3), dtype=np.float32)
    backwards = np.memmap(tmp_path / "rows", mode="r", shape=(4, 3), dtype=np.float32)[::-1]

    assert MappedFile.find(private) is None
    assert MappedFile.find(backwards) is None
    assert MappedFile.find(np.zeros((4, 3))) is None


def test_a_pool_of_another_type_is_refused_with_advice():
    with pytest.raises(TypeError, match="backend='inline'"):
        share_rows([1, 2, 3], Budget(60))


def test_copying_stops_at_the_deadline():
    clock = FakeClock()
    shared = RowMap(make_pool(30), Budget(1, clock=clock))
    clock.advance(2)

    with pytest.raises(TimeoutError):
        shared.share_exam_rows(np.arange(30))
    shared.close()


def map_rows(path, values):
    mapped = np.memmap(path, mode="w+", shape=values.shape, dtype=values.dtype)
    mapped[:] = values
    mapped.flush()
    return mapped


def count_anonymous(files):
    return sum("memfd:fitwithin" in os.readlink(f"/proc/self/fd/{file.fd}") for file in files)


def stack(first, second):
    return TablePool(StackedTable(first, second), Labels.encode(np.arange(len(first) + len(second)) % 3))


@given(uses)
def test_rows_of_two_tables_read_back_as_requested(uses):
    values = np.random.default_rng(0).random((40, 4))
    pool = stack(values[:25], values[25:].astype(np.float32))
    shared = RowMap(pool, Budget(60))
    for is_fit, numbers in uses:
        rows = np.array(numbers)

        selection = shared.share_training_rows(rows) if is_fit else shared.share_exam_rows(rows)

        check(pool, reader_of(shared), selection, rows)
    shared.close()


@pytest.mark.parametrize("second_is_mapped", [True, False])
@given(uses=uses)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_second_table_leaves_the_file_of_the_first_where_it_is(second_is_mapped, uses, tmp_path):
    values = np.random.default_rng(0).random((40, 4))
    second = values[25:].astype(np.float32)
    pool = stack(
        map_rows(tmp_path / "X", values[:25]), map_rows(tmp_path / "V", second) if second_is_mapped else second
    )
    shared = share_rows(pool, Budget(60))
    for is_fit, numbers in uses:
        rows = np.array(numbers)

        selection = shared.share_training_rows(rows) if is_fit else shared.share_exam_rows(rows)

        check(pool, reader_of(shared), selection, rows)
        pieces = list(reader_of(shared).read_in_pieces(selection))
        np.testing.assert_array_equal(np.concatenate([piece.X for piece in pieces]), pool.read(rows).X)
    assert isinstance(shared, MappedFileRows)
    assert count_anonymous(shared.files) == 1 + (not second_is_mapped)
    shared.close()


def test_only_the_used_rows_of_a_second_array_are_copied(tmp_path):
    pool = stack(map_rows(tmp_path / "X", np.zeros((10, 8))), np.ones((1_000_000, 8)))
    shared = share_rows(pool, Budget(60))

    shared.share_exam_rows(np.arange(10, 1000))

    assert os.fstat(shared.files[-1].fd).st_blocks * 512 < 200_000
    mapped = weakref.ref(shared._map.base)
    shared.close()
    gc.collect()
    assert mapped() is None


def test_copying_a_second_array_ends_at_the_deadline(tmp_path):
    clock = FakeClock()
    pool = stack(map_rows(tmp_path / "X", np.zeros((10, 8))), np.ones((100, 8)))
    shared = share_rows(pool, Budget(5, clock=clock))
    clock.advance(6)

    with pytest.raises(TimeoutError):
        shared.share_exam_rows(np.arange(50, 60))
    shared.close()
