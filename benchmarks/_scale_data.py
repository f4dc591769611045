"""Synthetic rows of the benchmark of data on disk: in random order, sorted by class, mapped, and of mixed types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 20
"""Columns of numbers."""

BLOCK_ROWS = 1_000_000
"""Rows of a row group, as most tools write them by default."""

_FILE_BLOCKS = 10  # row groups of a file
_TEST_SEED = 987_654

Chunk = tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]


def list_chunks(n_rows: int, seed: int = 0) -> Iterator[Chunk]:
    """Yield features and classes, a block at a time; no model can know more than nine of ten classes."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, BLOCK_ROWS):
        X = rng.standard_normal((min(BLOCK_ROWS, n_rows - start), COLUMNS), np.float32)
        noise = rng.standard_normal(len(X), np.float32)
        score = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + np.sin(3 * X[:, 5]) + noise
        yield X, (score > 0).astype(np.int8)


def make_test_rows(n_rows: int = 200_000) -> tuple[pd.DataFrame, npt.NDArray[np.int8]]:
    """Return other rows of the same kind."""
    X, y = next(list_chunks(n_rows, _TEST_SEED))
    return pd.DataFrame(X, columns=column_names()), y


def column_names() -> list[str]:
    """Return the names of the features."""
    return [f"x{number}" for number in range(COLUMNS)]


def write_files(folder: Path, n_rows: int) -> Path:
    """Write parquet files in random order."""
    folder.mkdir()
    with _Files(folder, "rows") as files:
        for X, y in list_chunks(n_rows):
            files.write(_to_table(X, y))
    return folder


def write_sorted_files(folder: Path, n_rows: int) -> Path:
    """Write the same rows sorted by class."""
    folder.mkdir()
    with _Files(folder, "class-0") as zeros, _Files(folder, "class-1") as ones:
        for X, y in list_chunks(n_rows):
            for files, label in ((zeros, 0), (ones, 1)):
                files.write(_to_table(X[y == label], y[y == label]))
    return folder


def write_mapped(folder: Path, n_rows: int) -> Path:
    """Write the same rows as two arrays."""
    folder.mkdir()
    features = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, COLUMNS))
    classes = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.int8, shape=(n_rows,))
    start = 0
    for X, y in list_chunks(n_rows):
        features[start : start + len(X)] = X
        classes[start : start + len(X)] = y
        start += len(X)
    return folder


def write_mixed_files(folder: Path, n_rows: int) -> Path:
    """Write rows with texts, categories, dates, booleans and missing values."""
    folder.mkdir()
    with _Files(folder, "rows") as files:
        for number, (X, y) in enumerate(list_chunks(n_rows)):
            files.write(pa.Table.from_pandas(make_mixed_frame(X, seed=number).assign(label=y), preserve_index=False))
    return folder


def make_mixed_frame(X: npt.NDArray[np.float32], seed: int = 0) -> pd.DataFrame:
    """Return some of the features as numbers, and others as columns of other types."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X[:, :8], columns=column_names()[:8])
    frame["x0"] = frame["x0"].where(rng.random(len(X)) < 0.95)
    frame["kind"] = pd.Categorical.from_codes(rng.integers(9, size=len(X)), list("abcdefghi"))
    frame["city"] = pd.array(
        np.array([f"city {number}" for number in range(500)])[rng.integers(500, size=len(X))], "str"
    )
    frame["count"] = rng.integers(1000, size=len(X))
    frame["on"] = rng.random(len(X)) < 0.5
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(10**6, size=len(X)), unit="s")
    return frame


def _to_table(X: npt.NDArray[np.float32], y: npt.NDArray[np.int8]) -> pa.Table:
    columns = {name: np.ascontiguousarray(X[:, number]) for number, name in enumerate(column_names())}
    return pa.table({**columns, "label": y})


class _Files:
    """Parquet files of a folder, ten row groups each."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._n_blocks = 0
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def __enter__(self) -> _Files:
        return self

    def write(self, table: pa.Table) -> None:
        """Add rows; those of several calls may go to one row group."""
        self._waiting.append(table)
        if sum(map(len, self._waiting)) >= BLOCK_ROWS:
            self._write_block()

    def _write_block(self) -> None:
        block = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting = []
        if self._n_blocks % _FILE_BLOCKS == 0:
            self._close_file()
            path = self._folder / f"{self._name}-{self._n_blocks // _FILE_BLOCKS:03}.parquet"
            # Random floats do not get smaller, and a dictionary of them is a waste.
            self._writer = pq.ParquetWriter(
                path, block.schema, compression="none", use_dictionary=_small_columns(block)
            )
        assert self._writer is not None
        self._writer.write_table(block, row_group_size=len(block))
        self._n_blocks += 1

    def _close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def __exit__(self, *exc_info: object) -> None:
        if self._waiting:
            self._write_block()
        self._close_file()


def _small_columns(block: pa.Table) -> list[str]:
    """Return the columns with few different values."""
    return [field.name for field in block.schema if not pa.types.is_floating(field.type)]
