"""fitwithin predict and inspect, as a user runs them."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pyarrow import csv, feather
from sklearn.datasets import dump_svmlight_file

from command_line import invoke
from fitwithin._cli.console import print_note, sanitize_line
from fitwithin._cli.errors import fail
from fitwithin._tabular.files import csv as csv_files
from fitwithin._tabular.files.data_file import TableChunk
from fitwithin._tabular.files.reader import open_data_file


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(count), "w": rng.choice(["x", "y", None], count)})
    return frame.assign(label=np.where(frame["a"] > 0.5, "high", "low"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    rows(500).to_parquet(folder / "rows.parquet")
    options = ["--target", "label", "--learner", "decision-tree", "--time-limit", "60s", "--seed", 0]
    result = invoke("train", folder / "rows.parquet", *options, "--out", folder / "model.skops")
    assert result.exit_code == 0, result.output
    return folder / "model.skops"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows(200, seed=1).drop(columns="label").to_parquet("new.parquet")
    return tmp_path


WRITERS = {"new.parquet": pq.write_table, "new.feather": feather.write_feather, "new.csv": csv.write_csv}


def use_small_chunks(monkeypatch):
    monkeypatch.setattr(csv_files, "_CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(TableChunk.split, "__defaults__", (30,))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("out", ["p.parquet", "p.csv", "p.feather"])
def test_every_format_is_read_and_written(model, name, out, monkeypatch):
    use_small_chunks(monkeypatch)
    new = rows(200, seed=1)
    WRITERS[name](pa.table(new.drop(columns="label")), name)
    assert len(list(open_data_file(Path(name)).read_chunks())) > 1

    result = invoke("predict", model, name, "--out", out, "--proba")

    assert result.exit_code == 0, result.output
    assert "200 predictions are in" in result.stdout
    predictions = {"p.parquet": pd.read_parquet, "p.csv": pd.read_csv, "p.feather": pd.read_feather}[out](out)
    assert list(predictions) == ["prediction", "probability_high", "probability_low"]
    assert np.mean(predictions["prediction"] == new["label"]) > 0.95
    np.testing.assert_allclose(predictions["probability_high"] + predictions["probability_low"], 1)


def test_unknown_text_and_columns_in_another_order_are_accepted(model):
    pd.DataFrame({"more": [1, 2], "w": ["new", None], "a": [0.9, 0.1]}).to_csv("odd.csv", index=False)

    assert invoke("predict", model, "odd.csv", "--json").stdout == '{"predictions": "predictions.parquet", "rows": 2}\n'

    assert pd.read_parquet("predictions.parquet")["prediction"].tolist() == ["high", "low"]


def test_later_chunks_of_a_csv_file_may_look_different(model, monkeypatch):
    monkeypatch.setattr(csv_files, "_CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(TableChunk.split, "__defaults__", (30,))
    lines = ["a,w", *["1,7"] * 2000, *["0.25,x"] * 2000, *[",y"] * 10]
    with open("long.csv", "w") as file:
        file.write("\n".join(lines))

    assert invoke("predict", model, "long.csv").exit_code == 0

    assert pd.read_parquet("predictions.parquet")["prediction"].tolist()[:4000] == ["high"] * 2000 + ["low"] * 2000


def test_sparse_rows_need_not_be_as_wide_as_in_training():
    X = np.eye(6)[np.arange(300) % 6]
    dump_svmlight_file(X, np.arange(300) % 2, "rows.svmlight", zero_based=False)
    Path("new.svmlight").write_text("0 1:1\n0 3:1 900:1\n")
    trained = invoke("train", "rows.svmlight", "--learner", "decision-tree", "--time-limit", "60s")
    assert trained.exit_code == 0, trained.output

    assert invoke("predict", "model.skops", "new.svmlight").exit_code == 0

    assert pd.read_parquet("predictions.parquet")["prediction"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new.parquet", "new.parquet"), "is not a model file"),
        (("MODEL", "nw.parquet"), "Did you mean new.parquet?"),
        (("MODEL", "new.parquet", "--out", "new.parquet"), "exists already"),
        (("MODEL", "new.parquet", "--out", "p.xlsx"), ".parquet, .feather, .csv"),
        (("MODEL", "other.csv"), "no column 'w'"),
        (("MODEL", "text.csv"), "'a'"),
        (("MODEL", "none.parquet"), "no rows"),
    ],
)
def test_an_error_is_one_sentence_and_a_hint(model, here, arguments, words):
    pd.DataFrame({"a": [1], "W2": ["x"]}).to_csv("other.csv", index=False)
    pd.DataFrame({"a": ["many"], "w": ["x"]}).to_csv("text.csv", index=False)
    rows(0).to_parquet("none.parquet")
    before = sorted(os.listdir(here))

    result = invoke("predict", *(str(model) if word == "MODEL" else word for word in arguments))

    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 2
    assert sorted(os.listdir(here)) == before


def test_probabilities_of_a_model_without_them_are_refused(here):
    rows(300).to_parquet("rows.parquet")
    common = ("--time-limit", "60s", "--force")
    assert invoke("train", "rows.parquet", "--target", "label", "--learner", "linear-svm", *common).exit_code == 0
    assert "gives no probabilities" in invoke("predict", "model.skops", "new.parquet", "--proba").stderr

    assert invoke("train", "rows.parquet", "--target", "a", "--learner", "decision-tree", *common).exit_code == 0
    assert "leave out --proba" in invoke("predict", "model.skops", "rows.parquet", "--proba").stderr


def test_a_class_without_training_rows_has_probability_0():
    from fitwithin._cli.predict_run import _probability_columns

    class Model:
        classes_ = np.array(["a", "c"])

        def predict_proba(self, X):
            return np.array([[0.25, 0.75]] * len(X))

    columns = _probability_columns(Model(), np.zeros((2, 1)), ["a", "b", "c"])

    assert {name: column.tolist() for name, column in columns.items()} == {
        "probability_a": [0.25] * 2,
        "probability_b": [0.0] * 2,
        "probability_c": [0.75] * 2,
    }


def test_inspect_shows_the_card(model):
    result = invoke("inspect", model)

    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    for words in ("a model for classification", "label (", "high, low", "2 columns: a (double), w (", "decision-tree"):
        assert words in said


def test_inspect_prints_json(model):
    card = json.loads(invoke("inspect", model, "--json").stdout)

    assert card["target"] == "label"
    assert [column["name"] for column in card["columns"]] == ["a", "w"]
    assert card["training"]["rows"] == 500
    assert card["training"]["rounds"][0]["number"] == 1


def test_inspect_prints_no_control_characters_of_a_file(model, here):
    with zipfile.ZipFile(model) as old, zipfile.ZipFile("evil.skops", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b'"label"', b'"\\u001b[2J[red]gone"') if name == "fitwithin.json" else text)

    result = invoke("inspect", "evil.skops")

    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "[red]gone" in result.stdout


@pytest.mark.parametrize("said", ["\x1b[2J", "\x9b2J", "\u202egpj.exe", "a\rb"])
def test_errors_print_no_control_characters_of_a_file(said, capsys):
    with pytest.raises(typer.Exit):
        fail(f"It asks for {said}.", code=2, hint=f"Trust {said}")
    print_note(f"It says {said}")

    shown = capsys.readouterr().err
    assert shown.count("\N{REPLACEMENT CHARACTER}") == (3 if said != "a\rb" else 2)
    assert shown.count("\n") == 3
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & set(shown)


def test_characters_of_other_scripts_are_printed():
    text = "naïve\N{NO-BREAK SPACE}カラム\N{IDEOGRAPHIC SPACE}🙂"

    assert sanitize_line(text) == text


def test_a_regression_on_whole_numbers_predicts_fractions():
    frame = pd.DataFrame({"a": np.arange(1000)})
    frame.assign(y=frame["a"] // 2 * 3).to_parquet("values.parquet")
    options = ["--target", "y", "--learner", "decision-tree", "--time-limit", "60s", "--seed", 0]
    assert invoke("train", "values.parquet", *options).exit_code == 0

    assert invoke("predict", "model.skops", "values.parquet").exit_code == 0

    predictions = pd.read_parquet("predictions.parquet")["prediction"]
    assert predictions.dtype == np.float64
    assert (predictions % 1 != 0).any()


def test_times_in_utc_are_read_as_in_training(here):
    times = pd.date_range("2020-01-01", periods=300, freq="h", tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")
    pd.DataFrame({"t": times, "a": np.arange(300), "y": np.arange(300) % 2}).to_csv("times.csv", index=False)
    options = ["--target", "y", "--learner", "decision-tree", "--time-limit", "60s", "--seed", 0]
    assert invoke("train", "times.csv", *options).exit_code == 0

    result = invoke("predict", "model.skops", "times.csv")

    assert result.exit_code == 0, result.output


def test_inspect_refuses_other_files(here):
    result = invoke("inspect", "new.parquet")

    assert result.exit_code == 2
    assert "not a model file" in result.stderr
