"""Every kind of column and target: a checkpoint is resumed for the same values, and refused for others."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin._session.fingerprint import describe_rows

N_ROWS = 60
ZONE = dt.UTC
DAYS = [dt.datetime(2024, 1, 1) + dt.timedelta(days=i) for i in range(N_ROWS)]
TEXTS = [f"text {i % 7}" for i in range(N_ROWS)]

COLUMNS = {
    "int": list(range(N_ROWS)),
    "float": [i / 3 for i in range(N_ROWS)],
    "bool": [i % 2 == 0 for i in range(N_ROWS)],
    "text": TEXTS,
    "bytes": [text.encode() for text in TEXTS],
    "time": DAYS,
    "zoned time": [day.replace(tzinfo=ZONE) for day in DAYS],
    "date": [day.date() for day in DAYS],
    "time of day": [dt.time(i % 24, i) for i in range(N_ROWS)],
    "duration": [dt.timedelta(seconds=i) for i in range(N_ROWS)],
    "decimal": [Decimal(i) / 4 for i in range(N_ROWS)],
    "list": [[i, i + 1] for i in range(N_ROWS)],
    "struct": [{"a": i, "b": "x"} for i in range(N_ROWS)],
}
"""Values that pandas, polars and arrow all hold."""


def in_pandas(dtype=None):
    return lambda values: pd.DataFrame({"a": pd.Series(values, dtype=dtype), "b": 1.0})


def in_polars(dtype=None):
    return lambda values: pl.DataFrame({"a": pl.Series(values, dtype=dtype), "b": 1.0}, strict=False)


def in_arrow(type_=None):
    return lambda values: pa.table({"a": pa.array(values, type_), "b": [1.0] * len(values)})


KINDS = {
    **{f"pandas {name}": (in_pandas(), values) for name, values in COLUMNS.items()},
    **{f"polars {name}": (in_polars(), values) for name, values in COLUMNS.items()},
    **{f"arrow {name}": (in_arrow(), values) for name, values in COLUMNS.items()},
    "pandas string": (in_pandas("string"), TEXTS),
    "pandas object": (in_pandas("object"), TEXTS),
    "pandas Int64": (in_pandas("Int64"), [None, *range(1, N_ROWS)]),
    "pandas boolean": (in_pandas("boolean"), [None, *COLUMNS["bool"][1:]]),
    "pandas category": (in_pandas("category"), TEXTS),
    "pandas zone": (in_pandas("datetime64[ns, Europe/Berlin]"), DAYS),
    "pandas period": (in_pandas("period[D]"), DAYS),
    "pandas interval": (in_pandas(), [pd.Interval(i, i + 1) for i in range(N_ROWS)]),
    "pandas arrow text": (in_pandas(pd.ArrowDtype(pa.string())), TEXTS),
    "pandas complex": (in_pandas(), [complex(i, 1) for i in range(N_ROWS)]),
    "pandas mixed": (in_pandas("object"), [1, "a", None, *range(3, N_ROWS)]),
    "polars category": (in_polars(pl.Categorical), TEXTS),
    "polars enum": (in_polars(pl.Enum(sorted(set(TEXTS)))), TEXTS),
    "arrow dictionary": (in_arrow(pa.dictionary(pa.int8(), pa.string())), TEXTS),
    "array int": (lambda values: np.array([values]).T, COLUMNS["int"]),
    "array text": (lambda values: np.array([values]).T, TEXTS),
    "array object": (lambda values: np.array([values], dtype=object).T, COLUMNS["decimal"]),
    "sparse": (lambda values: sparse.csr_matrix(np.array([values]).T), COLUMNS["float"]),
}


def change(values):
    """Return the values with the first one changed, to one that the column has."""
    return [values[1], *values[1:]]


def make_fit(path, regression=False):
    kind, learner = (
        (TimeConstrainedRegressor, DummyRegressor()) if regression else (TimeConstrainedClassifier, DummyClassifier())
    )
    return kind(learner, time_limit=60, teacher="full", backend="inline", checkpoint=path, progress=False)


Y = np.arange(N_ROWS) % 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_is_resumed_for_the_same_values_and_refused_for_others(kind, tmp_path):
    make_table, values = KINDS[kind]
    make_fit(tmp_path / "fit").fit(make_table(values), Y)

    same = make_fit(tmp_path / "fit").fit(make_table(list(values)), Y)
    with pytest.raises(UserInputError, match="values of X: others now"):
        make_fit(tmp_path / "fit").fit(make_table(change(values)), Y)

    assert len(same.history_) == 1


TARGETS = {
    "text": TEXTS,
    "bool": COLUMNS["bool"],
    "int": [i % 5 for i in range(N_ROWS)],
    "category": pd.Series(TEXTS, dtype="category"),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_other_labels_are_refused(kind, tmp_path):
    X, y = np.zeros((N_ROWS, 2)), TARGETS[kind]
    make_fit(tmp_path / "fit").fit(X, y)

    make_fit(tmp_path / "fit").fit(X, y)
    with pytest.raises(UserInputError, match="values of y: others now"):
        make_fit(tmp_path / "fit").fit(X, change(list(y)))


@pytest.mark.parametrize("given", ["y", "sample_weight", "groups", "X_val", "y_val"])
def test_another_argument_of_fit_is_refused(given, tmp_path):
    arguments = {"X": np.zeros((N_ROWS, 2)), "y": np.arange(N_ROWS) / 7}
    others = {"sample_weight": np.ones(N_ROWS), "groups": np.arange(N_ROWS) // 4}
    if given in others:
        arguments[given] = others[given]
    elif given != "y":
        arguments |= {"X_val": np.zeros((9, 2)), "y_val": np.arange(9.0)}
    make_fit(tmp_path / "fit", regression=True).fit(**arguments)
    changed = arguments[given].copy()
    changed[0] += 1

    make_fit(tmp_path / "fit", regression=True).fit(**arguments)
    with pytest.raises(UserInputError, match=r"(values of )?\w+: others now"):
        make_fit(tmp_path / "fit", regression=True).fit(**arguments | {given: changed})


def test_other_categories_of_the_same_values_are_refused(tmp_path):
    X = pd.DataFrame({"a": pd.Categorical(TEXTS)})
    make_fit(tmp_path / "fit").fit(X, Y)

    with pytest.raises(UserInputError, match="values of X: others now"):
        make_fit(tmp_path / "fit").fit(X.assign(a=X["a"].cat.reorder_categories(sorted(set(TEXTS))[::-1])), Y)


def describe_all():
    return {
        kind: describe_rows(TablePool(make_table(values), Labels.encode(Y)))
        for kind, (make_table, values) in KINDS.items()
    }


def test_every_kind_of_column_has_the_same_fingerprint_in_another_process():
    program = [sys.executable, "-c", "import test_changed_columns as t; print(t.describe_all())"]
    folder = __file__.rpartition("/")[0]

    other = subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    assert other == str(describe_all())
