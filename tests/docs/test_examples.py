"""Every example of the gallery runs as a script, draws a picture, and takes a few seconds."""

import runpy
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


@pytest.fixture(scope="module")
def warm():
    """The first fit of a process starts another one, which on a busy machine takes longer than an example."""
    y = np.arange(600) % 2
    TimeConstrainedClassifier(GaussianNB(), time_limit=120).fit(y[:, None], y)


@pytest.fixture
def pictures(monkeypatch, tmp_path):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.chdir(tmp_path)
    yield plt
    plt.close("all")


def test_there_are_at_least_eight():
    assert len(EXAMPLES) >= 8


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(example, pictures, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(example), run_name="__main__")

    assert pictures.get_fignums()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_has_a_title_and_says_what_it_shows(example):
    title, line, empty, *text = example.read_text(encoding="utf-8").split('"""')[1].strip().split("\n")

    assert set(line) == {"="}
    assert len(line) == len(title)
    assert empty == ""
    assert " ".join(text).strip().endswith(".")
