"""fitwithin train --checkpoint, and inspect and predict on a checkpoint, as a user runs them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import invoke
from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor


def make_frame(count, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(count), "w": rng.choice(["x", "y", None], count)})
    return frame.assign(label=np.where(frame["a"] + (frame["w"] == "x") > 0.8, "high", "low"))


OPTIONS = ["--target", "label", "--learner", "decision-tree", "--time-limit", "60s", "--seed", 0]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_frame(3000).to_parquet("rows.parquet")
    make_frame(200, seed=1).drop(columns="label").to_parquet("new.parquet")


def train(*more):
    result = invoke("train", "rows.parquet", *OPTIONS, "--checkpoint", "fit.ckpt", "--json", *more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_checkpoint_predicts_like_the_model_file_without_the_data():
    train("--out", "model.skops")
    for model in ("fit.ckpt", "model.skops"):
        result = invoke("predict", model, "new.parquet", "--out", f"{model}.parquet", "--proba")
        assert result.exit_code == 0, result.output

    pd.testing.assert_frame_equal(pd.read_parquet("fit.ckpt.parquet"), pd.read_parquet("model.skops.parquet"))


def test_a_checkpoint_is_inspected_like_a_model_file():
    trained = train()

    card = json.loads(invoke("inspect", "fit.ckpt", "--json").stdout)
    shown = invoke("inspect", "fit.ckpt").stdout

    for name in ("task", "target", "target_type", "classes", "columns", "features", "learner", "encoding", "scoring"):
        assert card[name] == trained[name]
    for name in ("rows", "rows_taught", "estimate", "stop_reason", "time_limit"):
        assert card["training"][name] == trained["training"][name]
    assert len(card["training"]["rounds"]) == len(trained["training"]["rounds"])
    assert "fit.ckpt: a checkpoint of a model for classification" in shown


def test_the_same_command_returns_the_stored_model():
    first = train()
    second = train("--force")

    assert second["training"]["rounds"] == first["training"]["rounds"]
    assert second["training"]["time_used"] == pytest.approx(first["training"]["time_used"], abs=5)


def test_another_file_of_rows_is_refused_with_what_differs():
    train()
    make_frame(2999).to_parquet("rows.parquet")

    result = invoke("train", "rows.parquet", *OPTIONS, "--checkpoint", "fit.ckpt", "--force")

    assert result.exit_code == 2
    assert "rows of X: 3000 then, 2999 now" in result.stderr
    assert "Name another folder, or delete this one" in result.stderr


def test_another_learner_is_refused_and_nothing_says_that_it_is_resumed():
    train()

    result = invoke("train", "rows.parquet", *OPTIONS, "--learner", "sgd-log", "--checkpoint", "fit.ckpt", "--force")

    assert result.exit_code == 2
    assert "is of another fit" in result.stderr
    assert "Going on" not in result.stdout
    assert "Checkpoint: fit.ckpt; the time limit counts all runs together." in result.stdout


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", LONG],
        ["train", "rows.parquet", *OPTIONS, "--checkpoint", LONG],
        ["train", "rows.parquet", *OPTIONS, "--out", f"{LONG}.skops"],
        ["train", "rows.parquet", *OPTIONS, "--test", f"{LONG}.parquet"],
        ["shuffle", "rows.parquet", "--out", f"{LONG}.parquet"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments)).replace(LONG, "long"),
)
def test_a_name_that_is_too_long_is_one_sentence(arguments):
    result = invoke(*arguments)

    assert result.exit_code == 2
    assert "too long" in result.stderr
    assert "Hint: " in result.stderr
    assert "--debug" not in result.stderr


def test_the_checkpoint_must_be_a_folder_of_its_own():
    result = invoke("train", "rows.parquet", *OPTIONS, "--checkpoint", "model.skops")
    assert result.exit_code == 2
    assert "model.skops is named twice" in result.stderr

    result = invoke("train", "rows.parquet", *OPTIONS, "--checkpoint", "new.parquet")
    assert result.exit_code == 2
    assert "new.parquet is a file; expected a folder" in " ".join(result.stderr.split())
    assert len(pd.read_parquet("new.parquet")) == 200

    Path("thesis").mkdir()
    Path("thesis", "thesis.tex").touch()
    result = invoke("train", "rows.parquet", *OPTIONS, "--checkpoint", "thesis")
    assert result.exit_code == 2
    assert "holds other files and no checkpoint" in " ".join(result.stderr.split())


def test_a_checkpoint_from_python_predicts_for_a_frame_of_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((2000, 2)), columns=["a", "b"])
    y = np.where(X["a"] > X["b"], "more", "less")
    fitted = TimeConstrainedClassifier(DecisionTreeClassifier(), backend="inline", checkpoint="py.ckpt").fit(X, y)
    X.to_csv("new.csv", index=False)

    result = invoke("predict", "py.ckpt", "new.csv", "--out", "p.csv")
    assert result.exit_code == 0, result.output

    assert pd.read_csv("p.csv")["prediction"].tolist() == fitted.predict(X).tolist()
    assert json.loads(invoke("inspect", "py.ckpt", "--json").stdout)["classes"] == ["less", "more"]


def test_a_checkpoint_from_python_predicts_for_a_matrix():
    X = np.random.default_rng(0).random((2000, 3))
    fitted = TimeConstrainedRegressor(backend="inline", checkpoint="py.ckpt", random_state=0).fit(X, X.sum(axis=1))
    np.savez("new.npz", X=X)

    result = invoke("predict", "py.ckpt", "new.npz", "--out", "p.parquet")
    assert result.exit_code == 0, result.output

    np.testing.assert_allclose(pd.read_parquet("p.parquet")["prediction"], fitted.predict(X))


def test_a_checkpoint_without_a_model_is_inspected_and_predict_says_so():
    learner = DecisionTreeClassifier()
    X = np.zeros((2000, 2))
    X[0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        TimeConstrainedClassifier(learner, teacher="full", backend="inline", checkpoint="py.ckpt").fit(
            X, np.arange(2000) % 2
        )

    assert "not ended: under way, killed or failed" in invoke("inspect", "py.ckpt").stdout
    np.savez("new.npz", X=X)
    result = invoke("predict", "py.ckpt", "new.npz")
    assert result.exit_code == 2
    assert "holds no model: none is stored yet, or skops can't store" in result.stderr


@pytest.mark.parametrize("n_bytes", [0, 30, 2000])
def test_a_damaged_checkpoint_is_one_sentence(n_bytes):
    train()
    path = Path("fit.ckpt", "state.json")
    path.write_bytes(path.read_bytes()[:n_bytes])

    for command in (["inspect", "fit.ckpt"], ["predict", "fit.ckpt", "new.parquet"]):
        result = invoke(*command)
        assert result.exit_code == 2
        assert "is damaged" in " ".join(result.stderr.split())


def test_a_folder_or_an_older_checkpoint_is_no_model():
    Path("empty").mkdir()
    Path("old.ckpt").write_bytes(b"fitwithin checkpoint 1\n" + bytes(99))

    for name, sentence in (("empty", "is not a checkpoint of fitwithin"), ("old.ckpt", "is not a model file")):
        for command in (["inspect", name], ["predict", name, "new.parquet"]):
            result = invoke(*command)
            assert result.exit_code == 2
            assert sentence in " ".join(result.stderr.split())
