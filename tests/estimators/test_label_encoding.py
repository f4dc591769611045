"""Boosters that accept only integer labels are fitted on labels of any type."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from fitwithin._presets import LabelEncodedClassifier, make_preset
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal

X = np.random.default_rng(0).random((300, 3))
CLASS_OF_ROW = (X[:, 0] * 3).astype(int)


@pytest.mark.parametrize("name", ["xgboost", "catboost"])
@pytest.mark.parametrize(
    "labels",
    [["no", "perhaps", "yes"], [-5, 0, 7], [2.0, 3.0, 4.0], [False, True, True]],
    ids=["text", "integers", "floats", "booleans"],
)
def test_a_booster_predicts_the_labels_that_it_was_fitted_on(name, labels):
    y = np.array(labels)[CLASS_OF_ROW]
    learner = make_preset(name)
    learner.estimator.set_params(n_estimators=5)

    learner.fit(X, y)

    assert learner.predict(X).dtype == y.dtype
    assert np.mean(learner.predict(X) == y) > 0.9
    assert learner.classes_.tolist() == sorted(set(labels))
    np.testing.assert_allclose(learner.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


def test_sample_weights_reach_the_inner_classifier():
    weights = np.where(CLASS_OF_ROW == 2, 0.0, 1.0)

    learner = LabelEncodedClassifier(DecisionTreeClassifier(max_depth=1)).fit(X, CLASS_OF_ROW, sample_weight=weights)

    assert 2 not in learner.predict(X)


def test_the_wrapper_is_a_classifier_with_the_tags_of_the_inner_one():
    learner = make_preset("xgboost")

    assert is_classifier(learner)
    assert get_tags(learner).input_tags.allow_nan == get_tags(learner.estimator).input_tags.allow_nan


def test_the_wrapper_can_be_stopped_if_the_inner_classifier_can():
    learner = make_preset("xgboost")

    find_early_stopping(learner)(learner, X, np.array(list("abc"))[CLASS_OF_ROW], StopSignal(0), {})

    assert learner.estimator_.get_booster().num_boosted_rounds() == 1
    assert set(learner.predict(X)) <= set("abc")
    assert find_early_stopping(LabelEncodedClassifier(DecisionTreeClassifier())) is None
