"""Shuffled copies of data sets."""

import datetime
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.opening import open_source
from fitwithin._pools.sources.paths import MARKER_NAME, STATE_NAME
from fitwithin._tabular import shuffle
from fitwithin._tabular.shuffle import shuffle_data_set


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(shuffle, "_PART_BYTES", 15_000)


def make_table(n_rows):
    numbers = np.arange(n_rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "count": pa.array([None if number % 97 == 0 else int(number) for number in numbers], pa.int64()),
            "on": pa.array([None if number % 89 == 0 else bool(number % 2) for number in numbers]),
            "city": pa.array([f"city {number // 500}" for number in numbers]).dictionary_encode(),
            "text": pa.array([None if number % 5 == 0 else "x" * (number % 5) for number in numbers]),
            "day": pa.array([datetime.date(2026, 1, 1 + number % 28) for number in numbers.tolist()]),
            "when": pa.array(numbers * 10**6, pa.timestamp("us", tz="UTC")),
            "list": pa.array([[number] * (number % 3) for number in numbers.tolist()]),
            "label": pa.array(numbers % 3, pa.int8()),
        }
    )


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(make_table(4000), path, row_group_size=300)
    return path


def read_folder(folder):
    names = json.loads((folder / MARKER_NAME).read_text())["files"]
    parts = [pa.ipc.open_file(pa.OSFile(str(folder / name))).read_all() for name in names]
    return pa.concat_tables(parts).unify_dictionaries()


def test_the_copy_is_a_permutation_and_every_type_survives(source, tmp_path, small_parts):
    result = shuffle_data_set(source, tmp_path / "pool", seed=0)

    found = read_folder(tmp_path / "pool")
    stored = pq.read_table(source)
    assert result.n_rows == 4000
    assert len(result.files) > 3
    assert found.schema.equals(stored.schema)
    assert found["id"].to_pylist() != stored["id"].to_pylist()
    assert found.sort_by("id").to_pylist() == stored.to_pylist()
    others = {entry.name for entry in (tmp_path / "pool").iterdir() if not entry.name.startswith("part-")}
    assert others == {MARKER_NAME}


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_rows_are_permuted(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shuffle")
    n_rows = data.draw(st.integers(1, 300))
    stored = pa.table(
        {
            "id": pa.array(range(n_rows)),
            "text": pa.array(data.draw(st.lists(st.none() | st.text(max_size=3), min_size=n_rows, max_size=n_rows))),
        }
    )
    pq.write_table(stored, folder / "rows.parquet", row_group_size=data.draw(st.integers(1, 100)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffle, "_PART_BYTES", data.draw(st.integers(100, 5000)))
        shuffle_data_set(folder / "rows.parquet", folder / "pool", seed=data.draw(st.integers(0, 100)))
    assert read_folder(folder / "pool").sort_by("id").equals(stored)


def test_every_place_is_equally_likely(tmp_path, small_parts):
    pq.write_table(pa.table({"id": range(20), "x": range(20)}), tmp_path / "rows.parquet", row_group_size=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffle, "_PART_BYTES", 100)
        patch.setattr(os, "fsync", lambda _: None)  # 300 shuffles, and none is kept
        places = []
        for seed in range(300):
            shuffle_data_set(tmp_path / "rows.parquet", tmp_path / "pool", seed=seed, force=True)
            places.append(read_folder(tmp_path / "pool")["id"].to_pylist().index(0))
    counts = np.bincount(places, minlength=20)
    # 15 expected; by chance alone the sum of squares is beyond this once in 10,000 times.
    assert ((counts - 15) ** 2 / 15).sum() < 51


def test_the_same_seed_gives_the_same_order(source, tmp_path, small_parts):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        shuffle_data_set(source, tmp_path / name, seed=seed)
    orders = [read_folder(tmp_path / name)["id"].to_pylist() for name in "abc"]
    assert orders[0] == orders[1] != orders[2]


def test_the_copy_is_known_to_be_shuffled_and_has_the_types_of_the_source(source, tmp_path, small_parts):
    shuffle_data_set(source, tmp_path / "pool", seed=0)
    plain, shuffled = open_source(source, "label"), open_source(tmp_path / "pool", "label")
    assert not plain.is_shuffled
    assert shuffled.is_shuffled
    assert shuffled.schema.equals(plain.schema)
    frames = [one.to_frame(one.read_block(0)) for one in (plain, shuffled)]
    assert frames[0].dtypes.astype(str).tolist() == frames[1].dtypes.astype(str).tolist()
    assert set(frames[0]["city"].cat.categories) == set(frames[1]["city"].cat.categories)


def test_types_of_pandas_survive(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "label": [0, 1, 0]}, index=[5, 6, 7])
    frame.to_parquet(tmp_path / "rows.parquet")
    shuffle_data_set(tmp_path / "rows.parquet", tmp_path / "pool")
    source = open_source(tmp_path / "pool", "label")
    assert source.schema.names == ["a"]
    assert str(source.to_frame(source.read_block(0))["a"].dtype) == "Int64"


def test_the_copy_is_compressed(tmp_path):
    pq.write_table(pa.table({"x": np.zeros(50_000)}), tmp_path / "rows.parquet")
    shuffle_data_set(tmp_path / "rows.parquet", tmp_path / "pool")

    assert (tmp_path / "pool" / "part-00000.arrow").stat().st_size < 50_000


@pytest.mark.parametrize("share", [0.1, 0.4, 0.49, 0.6, 0.9])
def test_a_shuffle_that_was_stopped_is_resumed(source, tmp_path, small_parts, share):
    class Stop(Exception):
        pass

    def stop(done, total):
        if done >= share * total:
            raise Stop

    shuffle_data_set(source, tmp_path / "expected", seed=3)
    with pytest.raises(Stop):
        shuffle_data_set(source, tmp_path / "pool", seed=3, on_progress=stop)
    assert (tmp_path / "pool" / STATE_NAME).exists()
    with pytest.raises(UserInputError, match="unfinished shuffled copy"):
        open_source(tmp_path / "pool", "label")
    steps = []

    shuffle_data_set(source, tmp_path / "pool", on_progress=lambda done, total: steps.append(done / total))

    assert min(steps, default=1.0) >= share
    assert read_folder(tmp_path / "pool").equals(read_folder(tmp_path / "expected"))


KILLED = """
import sys
from pathlib import Path
from fitwithin._tabular import shuffle
from fitwithin._tabular.shuffle import shuffle_data_set
shuffle._PART_BYTES = 600_000
shuffle_data_set(sys.argv[1], Path(sys.argv[2]), seed=5)
"""


def test_a_shuffle_that_was_killed_is_resumed(tmp_path):
    source, pool = tmp_path / "rows.parquet", tmp_path / "pool"
    n_rows = 400_000
    stored = pa.table({"id": range(n_rows), "x": np.random.default_rng(0).random(n_rows), "label": [0, 1] * 200_000})
    pq.write_table(stored, source, row_group_size=2_000)
    n_killed = 0
    for blocks in (30, 170):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(source), str(pool)])
        while process.poll() is None and len(list(pool.glob("_block-*"))) < blocks:
            time.sleep(0.002)  # Another process is at work, and sends no event.
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            n_killed += 1
        process.wait()
    subprocess.run([sys.executable, "-c", KILLED, str(source), str(pool)], check=True)
    assert n_killed > 0
    found = read_folder(pool)
    assert not list(pool.glob(".*"))
    assert found.sort_by("id").equals(stored)


