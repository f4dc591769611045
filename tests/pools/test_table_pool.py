"""A pool hands out the rows that are asked for."""

import numpy as np

from fitwithin._core.target import Labels
from fitwithin._pools import TablePool


def test_a_pool_hands_out_the_rows_that_are_asked_for():
    pool = TablePool(np.arange(12.0).reshape(4, 3), Labels.encode(["a", "b", "a", "c"]))
    rows = np.array([3, 0, 3])

    assert len(pool) == 4
    assert pool.read(rows).X.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert pool.read(rows).y.tolist() == ["c", "a", "c"]


def test_a_pool_hands_out_copies():
    X = np.zeros((3, 2))
    pool = TablePool(X, Labels.encode([0, 1, 0]))
    rows = np.array([0, 1])

    pool.read(rows).X[:] = 7
    pool.read(rows).y[:] = 7

    assert not X.any()
    assert pool.read(np.arange(3)).y.tolist() == [0, 1, 0]


def test_a_pool_reads_a_file_that_is_mapped(tmp_path):
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(5, 2))
    X[:] = np.arange(10).reshape(5, 2)
    pool = TablePool(X, Labels.encode([0, 1, 0, 1, 0]))

    assert pool.X is X
    assert pool.read(np.array([4, 1])).X.tolist() == [[8, 9], [2, 3]]


def test_a_pool_hands_out_what_goes_with_its_rows():
    weights = np.array([0.5, 1.0, 2.0])
    pool = TablePool(np.zeros((3, 1)), Labels.encode([0, 1, 0]), {"sample_weight": weights})

    portion = pool.read(np.array([2, 0]))

    assert portion.weights.tolist() == [2.0, 0.5]
    assert len(portion) == 2
    assert pool.read(np.array([1])).extras["sample_weight"].tolist() == [1.0]
