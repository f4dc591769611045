"""fitwithin train --search, as a user runs it."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import invoke

ROWS = 2000


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=list("abcd"))
    frame["city"] = rng.choice(["Oslo", "Lima"], ROWS)
    frame["value"] = frame["a"] * 3 + (frame["city"] == "Oslo")
    frame["label"] = np.where(frame["a"] * frame["b"] > 0, "yes", "no")
    frame.to_parquet("rows.parquet")
    return tmp_path


@pytest.fixture
def run(here):
    return invoke


def search(run, *more, target="label", learner="decision-tree,random-forest"):
    options = ["--search", "--learner", learner, "--jobs", 1, "--time-limit", 12, "--seed", 0]
    return run("train", "rows.parquet", "--target", target, *options, *more)


def join_lines(text):
    return " ".join(text.split())


@pytest.mark.slow
def test_a_search_names_the_best_learner_its_settings_and_what_was_tried(run):
    result = search(run)
    inspected = run("inspect", "model.skops")
    predicted = run("predict", "model.skops", "rows.parquet", "--out", "predictions.parquet")

    assert result.exit_code == 0, result.output
    assert "best hyperparameters of decision-tree and of random-forest for at most 12 s" in join_lines(result.stdout)
    for shown in (result, inspected):
        assert "best learner" in shown.stdout
        assert ", of decision-tree, random-forest" in shown.stdout
        assert "its hyperparameters" in shown.stdout
        assert "candidates tried" in shown.stdout
    assert predicted.exit_code == 0, predicted.output
    assert len(pd.read_parquet("predictions.parquet")) == ROWS


@pytest.mark.slow
def test_the_card_of_a_search_has_the_settings_and_their_number(run):
    card = json.loads(search(run, "--json", target="value", learner="decision-tree").stdout)

    found = card["training"]["search"]
    candidates = {finished["candidate"] for finished in card["training"]["rounds"]}
    assert card["teacher"] == "search"
    assert card["learner"] == found["learner"] == "decision-tree"
    assert found["learners"] == ["decision-tree"]
    assert found["n_settings"] >= len(candidates) > 2
    assert set(found["params"]) <= {"max_depth", "min_samples_leaf"}


@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        (["--learner", "decision-tree,random-forest"], "names 2 learners, and only --search tries several", "Add"),
        (["--search", "--teacher", "tct"], "--search chooses the training rows itself", "Leave out --teacher"),
        (["--search", "--learner", "decision-tree,random-forst"], "random-forst is unknown", "random-forest?"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, options, sentence, hint):
    result = run("train", "rows.parquet", "--target", "label", *options)

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert hint in result.stderr


def test_for_a_regression_every_learner_must_be_a_regressor(run):
    result = search(run, target="value", learner="decision-tree,logistic-regression")

    assert result.exit_code == 2
    assert "For regression, --learner logistic-regression is unknown." in result.stderr


def test_a_learner_that_cannot_take_the_encoding_of_another_one_is_refused(run, here):
    """A linear learner needs one-hot encoding, which makes sparse rows of many categories."""
    frame = pd.read_parquet("rows.parquet")
    frame["town"] = [f"town {number % 90}" for number in range(ROWS)]
    frame[["town", "city", "label"]].to_parquet("rows.parquet")

    result = search(run, learner="hist-gradient-boosting,logistic-regression")

    assert result.exit_code == 2
    assert "sparse rows, which HistGradientBoostingClassifier does not take" in result.stderr


@pytest.mark.slow
def test_a_vote_is_stored_and_predicts(run, here):
    result = search(
        run,
        "--ensemble",
        5,
        "--predict-time-limit",
        "5ms",
        learner="decision-tree",
    )
    predicted = run("predict", "model.skops", "rows.parquet", "--out", "predictions.parquet")

    assert result.exit_code == 0, result.output
    assert predicted.exit_code == 0, predicted.output
    assert len(pd.read_parquet("predictions.parquet")) == ROWS


@pytest.mark.parametrize("option", [("--ensemble", 3), ("--predict-time-limit", "1ms")])
def test_options_of_a_search_need_one(run, option):
    result = run("train", "rows.parquet", "--target", "label", *option)

    assert result.exit_code == 2
    assert f"{option[0]} is for a search" in join_lines(result.output)
