"""Sources of data sets."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from fitwithin_paper.study import openml
from fitwithin_paper.study.dataset_sources import (
    DatasetUnavailable,
    default_cache_folder,
    list_dataset_names,
    load_dataset,
    select_datasets,
)
from fitwithin_paper.study.openml import fetch_openml_dataset
from fitwithin_paper.study.paper_datasets import PAPER_DATASETS, TrainTestSplit
from fitwithin_paper.study.preprocessing import prepare_dataset


@pytest.fixture
def frame():
    return pd.DataFrame({"x": np.arange(6.0), "kind": list("ababab"), "target": [0, 0, 0, 1, 1, 1]})


@pytest.fixture
def folder(tmp_path, frame):
    folder = tmp_path / "data"
    folder.mkdir()
    for stem in ("covtype", "GTSRB-HueHist", "my_own"):
        frame.to_parquet(folder / f"{stem}.parquet")
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """No test uses OpenML."""

    def refuse(number, cache):
        raise DatasetUnavailable(f"OpenML {number} can't be fetched (no network)")

    monkeypatch.setattr(openml, "fetch_openml_dataset", refuse)


@pytest.mark.parametrize("name", ["covtype", "Covtype", "gtsrb_huehist", "GTSRB-HueHist"])
def test_a_set_of_the_paper_is_read_from_the_folder(folder, frame, name):
    table = load_dataset(name, folder)

    assert table.name in PAPER_DATASETS
    pd.testing.assert_frame_equal(table.X, frame[["x", "kind"]])
    assert table.y.tolist() == frame["target"].tolist()
    assert table.source.startswith("file ")


def test_any_other_name_is_a_file_in_the_folder(folder):
    table = load_dataset("my_own", folder)

    assert (table.name, table.source, table.split) == ("my_own", "file my_own.parquet", TrainTestSplit())


def test_unknown_names_list_the_known_ones(folder):
    with pytest.raises(ValueError, match=r"unknown data set 'covertypo'.* covtype, .*, aloi, my_own$"):
        load_dataset("covertypo", folder)
    with pytest.raises(ValueError, match=r"aloi$"):
        load_dataset("covertypo")


def test_the_known_names_are_the_papers_and_the_folders(folder):
    assert list_dataset_names(folder) == (*PAPER_DATASETS, "my_own")


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere; --data expects a folder or a file"):
        load_dataset("covtype", tmp_path / "nowhere")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_a_file_may_have_any_name_for_its_class_column(tmp_path, frame, ending):
    file = tmp_path / f"my{ending}"
    renamed = frame.rename(columns={"target": "y"})
    _ = renamed.to_parquet(file) if ending == ".parquet" else renamed.to_csv(file, index=False)

    table = load_dataset(file, target="y")

    assert (table.name, table.source) == ("my", f"file my{ending}")
    assert list(table.X) == ["x", "kind"]
    assert table.y.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_missing_class_column_is_reported_with_the_existing_columns(folder):
    with pytest.raises(
        DatasetUnavailable,
        match="my_own has no class column y; its columns are x, kind, target; choose one by --target",
    ):
        load_dataset("my_own", folder, target="y")


def test_a_file_with_only_a_class_column_is_refused(folder, frame):
    frame[["target"]].to_parquet(folder / "bare.parquet")

    with pytest.raises(
        DatasetUnavailable, match="bare has only its class column target; expected at least one other column"
    ):
        load_dataset("bare", folder)


@pytest.mark.parametrize(("written", "name"), [("COVTYPE", "covtype"), ("covertype", "covtype"), ("MY-own", "my_own")])
def test_a_set_has_one_name_for_every_spelling(folder, written, name):
    _, names = select_datasets(folder, None, (written, name))

    assert names == (name,)


def test_a_file_keeps_its_whole_name(tmp_path, frame):
    frame.to_parquet(tmp_path / "my.v2.parquet")

    load, (name,) = select_datasets(tmp_path / "my.v2.parquet", None)

    assert name == load(name).name == "my.v2"


def test_names_with_a_single_file_and_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "x.arff").touch()

    with pytest.raises(
        ValueError, match=r"--data is the file .* but --datasets needs a folder; remove one of the two options"
    ):
        select_datasets(tmp_path / "x.csv", None, ("x",))
    with pytest.raises(
        ValueError, match=r"x.arff can't be read; expected a file that ends in .parquet, .csv or .csv.gz"
    ):
        select_datasets(tmp_path / "x.arff", None)


def test_without_a_target_the_usual_names_are_tried(tmp_path, frame):
    frame.rename(columns={"target": "class"}).to_parquet(tmp_path / "a.parquet")
    frame.rename(columns={"target": "label"}).to_parquet(tmp_path / "b.parquet")

    assert load_dataset("a", tmp_path).y.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(DatasetUnavailable, match="no class column target or class"):
        load_dataset("b", tmp_path)


def test_rows_without_a_class_are_left_out_and_counted(tmp_path, frame):
    frame.assign(target=["a", "b", None, "a", "b", "a"]).to_parquet(tmp_path / "gaps.parquet")

    table = load_dataset("gaps", tmp_path)

    assert len(table.X) == len(table.y) == 5
    assert table.source == "file gaps.parquet; 1 rows without a class are left out"


@pytest.mark.parametrize("name", ["nowhere.csv", "damaged.parquet"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 or not")

    with pytest.raises(DatasetUnavailable, match=name):
        load_dataset(tmp_path / name)


def test_an_unavailable_set_reports_every_place_that_was_searched_and_what_to_do(folder):
    with pytest.raises(DatasetUnavailable) as trouble:
        load_dataset("jannis", folder)

    assert str(trouble.value) == (
        f"jannis is unavailable: no jannis.parquet in {folder}; OpenML 41168 can't be fetched (no network). "
        "Put jannis.parquet into a folder and pass it as --data."
    )


def test_openml_is_not_used_offline(tmp_path):
    with pytest.raises(
        DatasetUnavailable, match=r"no data folder was given; OpenML 41168 was not fetched \(--no-online\)"
    ):
        load_dataset("jannis", cache=tmp_path, online=False)


def test_a_synthetic_set_without_its_original_asks_for_it(folder):
    with pytest.raises(
        DatasetUnavailable, match=r"no letter.parquet to learn .* on; .*Put letter.parquet into a folder"
    ):
        load_dataset("BNG_letter_5000_1", folder)


def test_a_synthetic_set_is_generated_from_its_original(folder, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pgmpy's own, on import
        pytest.importorskip("pgmpy")
    X, y = load_wine(as_frame=True, return_X_y=True)
    X.assign(target=y).to_parquet(folder / "wine.parquet")

    table = load_dataset("BNG_wine", folder, cache=tmp_path / "cache", synthetic_rows=1_000, seed=3)

    prepared = prepare_dataset(table)
    assert prepared.X_train.shape == (700, PAPER_DATASETS["BNG_wine"].attributes)
    assert len(prepared.classes) == PAPER_DATASETS["BNG_wine"].classes
    assert "learned on wine (178 rows) by pgmpy, 1,000 rows, seed 3" in table.source


def test_a_synthetic_set_in_the_folder_is_read_from_there(folder, frame):
    frame.to_parquet(folder / "BNG_wine.parquet")

    assert load_dataset("BNG_wine", folder).source == "file BNG_wine.parquet"


def test_a_set_is_fetched_from_openml(monkeypatch, frame, tmp_path):
    monkeypatch.setattr(openml, "fetch_openml_dataset", lambda number, cache: frame.assign(number=number))

    table = load_dataset("volkert", cache=tmp_path)

    assert table.source == "OpenML 41166"
    assert table.X["number"].unique().tolist() == [41166]


def test_columns_that_only_number_the_rows_are_dropped(folder, frame):
    frame.assign(encounter_id=range(6), patient_nbr=range(6)).to_parquet(folder / "diabetes130us.parquet")

    table = load_dataset("Diabetes130US", folder)

    assert list(table.X) == ["x", "kind"]
    assert "admission_type_id" in table.nominal_columns


@pytest.mark.parametrize(("which", "asked"), [(554, {"data_id": 554}), ("BNG(satimage)", {"name": "BNG(satimage)"})])
def test_openml_is_queried_by_number_or_name_and_the_class_column_is_named_target(tmp_path, frame, which, asked):
    def client(**question):
        questions.append(question)
        warnings.warn("Version 1 of this set is inactive", UserWarning, stacklevel=2)
        return SimpleNamespace(data=frame[["x"]], target=frame["target"].rename("class"))

    questions = []

    fetched = fetch_openml_dataset(which, tmp_path, client=client)

    assert list(fetched) == ["x", "target"]
    assert questions == [{**asked, "as_frame": True, "data_home": str(tmp_path), "n_retries": 1}]


@pytest.mark.parametrize(
    "error",
    [
        URLError("Name or service not known"),
        HTTPError("https://www.openml.org", 412, "Dataset with data_id 554 not found.", None, None),
        TimeoutError("timed out"),
        ValueError("md5 checksum of local file does not match description"),
        ImportError("fetch_openml with as_frame=True requires pandas."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_of_openml_makes_the_set_unavailable(tmp_path, error):
    def client(**question):
        raise error

    with pytest.raises(DatasetUnavailable, match=f"OpenML 554 can't be fetched \\({type(error).__name__}: "):
        fetch_openml_dataset(554, tmp_path, client=client)


def test_an_openml_set_without_a_class_column_is_refused(tmp_path, frame):
    with pytest.raises(DatasetUnavailable, match="OpenML 554 declares no class column"):
        fetch_openml_dataset(554, tmp_path, client=lambda **question: SimpleNamespace(data=frame, target=None))


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("FITWITHIN_CACHE", str(tmp_path))
    assert default_cache_folder() == tmp_path

    monkeypatch.delenv("FITWITHIN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "fitwithin"

    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_folder() == Path.home() / ".cache" / "fitwithin"
