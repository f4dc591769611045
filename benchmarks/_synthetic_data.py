"""Synthetic classification data of any size, with label noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

Features = npt.NDArray[np.float32]
Target = npt.NDArray[np.int64]

# TrainTestRows generated at a time, to limit memory.
_CHUNK_ROWS = 100_000


def make_pool(rows: int, columns: int, *, seed: int = 0, file: Path | None = None) -> tuple[Features, Target]:
    """Return random features, and a class that depends on five of them, with noise.

    Parameters
    ----------
    rows, columns : int
        Shape of the pool. It is generated in chunks, so that only the pool itself takes memory.
    seed : int, default=0
        Seed of the random numbers.
    file : Path, optional
        Write the features there and return them as a read-only memory map.
    """
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns), np.float32) if file is None else _create_memmap(file, rows, columns)
    y = np.empty(rows, np.int64)
    for start in range(0, rows, _CHUNK_ROWS):
        piece = rng.standard_normal((min(_CHUNK_ROWS, rows - start), columns), np.float32)
        noise = rng.standard_normal(len(piece), np.float32)
        X[start : start + len(piece)] = piece
        y[start : start + len(piece)] = piece[:, :5].sum(axis=1) + piece[:, 0] * piece[:, 1] + noise > 0
    if file is None:
        return X, y
    X.flush()  # type: ignore[attr-defined]  # a memmap
    return np.load(file, mmap_mode="r"), y


def _create_memmap(file: Path, rows: int, columns: int) -> Features:
    return np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(rows, columns))
