"""Data sets of the accuracy benchmark: the study's own, in other encodings, and a synthetic memory-mapped one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.model_selection import train_test_split

from fitwithin_paper.study.dataset_sources import DatasetLoader
from fitwithin_paper.study.preprocessing import PreparedDataset, prepare_dataset
from fitwithin_paper.study.raw_dataset import RawDataset
from fitwithin_paper.study.study_run import TrainTestRows

DENSE, NOMINAL, FRAME = "-dense", "-nominal", "-frame"
"""Endings of a data set's name that ask for another encoding: the one-hot columns as a dense array; every column
one-hot encoded, numbers too; a frame with categorical columns that the learner has to encode."""

MEMORY_MAPPED = "made-up-20m"
"""Name of the synthetic data set whose rows are a memory-mapped file."""

MEMORY_MAPPED_ROWS = 20_000_000
"""Its training rows."""

# Its columns, and its test rows.
_MADE_UP_COLUMNS = 20
_MADE_UP_TEST_ROWS = 50_000

# Rows that are made up at a time: 40 MB.
_BLOCK_ROWS = 500_000

# Share of the rows whose class is drawn at random, so that no model is perfect.
_NOISE = 0.1


@dataclass(frozen=True, eq=False)
class BenchmarkDataset:
    """A data set that was read.

    Parameters
    ----------
    source : str
        Origin of the rows, in words.
    n_rows, n_columns, n_classes : int
        Training rows, columns, classes.
    select_rows : callable
        Takes the largest number of training rows and of test rows, and returns the rows. A memory-mapped data set
        returns all training rows: there the number says how many of them the fit that measures T takes.
    """

    source: str
    n_rows: int
    n_columns: int
    n_classes: int
    select_rows: Callable[[int, int], TrainTestRows]


@contextmanager
def open_dataset(name: str, find: DatasetLoader) -> Iterator[BenchmarkDataset]:
    """Read or make up a data set; a file that was made up is deleted at the end.

    Parameters
    ----------
    name : str
        Name that `find` knows, perhaps with one of the endings `DENSE`, `NOMINAL` and `FRAME`; or `MEMORY_MAPPED`.
    find : callable
        Returns a data set by its name.
    """
    if name == MEMORY_MAPPED:
        with tempfile.TemporaryDirectory(prefix="fitwithin-accuracy-") as folder:
            yield make_up_dataset(Path(folder) / "X.npy", MEMORY_MAPPED_ROWS, _MADE_UP_TEST_ROWS)
    elif name.endswith(FRAME):
        yield _describe(_split_frame(find(name.removesuffix(FRAME))))
    elif name.endswith(NOMINAL):
        yield _describe(prepare_dataset(replace(find(name.removesuffix(NOMINAL)), nominal_columns=("*",))))
    elif name.endswith(DENSE):
        yield _describe(prepare_dataset(find(name.removesuffix(DENSE))), dense=True)
    else:
        yield _describe(prepare_dataset(find(name)))


def _describe(prepared: PreparedDataset, *, dense: bool = False) -> BenchmarkDataset:
    select = partial(_select_dense if dense else TrainTestRows.from_dataset, prepared)
    return BenchmarkDataset(
        prepared.source, len(prepared.y_train), len(prepared.columns), len(prepared.classes), select
    )


def _select_dense(prepared: PreparedDataset, max_train: int, max_test: int) -> TrainTestRows:
    """Select the rows first: all of them as a dense array may not fit in memory."""
    rows = TrainTestRows.from_dataset(prepared, max_train, max_test)
    return replace(rows, X=rows.X.toarray()) if sparse.issparse(rows.X) else rows


def _split_frame(raw: RawDataset) -> PreparedDataset:
    """Split the rows by class, and leave the columns as they are; text becomes categorical."""
    text = raw.X.select_dtypes(["object", "string"]).columns
    X = raw.X.astype(dict.fromkeys(text, "category"))
    y = pd.Categorical(raw.y)
    codes = y.codes.astype(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, codes, train_size=0.7, stratify=codes, random_state=0)
    names = (raw.name, raw.source, str(raw.split))
    return PreparedDataset(*names, X_train, y_train, X_test, y_test, tuple(map(str, X)), tuple(y.categories))


def make_up_dataset(file: Path, n_train: int, n_test: int) -> BenchmarkDataset:
    """Write synthetic rows to a file, and map it.

    Parameters
    ----------
    file : Path
        The `.npy` file, 80 bytes a row.
    n_train, n_test : int
        Training rows, and the test rows behind them.
    """
    X = np.lib.format.open_memmap(file, "w+", np.float32, (n_train + n_test, _MADE_UP_COLUMNS))
    y = np.empty(len(X), np.int64)
    rng = np.random.default_rng(0)
    for start in range(0, len(X), _BLOCK_ROWS):
        block = rng.random((min(_BLOCK_ROWS, len(X) - start), _MADE_UP_COLUMNS), np.float32)
        X[start : start + len(block)] = block
        y[start : start + len(block)] = _draw_classes(block, rng)
    X.flush()
    mapped = np.load(file, mmap_mode="r")
    return BenchmarkDataset(
        f"made up, {_MADE_UP_COLUMNS} columns in a memory-mapped file",
        n_train,
        _MADE_UP_COLUMNS,
        3,
        lambda _, max_test: TrainTestRows(mapped[: n_train + max_test], y[: n_train + max_test], n_train),
    )


def _draw_classes(X: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return one of three classes by waves and products, which take many rows to learn, and some at random."""
    waves = np.sin(9 * X[:, 0] * X[:, 1]) + np.sin(12 * X[:, 2]) * X[:, 3] + (X[:, 4] > X[:, 5]) * X[:, 6]
    classes: Any = np.digitize(waves + 0.5 * X[:, 7:12].sum(axis=1), [1.4, 2.2])
    is_noise = rng.random(len(X), np.float32) < _NOISE
    return np.where(is_noise, rng.integers(0, 3, len(X)), classes)
