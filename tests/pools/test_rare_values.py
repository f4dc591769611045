"""The first lesson of a learner that cannot predict values that it was not fitted on."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fitwithin._pools.pool import find_missing_values, knows_fitted_values_only


def make_codes(n_values, n_rows=20_000):
    """Values in a Zipf distribution."""
    share = 1 / np.arange(1, n_values + 1)
    return np.random.default_rng(0).choice(n_values, n_rows, p=share / share.sum())


@pytest.mark.parametrize("kind", ["array", "object", "pandas", "category", "polars"])
def test_a_lesson_gets_every_value_that_is_frequent(kind):
    codes = make_codes(400)
    names = np.array([f"city {code}" for code in codes], dtype=object)
    X = {
        "array": codes[:, None],
        "object": names[:, None],
        "pandas": pd.DataFrame({"city": names}),
        "category": pd.DataFrame({"city": pd.Categorical(names)}),
        "polars": pl.DataFrame({"city": names.tolist()}),
    }[kind]

    more = find_missing_values(X, np.arange(500), np.arange(500, 20_000))

    covered = set(codes[:500]) | set(codes[more])
    assert np.isin(codes, list(covered)).mean() > 0.999
    assert len(more) < 400


def test_the_most_frequent_of_many_values_come_first():
    codes = make_codes(4000)

    more = find_missing_values(codes[:, None], np.arange(250), np.arange(250, 20_000))

    assert len(more) == 500
    covered = set(codes[:250]) | set(codes[more])
    assert set(range(200)) <= covered


def test_numbers_that_occur_once_and_missing_values_add_nothing():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    X[500:, 0] = np.nan

    assert len(find_missing_values(X, np.arange(10), np.arange(10, 1000))) == 0


def test_an_encoder_that_raises_for_other_values_is_found_in_a_pipeline_too():
    careful = OneHotEncoder(handle_unknown="ignore")

    assert knows_fitted_values_only(OneHotEncoder())
    assert knows_fitted_values_only(make_pipeline(OneHotEncoder(), LogisticRegression()))
    assert not knows_fitted_values_only(make_pipeline(careful, LogisticRegression()))
