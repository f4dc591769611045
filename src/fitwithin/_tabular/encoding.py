"""Encoders from columns to a numeric matrix, made of scikit-learn's own transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from fitwithin._core.preset_table import BOOSTERS
from fitwithin._tabular.columns import ColumnKind, FeatureColumn

Encoding = Literal["ordinal", "one-hot"]
"""Ordinal: text as category numbers, missing values left. One-hot: missing values filled, numbers standardised."""


MAX_ORDINAL_CATEGORIES = 1000
"""Categories of a column in the ordinal encoding: the most frequent ones, with one shared by the rest."""


MAX_ONE_HOT_CATEGORIES = 100
"""Columns for one text column in the one-hot encoding: the most frequent categories, with one shared by the rest."""


MAX_DENSE_WORDS = 500
"""Columns for the words of a text column in a dense matrix: the most frequent words of all texts."""


MAX_SPARSE_WORDS = 50_000
"""The same in a sparse matrix, for learners of the one-hot encoding on rows in memory."""


ENCODING_DESCRIPTIONS: dict[str, dict[ColumnKind, str]] = {
    "ordinal": {
        "number": "unchanged",
        "boolean": "as 0 and 1",
        "time": "as seconds, since 1970 if they have a date",
        "text": f"as category numbers, at most {MAX_ORDINAL_CATEGORIES:,}, one of them for rare values",
        "words": f"as frequencies (tf-idf) of the {MAX_DENSE_WORDS} most frequent words",
    },
    "one-hot": {
        "number": "missing values filled with the median, standardised",
        "boolean": "as 0 and 1, missing values filled, standardised",
        "time": "as seconds (since 1970 if they have a date), missing values filled, standardised",
        "text": f"one-hot, at most {MAX_ONE_HOT_CATEGORIES} columns, one of them for rare values",
        "words": f"as frequencies (tf-idf) of the {MAX_SPARSE_WORDS:,} most frequent words; {MAX_DENSE_WORDS} of files "
        "that are read in parts",
    },
}
"""What each encoding does to each kind of column, for users."""


def choose_encoding(learners: Sequence[Any]) -> Encoding:
    """Return the encoding for learners that get the same rows: "ordinal" if all of them take missing values.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> choose_encoding([DecisionTreeClassifier()]), choose_encoding([DecisionTreeClassifier(), LogisticRegression()])
    ('ordinal', 'one-hot')
    """
    return "ordinal" if all(map(_takes_missing_values, learners)) else "one-hot"


def _takes_missing_values(learner: Any) -> bool:
    # Not all versions of the boosters set scikit-learn's tag.
    is_booster = type(learner).__module__.partition(".")[0] in BOOSTERS
    if is_booster or (hasattr(learner, "__sklearn_tags__") and get_tags(learner).input_tags.allow_nan):
        return True
    inner = getattr(learner, "estimator", None)
    return inner is not None and _takes_missing_values(inner)


def make_column_encoder(
    columns: Sequence[FeatureColumn], encoding: Encoding, *, dense: bool = False
) -> ColumnTransformer:
    """Return an unfitted encoder for a frame of these columns; it takes unknown text for missing or rare.

    Parameters
    ----------
    columns : sequence of FeatureColumn
        In the order of the frame.
    encoding : {"ordinal", "one-hot"}
        See `choose_encoding`.
    dense : bool, default=False
        Whether a row takes as many bytes as it has features, because files are read in parts.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = [FeatureColumn("age", "number", "int64"), FeatureColumn("city", "text", "string")]
    >>> frame = pd.DataFrame({"age": [20, 40], "city": pd.Series(["Oslo", "Lima"], dtype=object)})
    >>> make_column_encoder(columns, "ordinal").fit_transform(frame)
    array([[20.,  1.],
           [40.,  0.]])
    >>> make_column_encoder(columns, "one-hot").fit_transform(frame)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    text = [column.name for column in columns if column.kind == "text"]
    words = [column.name for column in columns if column.kind == "words"]
    numeric = [column.name for column in columns if column.kind not in ("text", "words")]
    steps = [("numeric", _make_numeric_encoder(encoding), numeric), ("text", _make_text_encoder(encoding), text)]
    is_dense = dense or encoding == "ordinal"
    words_encoder = TfidfVectorizer(max_features=MAX_DENSE_WORDS if is_dense else MAX_SPARSE_WORDS, dtype=np.float32)
    return ColumnTransformer(
        [
            *(step for step in steps if step[2]),
            *((f"words-{number}", words_encoder, name) for number, name in enumerate(words)),
        ],
        sparse_threshold=0.0 if words and is_dense else 0.3,
        verbose_feature_names_out=False,
    )


def _make_numeric_encoder(encoding: Encoding) -> Any:
    return "passthrough" if encoding == "ordinal" else make_pipeline(SimpleImputer(strategy="median"), StandardScaler())


def _make_text_encoder(encoding: Encoding) -> Any:
    if encoding == "one-hot":
        return OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MAX_ONE_HOT_CATEGORIES, dtype=np.float32
        )
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MAX_ORDINAL_CATEGORIES,
        dtype=np.float32,
    )


def make_matrix_encoder(X: Any, encoding: Encoding) -> Any:
    """Return an unfitted encoder for a numeric matrix without column names, or "passthrough".

    Examples
    --------
    >>> make_matrix_encoder(np.ones((2, 2)), "ordinal")
    'passthrough'
    """
    if encoding == "one-hot" and sparse.issparse(X):
        # Subtracting the mean would fill every zero.
        return make_pipeline(StandardScaler(with_mean=False))
    return _make_numeric_encoder(encoding)
