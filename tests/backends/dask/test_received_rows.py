"""Rows that arrive in any order and in any parts are found again by their numbers."""

import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

pytest.importorskip("distributed", reason="Dask is an extra")

from fitwithin._core.budget import Budget
from fitwithin._core.deadline_thread import DeadlineThread
from fitwithin._core.target import Labels
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import take_rows
from fitwithin.backends._dask.cluster_pool import Partitions
from fitwithin.backends._dask.worker_runner import ReceivedRows, join_rows
from fitwithin.backends._process.row_reader import RowLayout, RowReader
from fitwithin.backends._process.shared_memory import SharedColumn

N_ROWS = 60
TABLE = np.arange(2.0 * N_ROWS).reshape(N_ROWS, 2)
TABLES = {"array": TABLE, "frame": pd.DataFrame(TABLE, columns=["a", "b"]), "sparse": sparse.csr_array(TABLE)}
LABELS = Labels.encode(np.arange(N_ROWS) % 3)
ROW_LISTS = st.lists(st.lists(st.integers(0, N_ROWS - 1), min_size=1, max_size=40), min_size=1, max_size=6)


def make_received(kind):
    columns = [SharedColumn(np.dtype(np.uint8), ()), SharedColumn(np.dtype(float), ())]
    if kind == "array":
        columns.append(SharedColumn(TABLE.dtype, (2,)))
    return ReceivedRows(
        RowLayout(tuple(columns), LABELS.with_column(LABELS.codes[:0]), ("sample_weight",)), N_ROWS, Budget(60)
    )


def take(kind, rows):
    return LabeledRows(take_rows(TABLES[kind], rows), LABELS.codes[rows], {"sample_weight": rows / 10})


def to_array(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("kind", TABLES)
@given(lessons=ROW_LISTS)
def test_every_lesson_reads_its_rows_in_their_order(kind, lessons):
    received = make_received(kind)
    reader = RowReader(received.layout, tuple(file.fd for file in received.files))
    for lesson in lessons:
        rows = np.array(lesson)
        missing = received.find_missing(rows)
        if len(missing):
            received.append(missing, join_rows([take(kind, np.sort(missing))], np.argsort(np.argsort(missing))))

        for found in (
            reader.read(received.share_training_rows(rows)),
            *list(reader.read_in_pieces(received.share_exam_rows(rows))),
        ):
            np.testing.assert_array_equal(to_array(found.X), TABLE[rows])
            np.testing.assert_array_equal(found.y, rows % 3)
            np.testing.assert_array_equal(found.weights, rows / 10)
    received.close()


def test_a_lesson_that_grows_is_one_range():
    received = make_received("array")
    order = np.random.default_rng(0).permutation(N_ROWS)
    for count in (10, 30, N_ROWS):
        missing = received.find_missing(order[:count])
        received.append(missing, take("array", missing))

        assert received.share_training_rows(order[:count]).index == range(count)
    received.close()


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    seed=st.integers(0, 99),
)
def test_rows_are_split_by_partition_and_position(sizes, seed):
    partitions = Partitions(range(len(sizes)), np.array(sizes), None)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(partitions), rng.integers(1, len(partitions) + 1), replace=False))

    found = [first + positions for _, first, positions in partitions.split(rows)]

    np.testing.assert_array_equal(np.concatenate(found), rows)


def test_a_call_that_blocks_is_left_at_the_deadline():
    thread, forever = DeadlineThread("test"), threading.Event()

    with pytest.raises(TimeoutError):
        thread.call(forever.wait, Budget(0.05))

    forever.set()
    assert thread.call(lambda: "goes on", Budget(60)) == "goes on"
    thread.close()


def test_a_time_out_of_the_call_itself_is_raised_as_it_is():
    thread = DeadlineThread("test")

    def time_out():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        thread.call(time_out, Budget(60))
    thread.close()
