"""Learners, pools and runners for the tests that every backend must pass."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import Backend, FitSettings, Runner, SavedModel

LONG_SECONDS = 60.0
"""A time limit that no test reaches, a cold start on a busy machine included."""

GATHER_LIMIT_BYTES = 20_000_000
"""Bytes that a backend may gather at a time: our own gather 16 MiB."""

FEW_ROWS = np.arange(10)
MANY_ROWS = np.arange(30)
OTHER_ROWS = np.arange(50, 61)
"""Rows that are neither among `FEW_ROWS` nor among `MANY_ROWS`."""

FAULT_ABOVE = 20
"""Training rows above which an awkward learner of the tests misbehaves: between `FEW_ROWS` and `MANY_ROWS`."""

raises = unittest.TestCase().assertRaises
"""Context manager that expects an exception; the tests must run without pytest."""


class RecordingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Record the training rows, overwrite the input, and predict the first class of a few rows at a time.

    Parameters
    ----------
    warning : str, default=""
        Text of a warning to issue in `fit`.
    row_seconds : float, default=0.0
        Seconds that the prediction of a row takes.
    meeting : str, default=""
        An empty folder, in which each fit leaves another one, and waits until there are two.
    """

    def __init__(self, warning: str = "", *, row_seconds: float = 0.0, meeting: str = "") -> None:
        self.warning = warning
        self.row_seconds = row_seconds
        self.meeting = meeting

    def fit(self, X: Array, y: Array) -> Self:
        """Record the rows, and overwrite X."""
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        self.X_, self.y_ = X.copy(), y.copy()
        self.classes_ = np.unique(y)
        X[:] = 0
        if self.warning:
            warnings.warn(self.warning, UserWarning, stacklevel=2)
        if self.meeting:
            tempfile.mkdtemp(dir=self.meeting)
            end = time.monotonic() + LONG_SECONDS / 2
            while len(os.listdir(self.meeting)) < 2:
                assert time.monotonic() < end, "no other learner is at work"
                time.sleep(0.01)
        return self

    def partial_fit(self, X: Array, y: Array, classes: Array | None = None) -> Self:
        """Record one more batch and its `classes`, and overwrite X."""
        self.batches_ = [*getattr(self, "batches_", []), (X.copy(), y.copy(), classes)]
        self.classes_ = self.batches_[0][2]
        X[:] = 0
        return self

    def predict(self, X: Array) -> Array:
        """Return the first class for every row; raise for more rows than a backend may gather at a time."""
        if X.nbytes > GATHER_LIMIT_BYTES:
            raise MemoryError(f"{X.nbytes} bytes at a time")
        time.sleep(self.row_seconds * len(X))
        return np.repeat(self.classes_[:1], len(X))


def make_pool(n_rows: int = 200, *, dtype: Any = np.float32, order: Any = "C") -> TablePool:
    """Return a pool whose features follow from the row number, with three classes of text labels."""
    X = np.array(np.arange(n_rows * 3).reshape(n_rows, 3) % 120, dtype=dtype, order=order)
    return TablePool(X, Labels.encode(np.array(["a", "b", "c"])[np.arange(n_rows) % 3]))


def open_runner(
    backend: Backend, learner: Any, pool: TablePool, seconds: float = LONG_SECONDS, **settings: Any
) -> Runner:
    """Return a runner that is prepared for a learner and a pool, to be entered; with further `FitSettings`."""
    runner = backend.open(Budget(seconds, clock=backend.clock))
    try:
        classes = getattr(pool.y, "classes", None)
        runner.prepare(learner, pool, FitSettings(seed=0, classes=classes, **settings))
    except BaseException:
        runner.__exit__()
        raise
    return runner


def check_fit(runner: Runner, pool: TablePool, rows: Rows) -> None:
    """Fit a `RecordingClassifier` on rows, and check that the model was trained on exactly these, once."""
    runner.fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = save_and_load(runner)
    np.testing.assert_array_equal(model.X_, pool.read(rows).X)
    np.testing.assert_array_equal(model.y_, pool.read(rows).y)
    assert model.X_.dtype == pool.X.dtype
    assert model.n_fits_ == 1


def save_and_load(runner: Runner) -> Any:
    """Return the newest model of a runner."""
    return load_once(runner.save())


def load_once(saved: SavedModel) -> Any:
    """Load a saved model, and discard it."""
    model = saved.load()
    saved.discard()
    return model


def fitted_numbers(model: Any) -> dict[str, Any]:
    """Return the numbers and arrays among a model's attributes, to compare two models."""
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float | int)}
