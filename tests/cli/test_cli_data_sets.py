"""fitwithin train, predict and shuffle on files that are read in blocks, as a user runs them."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from command_line import invoke
from fitwithin._tabular.files import data_set_files

N_ROWS = 6000


def people(n_rows=N_ROWS, seed=0):
    """Rows with every kind of column and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n_rows), "height": rng.normal(170, 10, n_rows)})
    frame["city"] = rng.choice(["Oslo", "Lima", "Pune"], n_rows)
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], n_rows))
    frame["member"] = rng.random(n_rows) > 0.5
    frame["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n_rows), "D")
    frame["name"] = [f"person {number}" for number in range(n_rows)]
    frame["buys"] = np.where((frame["age"] > 50) & (frame["city"] != "Oslo"), "yes", "no")
    frame["price"] = frame["age"] * 2.5 + rng.normal(size=n_rows)
    frame.loc[::10, "height"] = np.nan
    frame.loc[::13, "city"] = None
    return frame


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    frame = people()
    frame.loc[::100, "buys"] = None
    for number, part in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        frame.iloc[part].to_parquet(f"rows/{number}.parquet", row_group_size=500, index=False)
    return tmp_path


def train(*arguments, target="buys", learner="decision-tree"):
    options = ["--target", target, "--learner", learner, "--time-limit", "60s", "--seed", 0, "--json"]
    return invoke("train", *arguments, *options)


def read_card(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("data", ["rows", "rows/*.parquet"])
def test_a_folder_and_a_pattern_are_trained_on_and_predicted(here, data):
    card = read_card(train(data, "--test", "rows", "--out", "model.skops"))

    assert card["training"]["rows"] == N_ROWS - 60
    assert card["training"]["rows_without_label"] == 60
    assert card["training"]["test"]["rows"] == N_ROWS - 60
    assert card["training"]["test"]["score"] > 0.9
    assert list(card["training"]["left_out"]) == ["name"]
    assert card["classes"] == ["no", "yes"]
    result = invoke("predict", "model.skops", data, "--out", "predictions.parquet", "--proba")
    assert result.exit_code == 0, result.output
    predictions = pd.read_parquet("predictions.parquet")
    expected = pd.read_parquet("rows")["buys"]
    assert len(predictions) == N_ROWS
    assert (predictions["prediction"] == expected)[expected.notna()].mean() > 0.9


def test_the_model_of_a_folder_takes_single_files_too(here):
    read_card(train("rows", "--out", "model.skops"))
    people(100, seed=1).drop(columns=["buys", "kind"]).assign(kind="b").to_csv("new.csv", index=False)
    result = invoke("predict", "model.skops", "new.csv", "--out", "predictions.csv")
    assert result.exit_code == 0, result.output
    assert (pd.read_csv("predictions.csv")["prediction"] == people(100, seed=1)["buys"]).mean() > 0.9


def test_numbers_are_learned_as_values(here):
    card = read_card(train("rows", "--test", "rows/0.parquet", target="price"))
    assert card["task"] == "regression"
    assert card["training"]["test"]["score"] > 0.9


def test_a_learner_without_missing_values_gets_none(here):
    card = read_card(train("rows", "--test", "rows", learner="logistic-regression"))
    assert card["encoding"] == "one-hot"
    assert card["training"]["test"]["score"] > 0.7


def test_a_file_larger_than_memory_is_read_in_blocks(here, monkeypatch):
    monkeypatch.setattr(data_set_files, "_MEMORY_SHARE", 1)
    card = read_card(train("rows/0.parquet", "--test", "rows/1.parquet", "--memory-limit", "2GB"))
    assert card["training"]["rows"] == 1980
    assert card["training"]["test"]["score"] > 0.9


def test_the_spool_lies_where_the_user_says_and_is_gone_afterwards(here):
    result = train("rows/0.parquet", "--spool", "missing")
    assert result.exit_code == 2
    assert "'missing' does not exist." in result.output
    (here / "spool").mkdir()
    read_card(train("rows/0.parquet", "--spool", "spool"))
    assert os.listdir("spool") == []


@pytest.mark.slow
def test_a_search_works_on_a_folder(here):
    options = ["--target", "buys", "--learner", "decision-tree", "--search", "--time-limit", "10s", "--seed", 0]
    card = read_card(invoke("train", "rows", *options, "--jobs", 1, "--json"))
    assert card["training"]["search"]["n_settings"] > 1


def test_a_checkpoint_of_a_folder_predicts(here):
    read_card(train("rows", "--checkpoint", "state.fit"))
    result = invoke("predict", "state.fit", "rows", "--out", "predictions.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv("predictions.csv")) == N_ROWS


def test_a_shuffled_copy_is_trained_on(here):
    result = invoke("shuffle", "rows", "--out", "pool", "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "6,000 rows are in pool in random order" in result.output
    card = read_card(train("pool", "--test", "rows"))
    assert card["training"]["rows"] == N_ROWS - 60
    assert card["training"]["test"]["score"] > 0.9
    again = invoke("shuffle", "rows", "--out", "pool")
    assert again.exit_code == 2
    assert "pool holds a shuffled copy already." in again.output
    assert json.loads(invoke("shuffle", "rows", "--out", "pool", "--force", "--json").stdout)["rows"] == N_ROWS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rows", "--groups", "city"), "does not work with that"),
        (("no/*.parquet",), "No file matches no/*.parquet."),
        (("rows/0.parquet", "--spool", ".", "--groups", "city"), "does not work with that"),
    ],
)
def test_what_does_not_work_is_said_in_a_sentence(here, arguments, words):
    result = train(*arguments)
    assert result.exit_code == 2
    assert words in result.output.replace("\n", " ")


def test_the_last_rows_of_a_folder_can_choose_the_model(here):
    card = read_card(train("rows", "--validation", "last"))
    assert card["training"]["rounds"][-1]["validation_rows"] > 0


def test_files_that_differ_and_a_truncated_file_are_named(here):
    pq.write_table(pq.read_table("rows/1.parquet").drop_columns(["age"]), "rows/1.parquet")
    result = train("rows")
    assert result.exit_code == 2
    assert "rows/1.parquet has no column 'age', which rows/0.parquet has." in result.output
    content = (here / "rows" / "2.parquet").read_bytes()
    (here / "rows" / "1.parquet").write_bytes(content[:2000])
    result = train("rows")
    assert result.exit_code == 2
    assert "rows/1.parquet can't be read" in result.output


def test_an_unknown_target_names_the_closest(here):
    result = train("rows", target="buy")
    assert result.exit_code == 2
    assert "rows has no column 'buy'." in result.output
    assert "Did you mean 'buys'?" in result.output


@pytest.mark.slow
@pytest.mark.long
def test_prediction_and_shuffle_need_the_memory_of_a_few_blocks(here):
    read_card(train("rows", "--out", "model.skops"))
    part = pq.read_table("rows")
    with pq.ParquetWriter("big.parquet", part.schema) as writer:
        for _ in range(250):
            writer.write_table(part)
    peak = "import resource, sys; from fitwithin._cli import app; sys.argv[0] = 'fitwithin'\n"
    peak += "try:\n    app()\nfinally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"

    def measure(*arguments):
        done = subprocess.run([sys.executable, "-c", peak, *arguments], capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1]) * 1024

    base = measure("predict", "model.skops", "rows", "--out", "small.parquet")
    assert measure("predict", "model.skops", "big.parquet", "--out", "large.parquet") < base + 200e6
    assert measure("shuffle", "big.parquet", "--out", "pool") < base + 400e6
