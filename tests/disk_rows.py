"""Files of rows for tests, and a file system that is slow or loses files."""

import os
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

from fitwithin._core.budget import Budget
from fitwithin._pools.block_pool import DiskPool


def make_numbers(n_rows, seed=0, n_columns=4):
    """Rows of numbers with a column "label" that a tree learns, and "w" with weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(n_columns)])
    return frame.assign(label=np.where(frame.x0 + frame.x1 > 0, "yes", "no"), w=rng.random(n_rows) + 0.5)


def make_mixed(n_rows, seed=0):
    """Rows with columns of every kind."""
    frame = make_numbers(n_rows, seed)
    rng = np.random.default_rng(seed + 1)
    frame["city"] = pd.Categorical(rng.choice(["Oslo", "Lima", "Rome"], n_rows))
    frame["text"] = [f"text {number}" for number in range(n_rows)]
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), "D")
    frame["count"] = pd.Series(rng.integers(0, 9, n_rows)).astype("float64").where(rng.random(n_rows) < 0.9)
    frame["on"] = rng.random(n_rows) < 0.5
    return frame


def write_blocks(frame, path, block_rows=500):
    """Write a frame to a parquet file in blocks, and return its path."""
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=block_rows)
    return path


def write_files(frame, folder, block_rows=500):
    """Write a frame to a folder of files with one block each, and return the folder."""
    folder.mkdir()
    for start in range(0, len(frame), block_rows):
        write_blocks(frame.iloc[start : start + block_rows], folder / f"{start:08}.parquet", block_rows)
    return folder


def open_pool(X, weight=None, *, regression=False, seed=0, seconds=60.0, folder=None, target="label"):
    """Open a pool that is not yet read."""
    given, budget = {"X": X, "y": target, "sample_weight": weight}, Budget(seconds)
    return DiskPool.open(given, regression=regression, seed=seed, budget=budget, folder=folder)


def read_all(pool):
    """Wait until a pool is read, and return all of its rows."""
    pool.start()
    return pool.read(np.arange(len(pool)))


class TroubledFiles(LocalFileSystem):
    """Files on this machine that are opened slowly, or are gone after so many openings of any."""

    cachable = False

    def __init__(self, seconds=0.0, n_good=10**9):
        super().__init__()
        self.seconds = seconds
        self.n_good = n_good

    def _open(self, path, mode="rb", **options):
        self.n_good -= 1
        if self.n_good < 0:
            raise FileNotFoundError(2, os.strerror(2), path)
        time.sleep(self.seconds)
        return super()._open(path, mode=mode, **options)


def open_troubled(folder, **trouble):
    """Return the data set of a folder on a file system with troubles."""
    return ds.dataset(str(folder), filesystem=PyFileSystem(FSSpecHandler(TroubledFiles(**trouble))))
