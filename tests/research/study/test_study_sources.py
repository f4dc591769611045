"""Where a data set comes from."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from fitwithin._research.study import openml
from fitwithin._research.study.names import DATA_SETS, Split
from fitwithin._research.study.openml import fetch
from fitwithin._research.study.preparing import prepare
from fitwithin._research.study.sources import NotToBeHad, default_cache, find, known, sources


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
    """No test asks OpenML."""

    def refuse(number, cache):
        raise NotToBeHad(f"OpenML {number} can't be fetched (no network)")

    monkeypatch.setattr(openml, "fetch", refuse)


@pytest.mark.parametrize("name", ["covtype", "Covtype", "gtsrb_huehist", "GTSRB-HueHist"])
def test_a_set_of_the_paper_is_a_file_in_the_folder(folder, frame, name):
    table = find(name, folder)

    assert table.name in DATA_SETS
    pd.testing.assert_frame_equal(table.X, frame[["x", "kind"]])
    assert table.y.tolist() == frame["target"].tolist()
    assert table.source.startswith("file ")


def test_any_other_name_is_that_of_a_file_in_the_folder(folder):
    table = find("my_own", folder)

    assert (table.name, table.source, table.split) == ("my_own", "file my_own.parquet", Split())


def test_unknown_names_list_the_known_ones(folder):
    with pytest.raises(ValueError, match=r"unknown data set 'covertypo'.* covtype, .*, aloi, my_own$"):
        find("covertypo", folder)
    with pytest.raises(ValueError, match=r"aloi$"):
        find("covertypo")


def test_the_known_names_are_the_papers_and_the_folders(folder):
    assert known(folder) == (*DATA_SETS, "my_own")


def test_a_folder_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(ValueError, match=r"no folder .*nowhere"):
        find("covtype", tmp_path / "nowhere")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_a_users_file_works_with_any_name_for_its_class(tmp_path, frame, ending):
    file = tmp_path / f"my{ending}"
    renamed = frame.rename(columns={"target": "y"})
    _ = renamed.to_parquet(file) if ending == ".parquet" else renamed.to_csv(file, index=False)

    table = find(file, target="y")

    assert (table.name, table.source) == ("my", f"file my{ending}")
    assert list(table.X) == ["x", "kind"]
    assert table.y.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_column_that_is_not_there_is_named_with_those_that_are(folder):
    with pytest.raises(NotToBeHad, match="my_own has no column y for its class; its columns are x, kind, target"):
        find("my_own", folder, target="y")


def test_a_file_with_nothing_beside_its_class_is_not_to_be_had(folder, frame):
    frame[["target"]].to_parquet(folder / "bare.parquet")

    with pytest.raises(NotToBeHad, match="bare has no column beside its class, target"):
        find("bare", folder)


@pytest.mark.parametrize(("written", "name"), [("COVTYPE", "covtype"), ("covertype", "covtype"), ("MY-own", "my_own")])
def test_a_set_has_one_name_however_it_is_written(folder, written, name):
    _, names = sources(folder, None, (written, name))

    assert names == (name,)


def test_a_users_file_is_called_by_its_whole_name(tmp_path, frame):
    frame.to_parquet(tmp_path / "my.v2.parquet")

    find_it, (name,) = sources(tmp_path / "my.v2.parquet", None)

    assert name == find_it(name).name == "my.v2"


def test_names_are_refused_beside_a_file_and_so_are_files_of_other_kinds(tmp_path):
    (tmp_path / "x.arff").touch()

    with pytest.raises(ValueError, match="--datasets chooses from a folder, but --data is the file"):
        sources(tmp_path / "x.csv", None, ("x",))
    with pytest.raises(ValueError, match=r"x.arff can't be read; a file of data ends in .parquet, .csv or .csv.gz"):
        sources(tmp_path / "x.arff", None)


def test_without_a_target_the_usual_names_are_tried(tmp_path, frame):
    frame.rename(columns={"target": "class"}).to_parquet(tmp_path / "a.parquet")
    frame.rename(columns={"target": "label"}).to_parquet(tmp_path / "b.parquet")

    assert find("a", tmp_path).y.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(NotToBeHad, match="no column target or class"):
        find("b", tmp_path)


def test_rows_without_a_class_are_left_out_and_counted(tmp_path, frame):
    frame.assign(target=["a", "b", None, "a", "b", "a"]).to_parquet(tmp_path / "gaps.parquet")

    table = find("gaps", tmp_path)

    assert len(table.X) == len(table.y) == 5
    assert table.source == "file gaps.parquet; 1 rows without a class are left out"


@pytest.mark.parametrize("name", ["nowhere.csv", "damaged.parquet"])
def test_a_file_that_cannot_be_read_is_not_to_be_had(tmp_path, name):
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 or not")

    with pytest.raises(NotToBeHad, match=name):
        find(tmp_path / name)


def test_a_set_that_is_nowhere_tells_where_it_was_looked_for_and_what_to_do(folder):
    with pytest.raises(NotToBeHad) as trouble:
        find("jannis", folder)

    assert str(trouble.value) == (
        f"jannis is not to be had: no jannis.parquet in {folder}; OpenML 41168 can't be fetched (no network). "
        "Put jannis.parquet into a folder and name it: --data."
    )


def test_openml_is_not_asked_where_it_must_not_be(tmp_path):
    with pytest.raises(NotToBeHad, match="no folder of data was named; OpenML 41168 was not asked"):
        find("jannis", cache=tmp_path, online=False)


def test_a_sampled_set_without_its_original_asks_for_it(folder):
    with pytest.raises(NotToBeHad, match=r"no letter.parquet to learn .* on; .*Put letter.parquet into a folder"):
        find("BNG_letter_5000_1", folder)


def test_a_sampled_set_is_generated_from_its_original(folder, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pgmpy's own, on import
        pytest.importorskip("pgmpy")
    X, y = load_wine(as_frame=True, return_X_y=True)
    X.assign(target=y).to_parquet(folder / "wine.parquet")

    table = find("BNG_wine", folder, cache=tmp_path / "cache", rows=1_000, seed=3)

    prepared = prepare(table)
    assert prepared.X_train.shape == (700, DATA_SETS["BNG_wine"].attributes)
    assert len(prepared.classes) == DATA_SETS["BNG_wine"].classes
    assert "learned on wine (178 rows) by pgmpy, 1,000 rows, seed 3" in table.source


def test_a_sampled_set_that_is_in_the_folder_is_taken_from_there(folder, frame):
    frame.to_parquet(folder / "BNG_wine.parquet")

    assert find("BNG_wine", folder).source == "file BNG_wine.parquet"


def test_what_openml_sends_is_used(monkeypatch, frame, tmp_path):
    monkeypatch.setattr(openml, "fetch", lambda number, cache: frame.assign(number=number))

    table = find("volkert", cache=tmp_path)

    assert table.source == "OpenML 41166"
    assert table.X["number"].unique().tolist() == [41166]


def test_columns_that_only_number_the_rows_are_left_out(folder, frame):
    frame.assign(encounter_id=range(6), patient_nbr=range(6)).to_parquet(folder / "diabetes130us.parquet")

    table = find("Diabetes130US", folder)

    assert list(table.X) == ["x", "kind"]
    assert "admission_type_id" in table.nominal


@pytest.mark.parametrize(("which", "asked"), [(554, {"data_id": 554}), ("BNG(satimage)", {"name": "BNG(satimage)"})])
def test_openml_is_asked_by_number_or_name_and_its_class_is_called_target(tmp_path, frame, which, asked):
    def client(**question):
        questions.append(question)
        warnings.warn("Version 1 of this set is inactive", UserWarning, stacklevel=2)
        return SimpleNamespace(data=frame[["x"]], target=frame["target"].rename("class"))

    questions = []

    fetched = fetch(which, tmp_path, client=client)

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
def test_whatever_goes_wrong_with_openml_the_set_is_not_to_be_had(tmp_path, error):
    def client(**question):
        raise error

    with pytest.raises(NotToBeHad, match=f"OpenML 554 can't be fetched \\({type(error).__name__}: "):
        fetch(554, tmp_path, client=client)


def test_a_set_without_a_class_is_not_to_be_had(tmp_path, frame):
    with pytest.raises(NotToBeHad, match="OpenML 554 names no column as its class"):
        fetch(554, tmp_path, client=lambda **question: SimpleNamespace(data=frame, target=None))


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    monkeypatch.setenv("FITWITHIN_CACHE", str(tmp_path))
    assert default_cache() == tmp_path

    monkeypatch.delenv("FITWITHIN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "fitwithin"

    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == Path.home() / ".cache" / "fitwithin"
