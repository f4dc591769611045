"""A pool returns copies of the rows that are read."""

import numpy as np
import pytest

from fitwithin._core.cost import CostEstimates
from fitwithin._core.target import Labels, Values
from fitwithin._pools.pool import TablePool


def test_a_pool_returns_the_rows_in_the_order_given():
    pool = TablePool(np.arange(12.0).reshape(4, 3), Labels.encode(["a", "b", "a", "c"]))
    rows = np.array([3, 0, 3])

    assert len(pool) == 4
    assert pool.read(rows).X.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert pool.read(rows).y.tolist() == ["c", "a", "c"]


def test_writing_to_rows_does_not_change_the_pool():
    X = np.zeros((3, 2))
    pool = TablePool(X, Labels.encode([0, 1, 0]))
    rows = np.array([0, 1])

    pool.read(rows).X[:] = 7
    pool.read(rows).y[:] = 7

    assert not X.any()
    assert pool.read(np.arange(3)).y.tolist() == [0, 1, 0]


def test_a_pool_reads_from_a_memory_map(tmp_path):
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(5, 2))
    X[:] = np.arange(10).reshape(5, 2)
    pool = TablePool(X, Labels.encode([0, 1, 0, 1, 0]))

    assert pool.X is X
    assert pool.read(np.array([4, 1])).X.tolist() == [[8, 9], [2, 3]]


@pytest.mark.parametrize("target", [Labels.encode([0, 1] * 5000), Values.read(np.arange(10_000.0))])
def test_a_first_lesson_holds_rows_with_weight(target):
    weights = np.zeros(10_000)
    weights[:20] = 1.0
    pool = TablePool(np.zeros((10_000, 1)), target, {"sample_weight": weights})
    decks = [pool.make_deck(np.random.default_rng(seed), CostEstimates()) for seed in range(20)]

    assert all(weights[deck.opening(50)].any() for deck in decks)


def test_a_pool_returns_the_extra_columns_of_the_rows():
    weights = np.array([0.5, 1.0, 2.0])
    pool = TablePool(np.zeros((3, 1)), Labels.encode([0, 1, 0]), {"sample_weight": weights})

    selected = pool.read(np.array([2, 0]))

    assert selected.weights.tolist() == [2.0, 0.5]
    assert len(selected) == 2
    assert pool.read(np.array([1])).row_params["sample_weight"].tolist() == [1.0]
