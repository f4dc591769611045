"""Fingerprints of rows and learners."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin._session.fingerprint import describe_learner, describe_rows, find_differences, learner_types

FOREST = RandomForestClassifier(class_weight={0: 1.0, 1: 2.0})
FRAME = pd.DataFrame(
    {"a": np.arange(1000.0), "b": pd.Categorical(["x", "y"] * 500), "c": ["q", None] * 500, "d": range(1000)}
)
TABLES = {
    "array": FRAME[["a", "d"]].to_numpy(),
    "sparse": sparse.csr_matrix(np.eye(1000)),
    "objects": FRAME.to_numpy(),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
}


def describe(X, y=None, **params):
    return describe_rows(TablePool(X, Labels.encode(np.arange(len(y or range(1000))) % 3), params))


@pytest.mark.parametrize("name", TABLES)
def test_the_same_rows_have_the_same_fingerprint(name):
    assert describe(TABLES[name]) == describe(TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_other_values_show(name):
    table = TABLES[name]
    if name in ("pandas", "polars", "arrow"):
        changed = FRAME.assign(a=FRAME["a"] + 1)
        other = {"pandas": changed, "polars": pl.from_pandas(changed), "arrow": pa.Table.from_pandas(changed)}[name]
    else:
        other = table[::-1]

    assert find_differences(describe(table), describe(other)) == ["values of X: others now"]


def test_other_names_and_types_of_columns_show():
    assert find_differences(describe(FRAME), describe(FRAME.rename(columns={"a": "z"}))) == [
        "column names of X: a, b, c, d then, z, b, c, d now"
    ]
    assert "type of X" in find_differences(describe(FRAME), describe(FRAME.astype({"d": "float32"})))[0]


def test_the_memory_order_of_an_array_does_not_matter():
    array = TABLES["array"]

    assert describe(array) == describe(np.asfortranarray(array))


def test_a_fingerprint_is_the_same_in_another_process():
    code = (
        "from test_fingerprint import FOREST, TABLES, describe, describe_learner;"
        "print([describe(table) for table in TABLES.values()], describe_learner(FOREST))"
    )
    program = [sys.executable, "-c", code]
    other = subprocess.run(
        program, cwd=__file__.rpartition("/")[0], check=True, capture_output=True, text=True
    ).stdout.strip()

    assert other == f"{[describe(table) for table in TABLES.values()]} {describe_learner(FOREST)}"


def test_parameters_of_the_parts_of_a_learner_show():
    def make(C, function):
        return make_pipeline(FunctionTransformer(function), LogisticRegression(C=C))

    differences = find_differences(describe_learner(make(1.0, np.log1p)), describe_learner(make(2.0, np.sqrt)))

    assert differences == [
        "its functiontransformer__func: numpy.log1p then, numpy.sqrt now",
        "its logisticregression__C: 1.0 then, 2.0 now",
    ]


def test_cores_and_output_of_a_learner_do_not_matter():
    assert describe_learner(LogisticRegression(verbose=1)) == describe_learner(LogisticRegression(verbose=0))


def test_the_types_of_a_learner_are_those_of_its_parts():
    names = learner_types(make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()))

    assert {"sklearn.pipeline.Pipeline", "sklearn.linear_model._logistic.LogisticRegression", "numpy.log1p"} <= set(
        names
    )
