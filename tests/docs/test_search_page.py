"""The page about the search tells what the ready spaces are."""

import re
from pathlib import Path

import pytest

from fitwithin.teachers._search.ready_spaces import READY_SPACES

PAGE = Path(__file__).parents[2] / "docs" / "hyperparameter-search.md"
ROW_OF = {
    "LGBM": "LightGBM",
    "XGB": "XGBoost",
    "CatBoost": "CatBoost",
    "HistGradientBoosting": "histogram boosting",
    "RandomForest": "random forest, extra trees",
    "ExtraTrees": "random forest, extra trees",
    "DecisionTree": "decision tree",
    "LogisticRegression": "logistic regression",
    "LinearSV": "linear SVM",
    "Ridge": "ridge",
    "SGD": "SGD",
}


def settings_on_the_page():
    text = PAGE.read_text(encoding="utf-8").split("## Ready spaces")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)[1:]
    return {learner: set(re.findall(r"`(\w+)", settings)) for learner, settings, source in rows if source.strip()}


@pytest.mark.parametrize(("package", "name"), READY_SPACES, ids=lambda name: name)
def test_every_setting_of_a_ready_space_is_on_the_page(package, name):
    row = next(row for start, row in ROW_OF.items() if name.startswith(start))

    assert set(READY_SPACES[package, name]) <= settings_on_the_page()[row]


def test_the_page_has_no_other_settings():
    in_spaces = {parameter for space in READY_SPACES.values() for parameter in space}

    assert set().union(*settings_on_the_page().values()) == in_spaces
