"""The paper's preprocessing: shuffle, split, one-hot encode, standardize."""

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

from fitwithin_paper.study.discretization import StateCodes, is_numeric_column
from fitwithin_paper.study.paper_datasets import TrainTestSplit
from fitwithin_paper.study.raw_dataset import DatasetUnavailable, RawDataset

_MIN_DENSITY = 0.3
"""Share of nonzero cells from which a matrix is dense; scikit-learn's own default."""


_MIN_ROWS_PER_CLASS = 2
"""Rows of each class that a scaled data set keeps; a class of one row can't be split."""


_MAX_FRACTIONAL_CLASSES = 100
"""Distinct fractional numbers above which a class column holds measurements instead of classes."""


_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class PreparedDataset:
    """A data set as a learner receives it.

    Parameters
    ----------
    name, source, split : str
        Name, origin and split of the data set, in words.
    X_train, X_test : numpy.ndarray or scipy.sparse.csr_matrix
        32-bit numbers, row-major; sparse where one-hot columns make most of them zero.
    y_train, y_test : numpy.ndarray
        Classes as numbers from 0.
    columns : tuple of str
        Names of the columns; a one-hot column is named ``column=value``.
    classes : tuple
        Label of each class number.
    """

    name: str
    source: str
    split: str
    X_train: Any
    y_train: StateCodes
    X_test: Any
    y_test: StateCodes
    columns: tuple[str, ...]
    classes: tuple[Any, ...]


def prepare_dataset(raw: RawDataset, *, seed: int = 0, scale: float = 1.0) -> PreparedDataset:
    """Shuffle, split, encode and standardize a data set the way the paper does.

    The rows are shuffled and split by the data set's rule. Columns that are not numeric (text, categories, booleans,
    and declared ones) become one column of zeros and ones per value; missing values are a value of their own. Numbers
    and dates are standardized, and their missing values are replaced by the median. Median, mean and deviation come
    from the training rows. The values of a category come from all rows, so that the number of columns depends neither
    on seed nor on scale.

    Parameters
    ----------
    raw : RawDataset
        Rows and their classes.
    seed : int, default=0
        Seed of the shuffle.
    scale : float, default=1.0
        Share of the training and test rows to keep, by class; two rows of each class at least.

    Returns
    -------
    PreparedDataset
        The data set for a learner.

    Raises
    ------
    DatasetUnavailable
        If the rows have no classes to learn, or a column holds values that no learner accepts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> dataset = prepare_dataset(RawDataset("iris", X, y, "scikit-learn"))
    >>> dataset.X_train.shape, dataset.X_test.shape, dataset.split
    ((105, 4), (45, 4), '70% of the rows for training, by class')
    >>> prepare_dataset(RawDataset("iris", X, y, "scikit-learn"), scale=0.2).X_train.shape
    (21, 4)
    """
    if not 0 < scale <= 1:
        raise ValueError(f"got scale={scale!r}; expected a share of the rows above 0 and at most 1")
    labels = _encode_labels(raw.y)
    y = labels.codes.astype(np.int64)
    rng = np.random.default_rng(seed)
    train, test = (_scale_down(rows, y[rows], scale) for rows in _split_rows(y, raw.split, rng))
    X_train, X_test, columns = _encode_features(raw, train, test)
    description = (raw.name, raw.source, str(raw.split))
    return PreparedDataset(*description, X_train, y[train], X_test, y[test], columns, tuple(labels.categories))


def _encode_labels(column: Any) -> Any:
    """Return the classes of the rows as a categorical."""
    labels = _to_categorical(column)
    classes = labels.categories
    if len(classes) < 2:
        found = f"every row has the class {classes[0]}" if len(classes) else "there are no rows"
        raise DatasetUnavailable(f"{found}; expected at least two classes")
    is_fractional = pd.api.types.is_float_dtype(classes) and (np.asarray(classes) % 1 != 0).any()
    if is_fractional and len(classes) > _MAX_FRACTIONAL_CLASSES:
        raise DatasetUnavailable(f"{column.name} has {len(classes):,} distinct fractional numbers; expected classes")
    return labels


def _to_categorical(column: Any) -> Any:
    """Return a column as a categorical; refuse values such as lists."""
    try:
        return pd.Categorical(column).remove_unused_categories()
    except (TypeError, ValueError) as error:
        kind = type(next(iter(column.dropna()), None)).__name__
        expected = "expected numbers, text, dates or booleans"
        raise DatasetUnavailable(f"column {column.name} holds values of type {kind}; {expected}") from error


