"""The data sets of the recordings: parquet files, compact copies of them, and synthetic ones."""

from __future__ import annotations

import io
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pairs import PAIRS, Pair

# Bits of a float's mantissa that are dropped, so that copies are small and equal what is read from the source.
_DROPPED_BITS = 13

# Rows of the rarest class; rarer classes are dropped, because some learners split off validation rows by class.
_MIN_CLASS_ROWS = 30

# Rows of a synthetic set; the pairs take the first of them.
_SYNTHETIC_ROWS = 250_000

_SYNTHETIC: dict[str, dict[str, Any]] = {
    "synthetic-noisy": {
        "n_features": 24,
        "n_informative": 12,
        "n_classes": 2,
        "n_clusters_per_class": 8,
        "flip_y": 0.1,
    },
    "synthetic-many-classes": {"n_features": 40, "n_informative": 20, "n_classes": 12, "n_clusters_per_class": 3},
    "synthetic-wide": {"n_features": 1200, "n_informative": 60, "n_classes": 2, "n_clusters_per_class": 6},
}


@dataclass(frozen=True, eq=False)
class Table:
    """Columns as read: one array each, codes of categories with -1 for a missing one, and the classes as codes."""

    columns: list[npt.NDArray[Any]]
    is_category: npt.NDArray[np.bool_]
    target: npt.NDArray[np.integer[Any]]

    def head(self, n_rows: int) -> Table:
        """Return the first rows."""
        return Table([column[:n_rows] for column in self.columns], self.is_category, self.target[:n_rows])


def read_table(name: str, folder: Path, n_rows: int | None) -> Table:
    """Return the first `n_rows` of a data set in random order; of its compact copy if the folder has one."""
    packed = folder / f"{name}.npz.xz"
    table = _read_packed(packed) if packed.exists() else _read_parquet(folder / f"{name}.parquet")
    return table if n_rows is None else table.head(n_rows)


def _read_packed(file: Path) -> Table:
    with np.load(io.BytesIO(lzma.decompress(file.read_bytes()))) as arrays:
        columns = [arrays[f"column{number}"] for number in range(len(arrays["is_category"]))]
        return Table(columns, arrays["is_category"], arrays["target"])


def _read_parquet(file: Path) -> Table:
    import pandas as pd

    frame = pd.read_parquet(file)
    order = np.random.default_rng(0).permutation(len(frame))
    features = frame.drop(columns="target")
    is_category = [not pd.api.types.is_numeric_dtype(dtype) for dtype in features.dtypes]
    columns = [
        _compact(pd.Categorical(features[name]).codes if category else features[name].to_numpy())[order]
        for name, category in zip(features, is_category, strict=True)
    ]
    return Table(columns, np.array(is_category), _compact(pd.Categorical(frame["target"]).codes)[order])


def _compact(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the column in the smallest type, a float with fewer bits."""
    if column.dtype.kind == "O":
        column = column.astype(np.float32)
    if column.dtype.kind == "f":
        bits = np.ascontiguousarray(column, np.float32).view(np.uint32)
        return (bits >> _DROPPED_BITS << _DROPPED_BITS).view(np.float32)
    smallest = np.promote_types(np.min_scalar_type(column.min()), np.min_scalar_type(column.max()))
    return column.astype(smallest)


def pack_tables(source: Path, target: Path) -> None:
    """Write compact copies of the rows that the pairs use; they are read without pandas."""
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted({pair.data for pair in PAIRS} - set(_SYNTHETIC)):
        table = read_table(name, source, max(pair.rows for pair in PAIRS if pair.data == name))
        columns: dict[str, Any] = {f"column{number}": column for number, column in enumerate(table.columns)}
        buffer = io.BytesIO()
        np.savez(buffer, is_category=table.is_category, target=table.target, **columns)
        file = target / f"{name}.npz.xz"
        file.write_bytes(lzma.compress(buffer.getvalue(), preset=6))
        print(f"{name}: {len(table.target)} rows, {file.stat().st_size / 1e6:.1f} MB", flush=True)


@dataclass(frozen=True, eq=False)
class Features:
    """The features in the form that a pair asks for, the classes as codes 0, 1, 2 ..., and the columns of codes."""

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.intp]
    category_columns: list[int]


def load_features(pair: Pair, folder: Path) -> Features:
    """Return the rows of a pair."""
    if pair.data in _SYNTHETIC:
        X, y = _make_synthetic(pair)
        return Features(_standardise(X), y, [])
    table = read_table(pair.data, folder, pair.rows or None)
    _, y, counts = np.unique(table.target, return_inverse=True, return_counts=True)
    kept = counts[y] >= _MIN_CLASS_ROWS
    y = np.unique(y[kept], return_inverse=True)[1]
    numbers = [column[kept] for column, category in zip(table.columns, table.is_category, strict=True) if not category]
    codes = [column[kept] for column, category in zip(table.columns, table.is_category, strict=True) if category]
    dense = _standardise(_impute(numbers, len(y)))
    if pair.encoding == "one-hot":
        encoded = [(column[:, None] == np.unique(column)).astype(np.float32) for column in codes]
        return Features(np.hstack([dense, *encoded]), y, [])
    ordinal = np.array(codes, np.float32).reshape(len(codes), len(y)).T
    if pair.encoding == "codes":
        return Features(np.hstack([dense, ordinal]), y, list(range(len(numbers), len(table.columns))))
    return Features(np.hstack([dense, _standardise(ordinal)]), y, [])


def _make_synthetic(pair: Pair) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp]]:
    from sklearn.datasets import make_classification

    n_rows = pair.rows if pair.data == "synthetic-wide" else _SYNTHETIC_ROWS
    X, y = make_classification(n_rows, **_SYNTHETIC[pair.data], class_sep=1.0, random_state=0)
    return X[: pair.rows].astype(np.float32), y[: pair.rows]


def _impute(columns: list[npt.NDArray[Any]], n_rows: int) -> npt.NDArray[np.float32]:
    """Return the columns as one array, a missing number as the median."""
    X = np.empty((n_rows, len(columns)), np.float32)
    for number, column in enumerate(columns):
        values = column.astype(np.float32)
        missing = np.isnan(values)
        X[:, number] = np.where(missing, np.median(values[~missing]) if not missing.all() else 0.0, values)
    return X


def _standardise(X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    if not X.shape[1]:
        return X
    mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    X -= mean.astype(np.float32)
    X /= np.where(deviation > 0, deviation, 1.0).astype(np.float32)
    return X
