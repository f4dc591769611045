"""Rows that a model cannot predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.preference import ScoredModel
from fitwithin._core.records import Answers, Estimate
from fitwithin.backends._exam_predictions import predict_rows


class Picky(ClassifierMixin, BaseEstimator):
    """Refuses numbers above a limit, and counts its calls."""

    def __init__(self, limit):
        self.limit = limit
        self.calls = 0

    def predict(self, X):
        self.calls += 1
        if (self.limit < X).any():
            raise ValueError("A number is too large.")
        return X[:, 0] * 10


@pytest.mark.parametrize("bad", [[0], [999], [3, 4, 5], [0, 100, 500, 998, 999]])
def test_halving_finds_exactly_the_rows_that_cannot_be_predicted(bad):
    X = np.arange(1000.0)[:, None]
    X[bad] = 5000.0
    model = Picky(2000.0)

    answers, unpredicted = predict_rows(model, "predict", X, 1000)

    assert np.flatnonzero(unpredicted.mask).tolist() == bad
    assert unpredicted.reason == "ValueError: A number is too large."
    assert (answers[~unpredicted.mask] == 10 * X[~unpredicted.mask, 0]).all()
    assert model.calls <= 2 + 2 * 11 * len(bad)


def test_many_rows_that_cannot_be_predicted_cost_a_limited_number_of_calls():
    X = np.where(np.arange(20_000) % 3, 0.0, 5000.0)[:, None]
    model = Picky(2000.0)

    _, unpredicted = predict_rows(model, "predict", X, 20_000)

    assert model.calls < 300
    assert unpredicted.mask[::3].all()
    assert not unpredicted.mask.all()


def test_a_model_that_can_predict_nothing_raises_its_error():
    with pytest.raises(ValueError, match="too large"):
        predict_rows(Picky(-1.0), "predict", np.zeros((50, 1)), 50)


def test_unknown_categories_are_found_without_halving_and_named():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0] * 100, "city": ["Oslo", "Lima", "Pune"] * 100})
    encoder = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame[frame.city != "Pune"], [0, 1] * 100)

    answers, unpredicted = predict_rows(model, "predict", frame, 300)

    assert (unpredicted.mask == (frame.city == "Pune")).all()
    assert answers[:2].tolist() == [0, 1]
    assert unpredicted.reason == (
        "The step 'columntransformer__onehotencoder' was not fitted on every value in column 'city': "
        'set handle_unknown="ignore" there.'
    )


def test_a_model_that_cannot_predict_one_per_cent_gives_way_to_one_that_can():
    rows, wrong = np.arange(1000), np.zeros(1000, dtype=bool)
    high, low = Estimate(0.9, 0.89, 0.91), Estimate(0.5, 0.49, 0.51)
    partial = ScoredModel(Answers(rows, wrong, score=high, unpredicted=11), 500)
    whole = ScoredModel(Answers(rows, wrong, score=low, unpredicted=10), 500)

    assert whole.is_preferred_to(partial)
    assert not partial.is_preferred_to(whole)
    assert ScoredModel(Answers(rows, wrong, score=high, unpredicted=9), 500).is_preferred_to(whole)
