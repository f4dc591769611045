"""Boosters that insist on numbers learn labels of every kind."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from fitwithin._presets import LabelEncodedClassifier, preset
from fitwithin.backends._early_stopping import Patience, stopping_fit

X = np.random.default_rng(0).random((300, 3))
WHICH = (X[:, 0] * 3).astype(int)


@pytest.mark.parametrize("name", ["xgboost", "catboost"])
@pytest.mark.parametrize(
    "labels",
    [["no", "perhaps", "yes"], [-5, 0, 7], [2.0, 3.0, 4.0], [False, True, True]],
    ids=["words", "whole", "fractions", "truths"],
)
def test_a_booster_answers_with_the_labels_it_was_taught(name, labels):
    y = np.array(labels)[WHICH]
    learner = preset(name)
    learner.estimator.set_params(n_estimators=5)

    learner.fit(X, y)

    assert learner.predict(X).dtype == y.dtype
    assert np.mean(learner.predict(X) == y) > 0.9
    assert learner.classes_.tolist() == sorted(set(labels))
    np.testing.assert_allclose(learner.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


def test_weights_reach_the_classifier():
    weights = np.where(WHICH == 2, 0.0, 1.0)

    learner = LabelEncodedClassifier(DecisionTreeClassifier(max_depth=1)).fit(X, WHICH, sample_weight=weights)

    assert 2 not in learner.predict(X)


def test_it_is_a_classifier_that_takes_what_the_inner_one_takes():
    learner = preset("xgboost")

    assert is_classifier(learner)
    assert get_tags(learner).input_tags.allow_nan == get_tags(learner.estimator).input_tags.allow_nan


def test_it_can_be_stopped_if_the_inner_one_can():
    learner = preset("xgboost")

    stopping_fit(learner)(learner, X, np.array(list("abc"))[WHICH], Patience(0), {})

    assert learner.estimator_.get_booster().num_boosted_rounds() == 1
    assert set(learner.predict(X)) <= set("abc")
    assert stopping_fit(LabelEncodedClassifier(DecisionTreeClassifier())) is None
