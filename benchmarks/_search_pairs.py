"""Pairs of the search benchmark: data sets and learners, in a list for tuning and a final one."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from _accuracy_datasets import BenchmarkDataset, open_dataset
from _accuracy_plan import Pair
from fitwithin_paper.study.dataset_sources import DatasetLoader
from fitwithin_paper.study.study_run import TrainTestRows

PAIRS = Path(__file__).with_name("search_pairs.csv")
"""File with the pairs. Those of the final list were written down before the search was tuned on any other."""

_MAX_TEST_ROWS = 50_000


@dataclass(frozen=True)
class PartPair:
    """A pair, and the part of the benchmark that runs it."""

    part: str
    pair: Pair


def read_search_pairs(file: Path = PAIRS) -> tuple[PartPair, ...]:
    """Read all pairs; the column `seconds` is T, or the limit where a part has a fixed one."""
    with file.open(newline="", encoding="utf-8") as lines:
        return tuple(
            PartPair(
                row["part"],
                Pair(row["list"], row["dataset"], row["learner"], int(row["rows"]), float(row["seconds"])),
            )
            for row in csv.DictReader(lines)
        )


def select_search_pairs(pairs: Sequence[PartPair], part: str, list_name: str, only: str = "") -> tuple[Pair, ...]:
    """Return the pairs of a part and a list whose name contains a text; those of the list "both" have one of two."""
    return tuple(
        each.pair
        for each in pairs
        if each.part == part and each.pair.list_name in (list_name, "both") and only in each.pair.name
    )


def list_single_learners(pair: Pair) -> tuple[Pair, ...]:
    """Return a pair of each learner of a list, such as "lightgbm+random-forest"."""
    return tuple(replace(pair, learner=learner) for learner in pair.learner.split("+"))


class SearchData:
    """Rows of the pairs, read when a run first needs them.

    Parameters
    ----------
    find : callable
        Returns a data set by its name.
    """

    def __init__(self, find: DatasetLoader) -> None:
        self._find = find
        # Pairs follow each other by data set, so that one is enough.
        self._open = lru_cache(maxsize=1)(self._read)

    def select_rows(self, pair: Pair) -> TrainTestRows:
        """Return the training and test rows of a pair."""
        return self._open(pair.dataset).select_rows(pair.rows, pair.test_rows or _MAX_TEST_ROWS)

    def _read(self, name: str) -> BenchmarkDataset:
        with open_dataset(name, self._find) as dataset:
            return dataset
