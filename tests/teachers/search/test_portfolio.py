"""Hyperparameters that were good on other data, from FLAML's files."""

import pytest

from fitwithin.teachers._search import ready_spaces
from fitwithin.teachers._search.ready_spaces import DataShape, find_portfolio
from fitwithin.teachers._search.space import IntRange, Space

pytest.importorskip("flaml")


def test_data_of_the_shape_of_a_mined_data_set_gets_its_best_configurations():
    # The shape of Helena, whose configuration is the first of its own list.
    first, *_ = find_portfolio("LGBMClassifier", DataShape(65_196, 27, 100))

    assert first["num_leaves"] > 4
    assert first["max_bin"] in {2**bits - 1 for bits in range(3, 11)}


@pytest.mark.parametrize("n_classes", [0, 2, 7])
@pytest.mark.parametrize("learner", ["LGBM", "XGB", "CatBoost", "HistGradientBoosting"])
def test_known_learners_have_a_few_configurations_for_each_task(learner, n_classes):
    kind = "Classifier" if n_classes else "Regressor"

    found = find_portfolio(learner + kind, DataShape(10_000, 20, n_classes))

    assert 1 <= len(found) <= 4


def test_other_learners_have_none():
    assert find_portfolio("GaussianNB", DataShape(100, 2, 2)) == []


def test_without_flaml_there_is_none(monkeypatch):
    monkeypatch.setattr(ready_spaces, "find_spec", lambda name: None)

    assert find_portfolio("LGBMClassifier", DataShape(100, 2, 2)) == []


def test_steps_beyond_the_time_there_is_are_traded_for_a_higher_rate():
    space = Space({"n_estimators": IntRange(4, 4096)}, steps="n_estimators")
    slow = {"n_estimators": 1000, "learning_rate": 0.01, "num_leaves": 31}

    assert space.limit_steps(slow, 2000) is slow
    assert space.limit_steps(slow, 100) == {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31}
    assert space.limit_steps(slow, 1)["learning_rate"] == 0.5
