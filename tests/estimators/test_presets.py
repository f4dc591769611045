"""Learners by name: the same in Python and on the command line."""

import sys

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._cli.options import make_learner
from fitwithin._presets import CLASSIFIERS, REGRESSORS, make_preset
from fitwithin.backends import Inline


@pytest.mark.parametrize("name", ["lightgbm", "random-forest", "decision-tree", "catboost"])
def test_a_name_means_the_same_in_python_and_on_the_command_line(name):
    in_python = TimeConstrainedClassifier(name)._learner_or_default()

    at_command_line = make_learner(name, regression=False, jobs=-1)

    assert repr(in_python) == repr(at_command_line)
    assert getattr(in_python, "estimator", in_python).get_params() == (
        getattr(at_command_line, "estimator", at_command_line).get_params()
    )


def test_learners_of_a_search_share_the_cores():
    search = TimeConstrainedSearch(["lightgbm", "random-forest"], n_jobs=10_000)

    assert [learner.estimator.n_jobs for learner in search._list_learners()] == [1, 1]
    assert TimeConstrainedSearch("lightgbm")._list_learners()[0].estimator.n_jobs == -1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_name_makes_a_new_classifier(name):
    assert is_classifier(make_preset(name))
    assert make_preset(name) is not make_preset(name)


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_name_makes_a_regressor(name):
    assert is_regressor(make_preset(name, regression=True))


def test_a_classifier_accepts_a_name():
    X, y = make_classification(2000, random_state=0)

    model = TimeConstrainedClassifier("decision-tree", time_limit=20, backend=Inline(), random_state=0).fit(X, y)

    assert model.best_estimator_.min_samples_leaf == 20
    assert model.predict_proba(X).shape == (2000, 2)
    assert model.get_params()["estimator"] == "decision-tree"


def test_a_regressor_accepts_a_name():
    X, y = make_regression(2000, random_state=0)

    model = TimeConstrainedRegressor("decision-tree", time_limit=20, backend=Inline(), random_state=0).fit(X, y)

    assert np.isfinite(model.predict(X)).all()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no classifier named 'forest'.*\"random-forest\", \"decision-tree\""):
        TimeConstrainedClassifier("forest").fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=r"no regressor named 'logistic-regression'.*\"lightgbm\""):
        TimeConstrainedRegressor("logistic-regression").fit([[0], [1]], [0.0, 1.0])


def test_an_estimator_with_an_unknown_name_can_be_displayed_before_fit():
    model = TimeConstrainedClassifier("forest")

    assert "forest" in model._repr_html_()
    assert hasattr(model, "predict_proba")


def test_a_missing_booster_is_reported_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)

    with pytest.raises(
        ImportError, match=r"needs xgboost, which is not installed\. .* pip install 'fitwithin\[boosters\]'"
    ):
        make_preset("xgboost")
