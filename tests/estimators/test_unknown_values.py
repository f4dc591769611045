"""Pipelines whose fitted state depends on the values in their rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch


def make_rows(n_values, n_rows=6000):
    """A number and a city in a Zipf distribution, and a label that depends on both."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, n_values + 1)
    codes = rng.choice(n_values, n_rows, p=share / share.sum())
    size = rng.normal(size=n_rows)
    cities = np.array([f"city {code}" for code in range(n_values)], dtype=object)[codes]
    return pd.DataFrame({"size": size, "city": cities}), (size + rng.normal(size=n_values)[codes] > 0).astype(int)


def encode(encoder, learner, columns=("city",)):
    return make_pipeline(make_column_transformer((encoder, list(columns)), remainder="passthrough"), learner)


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("n_values", [400, 4000])
@pytest.mark.parametrize("kind", ["one-hot", "ordinal", "array"])
def test_a_default_encoder_is_fitted_on_every_row(kind, n_values, backend):
    X, y = make_rows(n_values)
    learner = encode(OneHotEncoder(), LogisticRegression(C=0.1))
    if kind == "ordinal":
        learner = encode(OrdinalEncoder(), DecisionTreeClassifier(min_samples_leaf=20))
    if kind == "array":
        X, learner = (
            pd.DataFrame({0: X["size"], 1: X.city.factorize()[0]}).to_numpy(),
            learner.set_params(columntransformer__onehotencoder="passthrough"),
        )
        learner = encode(OneHotEncoder(), LogisticRegression(C=0.1), [1])
    clf = TimeConstrainedClassifier(learner, time_limit=60, backend=backend, random_state=0)

    with pytest.warns(RuntimeWarning, match=r"could not predict .* step 'columntransformer__\w+' was not fitted"):
        clf.fit(X, y)

    assert clf.stop_reason_ == "all rows"
    # A last fit takes the 600 rows kept back too if they promise a gain.
    assert clf.n_rows_trained_ in (5400, 6000)
    assert clf.score_estimate_[0] > 0.7


def test_a_regressor_and_a_search_take_a_default_encoder():
    X, y = make_rows(400)
    reg = TimeConstrainedRegressor(encode(OneHotEncoder(), Ridge()), time_limit=60, backend="inline", random_state=0)
    search = TimeConstrainedSearch(
        encode(OneHotEncoder(), LogisticRegression()),
        {"logisticregression__C": [0.01, 1.0]},
        time_limit=5,
        backend="inline",
        random_state=0,
    )

    with pytest.warns(RuntimeWarning, match="could not predict"):
        reg.fit(X, X["size"] + y)
    with pytest.warns(RuntimeWarning, match="could not predict"):
        search.fit(X, y)

    assert reg.score_estimate_[0] > 0.8
    assert search.best_score_ > 0.7


def test_an_encoder_that_ignores_unknown_values_gives_no_warning():
    X, y = make_rows(4000)
    learner = encode(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=0.1))

    clf = TimeConstrainedClassifier(learner, time_limit=60, backend="inline", random_state=0).fit(X, y)

    assert clf.n_rows_trained_ == 5400
