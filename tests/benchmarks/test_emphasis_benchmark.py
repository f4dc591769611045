"""Emphasis benchmark: mistakes by rows and by weights."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fitwithin_paper.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
emphasis = import_module("emphasis")


@pytest.fixture
def rows():
    X, y = make_classification(9_000, n_informative=6, n_classes=3, random_state=0)
    return TrainTestRows(X, y, 8_000)


def test_every_way_is_scored_on_the_test_rows(rows):
    found = emphasis.compare_on_pair(rows, "decision-tree", 3_000, seed=0)

    assert len(found) == 1 + len(emphasis.WEIGHTS) + len(emphasis.SHARES)
    assert all(0.4 < accuracy < 1.0 for accuracy in found.values())


def test_every_way_has_the_same_number_of_rows(rows, monkeypatch):
    sizes = []
    fit = emphasis._fit

    def count_rows(rows, learner, chosen, seed, weights=None):
        sizes.append(len(np.unique(chosen)))
        return fit(rows, learner, chosen, seed, weights)

    monkeypatch.setattr(emphasis, "_fit", count_rows)
    emphasis.compare_on_pair(rows, "decision-tree", 3_000, seed=0)

    assert sizes[0] == emphasis._FIRST_ROWS
    assert set(sizes[1:]) == {3_000}


def test_the_table_has_differences_to_random_rows():
    table = emphasis.make_table({("a", "b"): [{"plain": 0.8, "weight 2": 0.81}, {"plain": 0.9, "weight 2": 0.92}]})

    assert list(table.rows[0]) == ["a", "b", "85.00", "+1.50"]
