"""DiskPool: rows of a data set on disk, by number."""

import gc
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from disk_rows import make_mixed, make_numbers, open_pool, open_troubled, read_all, write_blocks, write_files
from fitwithin._core.exceptions import NoModelInTime, OutOfTime, UserInputError
from fitwithin._pools.spool import ArrayFormat, ArrowFormat


def wait_for_end(pool, seconds=20.0):
    end = time.monotonic() + seconds
    assert pool.supply.wait(lambda: pool.supply.is_over, lambda: end - time.monotonic())


def sort_rows(frame):
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


@pytest.mark.parametrize("make_frame", [make_numbers, make_mixed])
def test_every_row_is_there_once_with_its_label_and_weight(tmp_path, make_frame):
    frame = make_frame(2300)
    pool = open_pool(write_blocks(frame, tmp_path / "rows.parquet"), "w")
    rows = read_all(pool)
    pool.close()

    assert len(pool) == 2300
    found = rows.X.assign(label=rows.y, w=rows.row_params["sample_weight"])
    pd.testing.assert_frame_equal(sort_rows(found)[frame.columns], sort_rows(frame), check_dtype=False)
    assert rows.X.dtypes.astype(str).to_dict() == frame.drop(columns=["label", "w"]).dtypes.astype(str).to_dict()


@pytest.mark.parametrize(("make_frame", "kind"), [(make_numbers, ArrayFormat), (make_mixed, ArrowFormat)])
def test_rows_are_read_by_number_in_any_order(tmp_path, make_frame, kind):
    pool = open_pool(write_blocks(make_frame(2300), tmp_path / "rows.parquet"), "w")
    everything = read_all(pool)
    rows = np.random.default_rng(0).permutation(2300)[:700]
    some = pool.read(rows)
    pool.close()

    assert isinstance(pool.layout, kind)
    pd.testing.assert_frame_equal(some.X, everything.X.iloc[rows].reset_index(drop=True))
    assert some.y.tolist() == everything.y[rows].tolist()


def test_a_lazy_frame_gives_polars_frames(tmp_path):
    write_blocks(make_mixed(900), tmp_path / "rows.parquet")
    pool = open_pool(pl.scan_parquet(tmp_path / "rows.parquet").drop("w"))
    rows = read_all(pool)
    pool.close()

    assert isinstance(rows.X, pl.DataFrame)
    assert rows.X.schema == pl.scan_parquet(tmp_path / "rows.parquet").drop("w", "label").collect_schema()


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    path = write_blocks(make_numbers(2300), tmp_path / "rows.parquet")
    pools = [open_pool(path, seed=seed) for seed in (3, 3, 4)]
    first, same, other = [read_all(pool).X.x0.tolist() for pool in pools]
    for pool in pools:
        pool.close()

    assert first == same
    assert sorted(first) == sorted(other)
    assert first != other


def test_the_first_rows_of_each_cell_are_random_ones_of_its_class_and_block(tmp_path):
    frame = make_numbers(4000).assign(place=np.arange(4000, dtype=np.float32))
    pool = open_pool(write_blocks(frame, tmp_path / "rows.parquet", 1000))
    rows = read_all(pool)
    pool.close()

    for starts, counts in zip(pool.index.cell_starts, pool.index.cell_counts, strict=True):
        for label, start, count in zip(["no", "yes"], starts, counts, strict=True):
            assert set(rows.y[start : start + count]) == {label}
            places = rows.X.place.to_numpy()[start : start + count] % 1000
            # The mean of 100 of 1000 places has a standard error of 29.
            assert abs(places[:100].mean() - 500) < 120


def test_values_of_a_regression_keep_their_type(tmp_path):
    frame = make_numbers(900).drop(columns=["label", "w"])
    pool = open_pool(write_blocks(frame, tmp_path / "rows.parquet"), regression=True, target="x3")
    rows = read_all(pool)
    pool.close()

    assert rows.y.dtype == np.float32
    assert sorted(rows.y.tolist()) == sorted(frame.x3.tolist())
    assert rows.X.columns.tolist() == ["x0", "x1", "x2"]


def test_a_learner_may_write_to_its_rows(tmp_path):
    pool = open_pool(write_blocks(make_numbers(900), tmp_path / "rows.parquet"))
    rows = read_all(pool)
    before = rows.X.copy()
    rows.X.iloc[:, 0] = 0.0
    again = pool.read(np.arange(900))
    pool.close()

    pd.testing.assert_frame_equal(again.X, before)


def test_rows_that_are_not_read_in_time_are_out_of_time(tmp_path):
    folder = write_files(make_numbers(900), tmp_path / "rows", 300)
    pool = open_pool(open_troubled(folder), seconds=0.0 + 1e9)
    pool._budget.reserves.load = pool._budget.until_deadline() - 0.2
    with pytest.raises(OutOfTime, match="still being read"):
        pool.read(np.arange(900))
    pool.close()


