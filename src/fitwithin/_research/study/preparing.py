"""The paper's transformations: shuffled, split, one-hot encoded, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fitwithin._research.study.codings import Codes, is_number
from fitwithin._research.study.data import NotToBeHad, Table
from fitwithin._research.study.names import Split

_SPARSE_BELOW = 0.3
"""The share of cells that are not zero, from which a matrix is dense; scikit-learn's own figure."""


_AT_LEAST = 2
"""Rows of each class that a share keeps: one alone can't be split again."""


_MOST_FRACTIONS = 100
"""Different numbers with fractions from which a column measures something, and names no class."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set as a learner is given it.

    Parameters
    ----------
    name, source, split : str
        Of the data set; where its rows come from; how they were split.
    X_train, X_test : numpy.ndarray or scipy.sparse.csr_matrix
        Numbers of 32 bits, one row below the other in memory; sparse where one-hot columns make most of them zero.
    y_train, y_test : numpy.ndarray
        The classes as numbers from 0.
    columns : tuple of str
        Names of the columns; a one-hot column is called ``column=value``.
    classes : tuple
        The label behind each number.
    """

    name: str
    source: str
    split: str
    X_train: Any
    y_train: Codes
    X_test: Any
    y_test: Codes
    columns: tuple[str, ...]
    classes: tuple[Any, ...]


def prepare(table: Table, *, seed: int = 0, scale: float = 1.0) -> Prepared:
    """Shuffle, split, encode and standardise a table the way the paper does.

    The rows are shuffled and split by the table's rule. Columns that are not numbers (words, categories, booleans, and
    those that the table declares) become one column of zeros and ones per value that occurs in the table; a missing
    value is a value of its own. Numbers, dates among them, are standardised, gaps in them are filled with the median,
    and median, mean and deviation are those of the training part. The values of a category are taken from the whole
    table: they are its vocabulary, nothing that is learned, and the number of columns then depends neither on seed nor
    on scale.

    Parameters
    ----------
    table : Table
        Rows and their classes.
    seed : int, default=0
        Of the shuffle.
    scale : float, default=1.0
        The share of the rows to keep, of training and test alike, by class; two of each class at least.

    Returns
    -------
    Prepared
        What a learner is given.

    Raises
    ------
    NotToBeHad
        If the rows have no classes that could be learned and tested, or a column holds what no learner can be given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> prepared = prepare(Table("iris", X, y, "scikit-learn"))
    >>> prepared.X_train.shape, prepared.X_test.shape, prepared.split
    ((105, 4), (45, 4), '70% of the rows for training, by class')
    >>> prepare(Table("iris", X, y, "scikit-learn"), scale=0.2).X_train.shape
    (21, 4)
    """
    if not 0 < scale <= 1:
        raise ValueError(f"scale is the share of the rows to keep, above 0 and at most 1, but is {scale!r}")
    labels = _labels(table.y)
    y = labels.codes.astype(np.int64)
    rng = np.random.default_rng(seed)
    train, test = (_share(part, y[part], scale) for part in _parts(y, table.split, rng))
    X_train, X_test, columns = _encode(table, train, test)
    about = (table.name, table.source, str(table.split))
    return Prepared(*about, X_train, y[train], X_test, y[test], columns, tuple(labels.categories))


def _labels(column: Any) -> Any:
    """The classes of the rows."""
    labels = _categories(column)
    found = labels.categories
    if len(found) < 2:
        classes = f"every row has the class {found[0]}" if len(found) else "there are no rows"
        raise NotToBeHad(f"it takes two classes to learn anything, and {classes}")
    if pd.api.types.is_float_dtype(found) and len(found) > _MOST_FRACTIONS and (np.asarray(found) % 1 != 0).any():
        raise NotToBeHad(f"{column.name} has {len(found):,} different numbers with fractions: no classes")
    return labels


def _categories(column: Any) -> Any:
    """A column of names; a list, say, is none."""
    try:
        return pd.Categorical(column).remove_unused_categories()
    except (TypeError, ValueError) as error:
        kind = type(next(iter(column.dropna()), None)).__name__
        raise NotToBeHad(f"column {column.name} can't be used: it holds values of the kind {kind}") from error


