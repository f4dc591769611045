"""Learners by name have the paper's settings, on the command line and in the estimators alike."""

import sys

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._presets import CLASSIFIERS, REGRESSORS, preset
from fitwithin.backends import Inline


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lightgbm", {"n_jobs": 1, "n_estimators": 100, "num_leaves": 31}),
        ("random-forest", {"min_samples_split": 30, "n_jobs": 1, "n_estimators": 100}),
        ("decision-tree", {"min_samples_split": 30, "max_depth": 5}),
        ("linear-svm", {"dual": False}),
        ("logistic-regression", {"solver": "saga", "max_iter": 100}),
        ("hist-gradient-boosting", {"max_iter": 100}),
        ("sgd-hinge", {"loss": "hinge"}),
        ("sgd-log", {"loss": "log_loss"}),
    ],
)
def test_a_learner_has_the_settings_of_the_paper(name, settings):
    parameters = preset(name).get_params()

    assert {setting: parameters[setting] for setting in settings} == settings


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_name_of_a_classifier_gives_a_new_classifier(name):
    assert is_classifier(preset(name))
    assert preset(name) is not preset(name)


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_name_of_a_regressor_gives_a_regressor(name):
    assert is_regressor(preset(name, regression=True))


def test_an_estimator_takes_a_name():
    X, y = make_classification(2000, random_state=0)

    model = TimeConstrainedClassifier("decision-tree", time_limit=20, backend=Inline(), random_state=0).fit(X, y)

    assert model.best_estimator_.get_depth() <= 5
    assert model.predict_proba(X).shape == (2000, 2)
    assert model.get_params()["estimator"] == "decision-tree"


def test_a_regressor_takes_a_name_too():
    X, y = make_regression(2000, random_state=0)

    model = TimeConstrainedRegressor("decision-tree", time_limit=20, backend=Inline(), random_state=0).fit(X, y)

    assert np.isfinite(model.predict(X)).all()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no classifier named 'forest'.*\"random-forest\", \"decision-tree\""):
        TimeConstrainedClassifier("forest").fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=r"no regressor named 'logistic-regression'.*\"lightgbm\""):
        TimeConstrainedRegressor("logistic-regression").fit([[0], [1]], [0.0, 1.0])


def test_an_object_with_an_unknown_name_can_be_looked_at_before_it_is_refused():
    model = TimeConstrainedClassifier("forest")

    assert "forest" in model._repr_html_()
    assert hasattr(model, "predict_proba")


def test_a_missing_booster_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)

    with pytest.raises(ImportError, match=r"XGBoost is not installed: pip install 'fitwithin\[boosters\]'"):
        preset("xgboost")