class TestErrors:
    def test_a_copy_that_is_there_is_replaced_by_force_only(self, source, tmp_path):
        shuffle_data_set(source, tmp_path / "pool", seed=0)
        with pytest.raises(UserInputError, match="holds a shuffled copy already"):
            shuffle_data_set(source, tmp_path / "pool")
        before = read_folder(tmp_path / "pool")
        shuffle_data_set(source, tmp_path / "pool", seed=1, force=True)
        assert not read_folder(tmp_path / "pool").equals(before)

    def test_a_folder_with_other_files_is_left_alone(self, source, tmp_path):
        (tmp_path / "pool").mkdir()
        (tmp_path / "pool" / "part-00000.arrow").write_text("mine")
        for force in (False, True):
            with pytest.raises(UserInputError, match="is not empty"):
                shuffle_data_set(source, tmp_path / "pool", force=force)
        assert (tmp_path / "pool" / "part-00000.arrow").read_text() == "mine"

    def test_a_source_that_changed_does_not_go_on(self, source, tmp_path, small_parts):
        def stop(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            shuffle_data_set(source, tmp_path / "pool", on_progress=stop)
        pq.write_table(make_table(3000), source, row_group_size=300)
        with pytest.raises(UserInputError, match="unfinished shuffle of other rows"):
            shuffle_data_set(source, tmp_path / "pool")
        assert shuffle_data_set(source, tmp_path / "pool", force=True).n_rows == 3000

    def test_the_folder_must_be_outside_of_the_source(self, source, tmp_path):
        with pytest.raises(UserInputError, match="part of the source"):
            shuffle_data_set(tmp_path, tmp_path / "pool")

    def test_a_folder_that_cannot_be_written_to_is_named(self, source, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(UserInputError, match="file/pool can't be written to"):
            shuffle_data_set(source, tmp_path / "file" / "pool")

    def test_a_copy_that_lost_a_file_is_not_used(self, source, tmp_path):
        shuffle_data_set(source, tmp_path / "pool")
        (tmp_path / "pool" / "part-00000.arrow").unlink()
        with pytest.raises(UserInputError, match=r"has lost its file part-00000.arrow"):
            open_source(tmp_path / "pool", "label")