def _split_rows(y: StateCodes, split: TrainTestSplit, rng: np.random.Generator) -> tuple[StateCodes, StateCodes]:
    """Return the numbers of the training rows and of the test rows, both shuffled."""
    if split.cut is not None:
        before, after = (rng.permutation(part) for part in np.split(np.arange(len(y)), [split.cut]))
        return (before, after) if split.train_first else (after, before)
    # A class of one row can't be in both parts; no model could predict it in the test.
    is_alone = np.bincount(y)[y] == 1
    rows = np.flatnonzero(~is_alone)
    seed = int(rng.integers(2**31))
    try:
        train, test = train_test_split(rows, train_size=split.train_share, stratify=y[rows], random_state=seed)
    except ValueError as error:
        classes = f"{y.max() + 1:,} classes, {int(is_alone.sum()):,} of them with one row"
        raise DatasetUnavailable(f"{len(y):,} rows of {classes}, can't be split by class") from error
    return rng.permutation(np.concatenate([train, np.flatnonzero(is_alone)])), test


def _scale_down(rows: StateCodes, y: StateCodes, scale: float) -> StateCodes:
    """Return the first rows of every class up to this share, in their order."""
    if scale == 1 or not len(rows):
        return rows
    counts = np.bincount(y)
    kept = np.maximum(np.rint(counts * scale).astype(np.int64), np.minimum(counts, _MIN_ROWS_PER_CLASS))
    by_class = np.argsort(y, kind="stable")
    rank = np.empty(len(y), np.int64)
    rank[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_kept: npt.NDArray[np.bool_] = rank < kept[y]
    return rows[is_kept]


def _encode_features(raw: RawDataset, train: StateCodes, test: StateCodes) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the training and test rows as matrices, and the names of the columns."""
    nominal = [column for column in raw.X if _is_nominal(raw, column)]
    numeric = [column for column in raw.X if column not in set(nominal)]
    vocabularies = [_encode_values(raw.X[column]) for column in nominal]
    rows = np.concatenate([train, test])
    numbers = pd.DataFrame(_to_numbers(raw.X[numeric].iloc[rows]))
    both = pd.concat([numbers, *(pd.Series(codes[rows]) for codes, _ in vocabularies)], axis=1, ignore_index=True)
    encoder = _build_encoder(len(numeric), [len(values) for _, values in vocabularies])
    X_train, X_test = encoder.fit_transform(both[: len(train)]), encoder.transform(both[len(train) :])
    names = [str(column) for column in numeric]
    for column, (_, values) in zip(nominal, vocabularies, strict=True):
        names += [f"{column}={value}" for value in values]
    return _to_float32(X_train), _to_float32(X_test), tuple(names)


def _is_nominal(raw: RawDataset, column: Any) -> bool:
    if "*" in raw.nominal_columns or column in raw.nominal_columns:
        return True
    dtype = raw.X[column].dtype
    is_time = pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)
    return not (is_time or is_numeric_column(raw.X[column]) or _infer_object_kind(raw.X[column]) is not None)


def _infer_object_kind(column: Any) -> Literal["date", "decimal"] | None:
    """Return whether a column holds dates or decimals as objects, as parquet files do."""
    if column.dtype != object:
        return None
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind if kind in ("date", "decimal") else None


def _objects_to_numbers(column: Any) -> Any:
    """Return dates as seconds and decimals as floats."""
    # pandas' own timestamps do not reach the year 9999.
    is_date = _infer_object_kind(column) == "date"
    to_number = (lambda day: day.toordinal() * _SECONDS_PER_DAY) if is_date else float
    return column.map(to_number, na_action="ignore").astype(np.float64)


def _encode_values(column: Any) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return the number of each row's value, and the values; missing values come last."""
    categorical = _to_categorical(column)
    codes = categorical.codes.astype(np.int32)
    values = list(categorical.categories)
    if (codes < 0).any():
        codes = np.where(codes < 0, np.int32(len(values)), codes)
        values.append("(missing)")
    return codes, values


def _to_numbers(frame: Any) -> npt.NDArray[Any]:
    """Return numeric columns as an array, in 32 bits if they fit; dates become seconds, infinite values missing."""
    times = {column: frame[column] for column in frame.select_dtypes(["datetime", "datetimetz", "timedelta"])}
    # The origin does not matter: the columns are standardized later.
    frame = frame.assign(**{column: (time - time.min()).dt.total_seconds() for column, time in times.items()})
    frame = frame.assign(
        **{column: _objects_to_numbers(frame[column]) for column in frame if frame[column].dtype == object}
    )
    dtypes = (getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype)) for dtype in frame.dtypes)
    numbers = frame.to_numpy(np.result_type(np.float32, *dtypes), na_value=np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _build_encoder(n_numeric: int, n_values: list[int]) -> ColumnTransformer:
    """Return a transformer that standardizes the first columns and one-hot encodes the others."""
    standardize = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(categories=[np.arange(count) for count in n_values], dtype=np.float32)
    return ColumnTransformer(
        [
            ("numeric", standardize, list(range(n_numeric))),
            ("nominal", one_hot, list(range(n_numeric, n_numeric + len(n_values)))),
        ],
        sparse_threshold=_MIN_DENSITY,
    )


def _to_float32(X: Any) -> Any:
    return X.astype(np.float32) if sparse.issparse(X) else np.ascontiguousarray(X, np.float32)
