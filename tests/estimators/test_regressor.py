"""`TimeConstrainedRegressor`: teachers, metrics, weights and targets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from fitwithin import TimeConstrainedRegressor
from fitwithin.teachers import TCT, Double

RNG = np.random.default_rng(0)
X = RNG.random((6000, 4))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * RNG.normal(size=6000)
BACKENDS = ["inline", "process"]


def regressor(learner=None, **settings):
    return TimeConstrainedRegressor(
        learner, **{"time_limit": 60, "teacher": TCT(first=200), "random_state": 0} | settings
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("teacher", "rows"), [("tct", 6000), ("double", 6000), ("full", 6000), ("auto", 5400)])
def test_every_teacher_teaches_a_regressor(backend, teacher, rows):
    fitted = regressor(DecisionTreeRegressor(max_depth=6), backend=backend, teacher=teacher).fit(X, Y)

    assert fitted.score(X, Y) > 0.8
    assert fitted.history_[-1].rows == rows
    assert fitted.stop_reason_ == "all rows"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_estimate_is_r2_on_rows_never_seen(backend):
    fitted = regressor(RandomForestRegressor(10), backend=backend, on_round=lambda finished: finished.number == 3).fit(
        X, Y
    )
    rng = np.random.default_rng(1)
    fresh = rng.random((20_000, 4))
    truth = np.sin(5 * fresh[:, 0]) + fresh[:, 1] ** 2 + 0.1 * rng.normal(size=20_000)

    value, low, high = fitted.score_estimate_
    assert low < value < high
    assert abs(value - fitted.score(fresh, truth)) < 0.05


def test_hard_rows_are_those_with_the_largest_errors():
    fitted = regressor(Ridge(), backend="inline", teacher=TCT(first=500, alpha=0.5)).fit(X, Y)
    second = fitted.history_[1]

    # Half of the new rows are random, and a fifth of those is hard; the others are hard.
    assert second.new_rows == 500
    assert 250 + 20 <= second.new_mistakes <= 250 + 80


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "neg_mean_squared_error", "neg_median_absolute_error"])
def test_other_metrics(scoring):
    fitted = regressor(Ridge(), backend="inline", scoring=scoring, on_round=lambda finished: True).fit(X, Y)

    assert fitted.score_estimate_[0] < 0


def test_both_backends_return_the_same_model():
    here, there = (
        regressor(DecisionTreeRegressor(max_depth=5), backend=backend, teacher=Double(first=100)).fit(X, Y)
        for backend in BACKENDS
    )

    np.testing.assert_array_equal(here.predict(X), there.predict(X))


def test_weights_frames_and_defaults_work():
    frame = pd.DataFrame(X, columns=list("abcd"))

    fitted = regressor(backend="process").fit(frame, Y, sample_weight=np.linspace(0.1, 1, 6000))

    assert type(fitted.best_estimator_) is HistGradientBoostingRegressor
    assert fitted.score(frame, Y) > 0.8
    assert fitted.feature_names_in_.tolist() == list("abcd")


def test_a_classifier_is_refused():
    with pytest.raises(TypeError, match="must be a regressor; got the classifier"):
        regressor(LogisticRegression()).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(Y > 2, np.nan, Y), "NaN"),
        (np.array(["a"] * 6000), "could not convert"),
        (np.stack([Y, Y], 1), "expected one label or value for each row"),
    ],
)
def test_values_that_cannot_be_learned_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        regressor(Ridge()).fit(X, y)
