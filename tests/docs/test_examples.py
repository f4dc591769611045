"""Every example of the gallery runs as a script and draws a figure."""

import runpy
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*/plot_*.py"))
# The quickest one stays among the fast tests: one second.
QUICK = "plot_1_rare_classes"


def name_of(example):
    return f"{example.parent.name}/{example.stem}"


@pytest.fixture(scope="module")
def warm_helper():
    """Start the helper process: on a busy machine that takes longer than the time limit of an example."""
    y = np.arange(600) % 2
    TimeConstrainedClassifier(GaussianNB(), time_limit=120).fit(y[:, None], y)


@pytest.fixture
def pyplot(monkeypatch, tmp_path):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FITWITHIN_EXAMPLE_LIMIT", "6s")
    yield plt
    plt.close("all")


def test_there_are_at_least_eight_examples():
    assert len(EXAMPLES) >= 8


def test_every_example_is_in_a_folder_with_a_title():
    assert not list(FOLDER.glob("*.py"))
    assert {path.parent for path in EXAMPLES} == {path.parent for path in FOLDER.glob("*/README.rst")}


@pytest.mark.usefixtures("warm_helper")
@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=() if path.stem == QUICK else pytest.mark.slow, id=name_of(path)) for path in EXAMPLES],
)
def test_the_example_runs_and_draws(example, pyplot, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(example), run_name="__main__")

    assert pyplot.get_fignums()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_the_example_has_a_title_and_says_what_it_shows(example):
    title, line, empty, *text = example.read_text(encoding="utf-8").split('"""')[1].strip().split("\n")

    assert set(line) == {"="}
    assert len(line) == len(title)
    assert empty == ""
    assert " ".join(text).strip().endswith(".")