def test_labels_that_are_not_read_in_time_leave_no_model(tmp_path):
    path = write_blocks(make_numbers(900), tmp_path / "rows.parquet")
    with pytest.raises(NoModelInTime, match="before the files or the query"):
        open_pool(path, seconds=0.0)


def test_a_file_that_vanishes_is_named_and_the_rows_before_it_stay(tmp_path):
    folder = write_files(make_numbers(3000), tmp_path / "rows", 300)
    pool = open_pool(folder)
    victim = folder / "00001200.parquet"
    victim.unlink()
    pool.start()
    wait_for_end(pool)

    assert victim.name in pool.supply.failure
    assert pool.supply.n_rows_read < 3000
    assert f"{pool.supply.n_rows_read:,} of 3,000 rows" in pool.describe_unread_rows()
    if pool.supply.n_rows_read:
        assert len(pool.read(np.arange(pool.supply.n_rows_read)).y) == pool.supply.n_rows_read
    with pytest.raises(UserInputError, match=victim.name):
        pool.read(np.arange(3000))
    pool.close()


def test_a_file_that_is_cut_short_is_named(tmp_path):
    folder = write_files(make_numbers(3000), tmp_path / "rows", 300)
    pool = open_pool(folder)
    victim = folder / "00000600.parquet"
    os.truncate(victim, victim.stat().st_size // 2)
    pool.start()
    wait_for_end(pool)
    pool.close()

    assert victim.name in pool.supply.failure


def test_a_file_that_is_replaced_by_another_is_noticed(tmp_path):
    folder = write_files(make_numbers(900), tmp_path / "rows", 300)
    pool = open_pool(folder)
    for file in folder.iterdir():
        write_blocks(make_numbers(200), file)
    pool.start()
    wait_for_end(pool)
    pool.close()

    assert pool.supply.failure is not None


@pytest.mark.parametrize("folder", ["missing", "a file"])
def test_a_spool_folder_that_cannot_be_used_is_an_error(tmp_path, folder):
    path = write_blocks(make_numbers(900), tmp_path / "rows.parquet")
    (tmp_path / "a file").touch()
    with pytest.raises(UserInputError, match=rf"The spool folder .*{folder} cannot be used.*Process\(spool="):
        open_pool(path, folder=str(tmp_path / folder))


def test_a_full_spool_folder_ends_the_reading_with_a_sentence(tmp_path):
    path = write_blocks(make_mixed(5000), tmp_path / "rows.parquet")
    pool = open_pool(path, folder=str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        pool.start()
        wait_for_end(pool)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    pool.close()

    assert 0 < pool.supply.n_rows_read < 5000
    assert f"The spool folder {tmp_path} cannot be used: File too large." in pool.supply.failure


@pytest.mark.skipif(sys.platform != "linux", reason="files have names elsewhere")
def test_the_spool_has_no_name(tmp_path):
    path = write_blocks(make_numbers(900), tmp_path / "rows.parquet")
    (tmp_path / "spool").mkdir()
    pool = open_pool(path, folder=str(tmp_path / "spool"))
    read_all(pool)

    assert not list((tmp_path / "spool").iterdir())
    pool.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a list of open files")
def test_nothing_stays_open_or_at_work_after_close(tmp_path):
    path = write_blocks(make_numbers(900), tmp_path / "rows.parquet")
    open_pool(path).close()
    gc.collect()
    n_before = len(os.listdir("/proc/self/fd"))
    pool = open_pool(path)
    read_all(pool)
    thread = pool._reader._thread
    pool.close()
    thread.join(5.0)
    del pool
    gc.collect()

    assert not thread.is_alive()
    assert len(os.listdir("/proc/self/fd")) == n_before


def test_the_rows_stay_on_disk(tmp_path):
    """The anonymous memory of a pool is a few blocks, however many rows there are."""
    code = """
import re, sys
from disk_rows import open_pool, write_blocks, make_numbers
import numpy as np, pandas as pd
from pathlib import Path
path = Path(sys.argv[1])
read = lambda: int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
pool = open_pool(path, folder=str(path.parent))
before = read()
pool.start()
pool.wait_for(np.array([len(pool) - 1]))
print(read() - before)
pool.close()
"""
    frame = make_numbers(400_000, n_columns=40)
    path = write_blocks(frame.drop(columns="w"), tmp_path / "rows.parquet", 20_000)
    del frame
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, env=child_environment())

    assert done.returncode == 0, done.stderr
    # The features alone have 61 MiB, a block 3 MiB.
    assert int(done.stdout) < 30


def child_environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
