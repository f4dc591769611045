"""A model that is fitted first, and returned if there is no other one."""

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from fitwithin import LearnerFailed, LearnerFailedWarning, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin.testing import AwkwardClassifier

X = np.random.default_rng(0).random((20_000, 3))
Y = np.where(X[:, 0] > 0.6, "rare", "common")


def a_classifier(learner, **settings):
    settings = {"fallback": DummyClassifier(), "random_state": 0, "time_limit": 15} | settings
    return TimeConstrainedClassifier(learner, **settings)


@pytest.mark.parametrize("trouble", ["ignores signals", "segfaults"])
def test_a_fallback_is_returned_if_there_is_no_other_model(trouble):
    clf = a_classifier(AwkwardClassifier(trouble))

    with pytest.warns(LearnerFailedWarning, match="The fallback is returned, since there is no other model"):
        clf.fit(X, Y)

    assert clf.stop_reason_ == "fallback"
    assert isinstance(clf.best_estimator_, DummyClassifier)
    assert clf.predict(X[:2]).tolist() == ["common", "common"]
    assert 5000 < clf.n_rows_trained_ == len(clf.training_rows_) <= 10_000
    assert clf.score_estimate_ is None
    assert clf.time_used_ < 18


def test_weights_reach_it_and_memory_counts():
    class Greedy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            self.taken_ = np.ones(1 << 27)
            return super().fit(X, y, sample_weight)

    weights = np.where(Y == "rare", 10.0, 1.0)
    clf = a_classifier(Greedy(), memory_limit="500MB", time_limit=20)

    with pytest.warns(LearnerFailedWarning, match="memory"):
        clf.fit(X, Y, sample_weight=weights)

    assert clf.predict(X[:1]).tolist() == ["rare"]


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_any_other_model_is_preferred(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = a_classifier(GaussianNB(), backend=backend, time_limit=30).fit(X, Y)
        reg = TimeConstrainedRegressor(LinearRegression(), fallback=DummyRegressor(), backend=backend, time_limit=30)
        reg.fit(X, X[:, 0])

    assert isinstance(clf.best_estimator_, GaussianNB)
    assert isinstance(reg.best_estimator_, LinearRegression)


def test_an_exception_is_still_raised():
    with pytest.raises(ArithmeticError):
        a_classifier(AwkwardClassifier("raises")).fit(X, Y)


def test_a_fallback_that_fails_is_no_model_and_is_reported():
    reported = pytest.warns(LearnerFailedWarning, match="There is no fallback, since its fit failed.*no more than 0")
    with reported, pytest.raises(LearnerFailed):
        a_classifier(AwkwardClassifier("segfaults"), fallback=AwkwardClassifier("raises")).fit(X, Y)


def test_a_fallback_is_checked_like_a_learner():
    with pytest.raises(TypeError, match="fallback must be a classifier; got the regressor"):
        a_classifier(GaussianNB(), fallback=DummyRegressor()).fit(X, Y)
    with pytest.raises(TypeError, match="fallback must be an object with fit and predict"):
        a_classifier(GaussianNB(), fallback="dummy").fit(X, Y)