def _parts(y: Codes, split: Split, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """The rows of the training part and of the test part, both shuffled."""
    if split.cut is not None:
        before, after = (rng.permutation(part) for part in np.split(np.arange(len(y)), [split.cut]))
        return (before, after) if split.train_first else (after, before)
    # A class of one row can't be in both parts; in the test it could only be got wrong.
    alone = np.bincount(y)[y] == 1
    rows = np.flatnonzero(~alone)
    seed = int(rng.integers(2**31))
    try:
        train, test = train_test_split(rows, train_size=split.share, stratify=y[rows], random_state=seed)
    except ValueError as error:
        classes = f"{y.max() + 1:,} classes, {int(alone.sum()):,} of them of one row"
        raise NotToBeHad(f"{len(y):,} rows of {classes}, can't be split into training and test by class") from error
    return rng.permutation(np.concatenate([train, np.flatnonzero(alone)])), test


def _share(rows: Codes, y: Codes, scale: float) -> Codes:
    """The first so many of these rows of every class, in their order."""
    if scale == 1 or not len(rows):
        return rows
    counts = np.bincount(y)
    kept = np.maximum(np.rint(counts * scale).astype(np.int64), np.minimum(counts, _AT_LEAST))
    by_class = np.argsort(y, kind="stable")
    rank = np.empty(len(y), np.int64)
    rank[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_kept: npt.NDArray[np.bool_] = rank < kept[y]
    return rows[is_kept]


def _encode(table: Table, train: Codes, test: Codes) -> tuple[Any, Any, tuple[str, ...]]:
    """Both parts as matrices, and the names of their columns."""
    nominal = [column for column in table.X if _is_nominal(table, column)]
    numeric = [column for column in table.X if column not in set(nominal)]
    words = [_vocabulary(table.X[column]) for column in nominal]
    rows = np.concatenate([train, test])
    parts = [pd.DataFrame(_numbers(table.X[numeric].iloc[rows])), *(pd.Series(codes[rows]) for codes, _ in words)]
    both = pd.concat(parts, axis=1, ignore_index=True)
    encoder = _encoder(len(numeric), [len(values) for _, values in words])
    X_train, X_test = encoder.fit_transform(both[: len(train)]), encoder.transform(both[len(train) :])
    names = [str(column) for column in numeric]
    names += [f"{column}={value}" for column, (_, values) in zip(nominal, words, strict=True) for value in values]
    return _as_learned(X_train), _as_learned(X_test), tuple(names)


def _is_nominal(table: Table, column: Any) -> bool:
    if "*" in table.nominal or column in table.nominal:
        return True
    kind = table.X[column].dtype
    is_time = pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind)
    return not (is_time or is_number(table.X[column]) or _object_kind(table.X[column]) is not None)


def _object_kind(column: Any) -> Literal["date", "decimal"] | None:
    """What the objects of a column are, where they are dates or decimals, as parquet files give them."""
    if column.dtype != object:
        return None
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind if kind in ("date", "decimal") else None


def _object_numbers(column: Any) -> Any:
    """Dates as seconds, decimals as they are."""
    # Not by way of pandas' own dates: the year 9999 would be too far off.
    number = (lambda day: day.toordinal() * 86_400.0) if _object_kind(column) == "date" else float
    return column.map(number, na_action="ignore").astype(np.float64)


def _vocabulary(column: Any) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """A column as numbers of its values, and the values: those that occur, then what is missing if anything is."""
    words = _categories(column)
    codes = words.codes.astype(np.int32)
    values = list(words.categories)
    if (codes < 0).any():
        codes = np.where(codes < 0, np.int32(len(values)), codes)
        values.append("(missing)")
    return codes, values


def _numbers(frame: Any) -> npt.NDArray[Any]:
    """Columns of numbers as an array, in 32 bits if they fit; dates become seconds, the infinite counts as missing."""
    times = {column: frame[column] for column in frame.select_dtypes(["datetime", "datetimetz", "timedelta"])}
    # Standardised later on, so it makes no difference what they are counted from.
    frame = frame.assign(**{column: (time - time.min()).dt.total_seconds() for column, time in times.items()})
    frame = frame.assign(
        **{column: _object_numbers(frame[column]) for column in frame if frame[column].dtype == object}
    )
    plain = (getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind)) for kind in frame.dtypes)
    numbers = frame.to_numpy(np.result_type(np.float32, *plain), na_value=np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _encoder(numeric: int, values: list[int]) -> ColumnTransformer:
    """What turns the first columns into standardised numbers and the others, of so many values each, into one-hot."""
    standardised = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(categories=[np.arange(count) for count in values], dtype=np.float32)
    return ColumnTransformer(
        [
            ("numeric", standardised, list(range(numeric))),
            ("nominal", one_hot, list(range(numeric, numeric + len(values)))),
        ],
        sparse_threshold=_SPARSE_BELOW,
    )


def _as_learned(X: Any) -> Any:
    return X.astype(np.float32) if sparse.issparse(X) else np.ascontiguousarray(X, np.float32)
