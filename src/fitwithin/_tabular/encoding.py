"""Columns as a matrix of numbers: the defaults of the command line, made of scikit-learn's own parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fitwithin._tabular.columns import Column

Encoding = Literal["ordinal", "one-hot"]
"""Words as the numbers of their values, gaps left to the learner; or one column for each, gaps filled, standardised."""


ORDINAL_VALUES = 1000
"""The most frequent words of a column that have a number of their own; the others share one."""


ONE_HOT_VALUES = 100
"""The most frequent words of a column that have a column of their own; the others share one."""


SAYS: dict[Encoding, dict[str, str]] = {
    "ordinal": {
        "number": "as they are",
        "truth": "as 0 and 1",
        "time": "as seconds, since 1970 if they have a date",
        "word": f"as numbers, the {ORDINAL_VALUES:,} most frequent values each its own",
    },
    "one-hot": {
        "number": "gaps filled with the median, standardised",
        "truth": "as 0 and 1, gaps filled, standardised",
        "time": "as seconds (since 1970 if they have a date), gaps filled, standardised",
        "word": f"one-hot, the {ONE_HOT_VALUES} most frequent values each a column",
    },
}
"""What is done to each kind of column, for people."""


def column_encoder(columns: Sequence[Column], encoding: Encoding) -> ColumnTransformer:
    """What turns a frame of these columns into a matrix; words that it has not seen count as missing or rare.

    Parameters
    ----------
    columns : sequence of Column
        In the order of the frame.
    encoding : {"ordinal", "one-hot"}
        What the learner is good with.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = [Column("age", "number", "int64"), Column("city", "word", "string")]
    >>> frame = pd.DataFrame({"age": [20, 40], "city": pd.Series(["Oslo", "Lima"], dtype=object)})
    >>> column_encoder(columns, "ordinal").fit_transform(frame)
    array([[20.,  1.],
           [40.,  0.]])
    >>> column_encoder(columns, "one-hot").fit_transform(frame)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    words = [column.name for column in columns if column.kind == "word"]
    others = [column.name for column in columns if column.kind != "word"]
    ways: tuple[Any, Any]
    if encoding == "ordinal":
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan, "encoded_missing_value": np.nan}
        ways = "passthrough", OrdinalEncoder(**unknown, max_categories=ORDINAL_VALUES, dtype=np.float32)
    else:
        one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=ONE_HOT_VALUES, dtype=np.float32)
        ways = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), one_hot
    parts = [("numbers", ways[0], others), ("words", ways[1], words)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def matrix_encoder(X: Any, encoding: Encoding) -> Any:
    """The same for a matrix of numbers without names.

    Examples
    --------
    >>> matrix_encoder(np.ones((2, 2)), "ordinal")
    'passthrough'
    """
    if encoding == "ordinal":
        return "passthrough"
    if sparse.issparse(X):
        # A mean taken off would fill every zero.
        return make_pipeline(StandardScaler(with_mean=False))
    return make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
