"""Forests and bagging that are stopped have the members of a plain fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier

from fake_stop_signal import questions
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = np.where(X[:, 0] + RNG.normal(size=len(X)) > 0, "yes", "no")
ENOUGH = 1e6


def fit(learner, stop_signal, y=Y, **params):
    find_early_stopping(learner)(learner, X, y, stop_signal, params)
    return learner


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier])
def test_the_users_generator_draws_the_same_members_and_ends_in_the_same_state(kind):
    ours, plain = np.random.RandomState(0), np.random.RandomState(0)

    model = fit(kind(n_estimators=9, random_state=ours), questions(ENOUGH))

    other = kind(n_estimators=9, random_state=plain).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert ours.randint(10**9) == plain.randint(10**9)


def test_the_global_random_state_draws_the_same_members():
    before = np.random.get_state()
    try:
        np.random.seed(0)
        model = fit(RandomForestClassifier(9), questions(ENOUGH))
        np.random.seed(0)
        plain = RandomForestClassifier(9).fit(X, Y)
    finally:
        np.random.set_state(before)

    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("oob_score", [True, lambda y, predicted: 0.25])
def test_a_forest_has_the_out_of_bag_score_of_a_plain_fit(oob_score):
    learner = RandomForestClassifier(40, oob_score=oob_score, random_state=0)
    plain = clone(learner).fit(X, Y)

    model = fit(learner, questions(ENOUGH))

    assert model.oob_score_ == plain.oob_score_
    np.testing.assert_array_equal(model.oob_decision_function_, plain.oob_decision_function_)


def test_a_stopped_forest_has_the_out_of_bag_score_of_its_trees():
    learner = RandomForestRegressor(200, oob_score=True, random_state=0)

    with pytest.warns(UserWarning, match="too few trees"):
        model = fit(learner, questions(6), y=X[:, 0])

    with pytest.warns(UserWarning, match="too few trees"):
        plain = clone(learner).set_params(n_estimators=len(model.estimators_)).fit(X, X[:, 0])
    assert model.oob_score_ == plain.oob_score_


def test_the_first_call_fits_one_tree_per_job():
    model = fit(RandomForestClassifier(20, n_jobs=3, random_state=0), StopSignal(0))

    assert len(model.estimators_) == 3


def test_the_number_of_jobs_does_not_change_the_trees():
    model = fit(RandomForestClassifier(10, n_jobs=3, random_state=0), questions(ENOUGH))

    plain = RandomForestClassifier(10, n_jobs=1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_more_jobs_than_trees_add_no_trees():
    assert len(fit(RandomForestClassifier(2, n_jobs=3, random_state=0), questions(ENOUGH)).estimators_) == 2


def test_a_forest_with_several_outputs_can_be_stopped():
    model = fit(RandomForestClassifier(20, random_state=0), questions(6), y=np.column_stack([Y, Y]))

    assert model.predict(X).shape == (len(X), 2)
    assert 1 < len(model.estimators_) < 20


def test_the_user_can_continue_a_stopped_forest():
    learner = RandomForestClassifier(12, random_state=0)
    fit(learner, questions(6))

    learner.set_params(warm_start=True).fit(X, Y)

    np.testing.assert_array_equal(
        learner.predict_proba(X), RandomForestClassifier(12, random_state=0).fit(X, Y).predict_proba(X)
    )


@pytest.mark.parametrize("kind", [RandomForestClassifier, BaggingClassifier])
def test_a_fit_that_continues_an_earlier_one_is_not_stopped(kind):
    learner = kind(n_estimators=5, warm_start=True, random_state=0).fit(X, Y).set_params(n_estimators=9)

    fit(learner, StopSignal(0))

    assert len(learner.estimators_) == 9


def test_a_warning_is_shown_once():
    with pytest.warns(DataConversionWarning) as seen:
        fit(RandomForestClassifier(9, random_state=0), questions(ENOUGH), y=Y.reshape(-1, 1))

    assert len(seen) == 1


def test_balanced_class_weights_do_not_warn_about_our_warm_start():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(RandomForestClassifier(9, class_weight="balanced", random_state=0), questions(ENOUGH))


@pytest.mark.parametrize("seconds", [0, 6, ENOUGH])
def test_bagging_knows_the_rows_of_each_member(seconds):
    model = fit(BaggingClassifier(n_estimators=12, random_state=0), questions(seconds))

    plain = BaggingClassifier(n_estimators=12, random_state=0).fit(X, Y)
    assert len(model.estimators_samples_) == len(model.estimators_) == model.n_estimators
    for ours, other in zip(model.estimators_samples_, plain.estimators_samples_, strict=False):
        np.testing.assert_array_equal(ours, other)


def test_stopped_bagging_predicts_the_mean_of_its_members():
    model = fit(BaggingRegressor(n_estimators=12, random_state=0), questions(6), y=X[:, 0] + 10)

    members = [member.predict(X) for member in model.estimators_]
    assert 1 < len(members) < 12
    np.testing.assert_allclose(model.predict(X), np.mean(members, axis=0))


class FailsAtThirdFit(ClassifierMixin, BaseEstimator):
    """A member whose third fit fails."""

    fits = 0

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        FailsAtThirdFit.fits += 1
        if FailsAtThirdFit.fits == 3:
            raise RuntimeError("one too many")
        self.tree_ = DecisionTreeClassifier().fit(X, y)
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_parameters_are_restored_after_a_member_fails():
    FailsAtThirdFit.fits = 0
    learner = BaggingClassifier(FailsAtThirdFit(), n_estimators=9, random_state=0)

    with pytest.raises(RuntimeError, match="one too many"):
        fit(learner, questions(ENOUGH))

    assert (learner.n_estimators, learner.warm_start) == (9, False)


@pytest.mark.parametrize("members", ["many", 0, 2.5])
def test_an_invalid_number_of_members_raises_scikit_learns_error(members):
    with pytest.raises(ValueError, match="n_estimators"):
        fit(RandomForestClassifier(members), questions(ENOUGH))
