"""The page on learners by name tells every setting, and those that are used."""

import ast
import re
from pathlib import Path

import pytest

from fitwithin._core.preset_table import PRESETS, Preset
from fitwithin._presets import LabelEncodedClassifier, make_preset

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "presets.md"


def read_cell(text):
    return None if text == "none" else text.strip("`")


def read_settings(text):
    """Return the keyword arguments of a call as a dict."""
    call = ast.parse(f"f({text or ''})", mode="eval").body
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}


def read_presets():
    found = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith('| `"'):
            name, classifier, regressor, settings, threads = map(
                read_cell, map(str.strip, line.strip("| ").split(" | "))
            )
            found[name.strip('"')] = (classifier, regressor, read_settings(settings), read_settings(threads))
    return found


def describe(preset: Preset):
    threads = {} if preset.threads is None else {preset.threads: -1}
    return preset.classifier, preset.regressor, dict(preset.settings), threads


def test_the_page_has_every_learner_with_its_settings():
    assert read_presets() == {name: describe(preset) for name, preset in PRESETS.items()}


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_a_learner_differs_from_its_library_only_as_the_page_says(name, regression):
    classifier, regressor, settings, threads = read_presets()[name]
    path = regressor if regression else classifier
    if path is None:
        return
    learner = make_preset(name, regression=regression)
    learner = learner.estimator if isinstance(learner, LabelEncodedClassifier) else learner
    told, parameters, defaults = settings | threads, learner.get_params(), type(learner)().get_params()

    assert f"{type(learner).__module__.split('.')[0]}.{type(learner).__name__}" == re.sub(r"\..*\.", ".", path)
    # CatBoost does not list a thread for each core, which is its default.
    assert {key: parameters.get(key, -1) for key in told} == told
    others = {key: value for key, value in parameters.items() if key not in told}
    # A missing value differs from itself.
    assert [key for key, value in others.items() if value == value and value != defaults.get(key)] == []
