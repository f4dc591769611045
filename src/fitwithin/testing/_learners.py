"""Learners that misbehave on purpose: in every known way to miss a deadline, or by the memory that they take."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from fitwithin._core.target import Array

_HANG_SECONDS = 3600.0
"""Seconds that a hanging learner takes: longer than any test."""


def _hang(model: AwkwardClassifier) -> None:
    time.sleep(_HANG_SECONDS)


def _hang_in_c(model: AwkwardClassifier) -> None:
    random = np.random.default_rng(0)
    SVC(C=1e3).fit(random.random((100_000, 20)), random.integers(2, size=100_000))


def _ignore_signals(model: AwkwardClassifier) -> None:
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, signal.SIG_IGN)
    _hang(model)


def _spin() -> None:
    while True:
        pass


def _hang_in_threads(model: AwkwardClassifier) -> None:
    for _ in range(2):
        threading.Thread(target=_spin).start()
    _hang(model)


def _hang_in_loky(model: AwkwardClassifier) -> None:
    rows = np.ones(1_000_000)
    joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(_sum_slowly)(rows) for _ in range(4))


def _sum_slowly(rows: Array) -> float:
    time.sleep(_HANG_SECONDS)
    return float(rows.sum())


def _raise(model: AwkwardClassifier) -> None:
    raise ArithmeticError(f"no more than {model.above} rows, please")


def _kill_itself(model: AwkwardClassifier) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    _hang(model)


def _grow_large(model: AwkwardClassifier) -> None:
    # Many small objects take seconds to pickle and to load.
    model.ballast_ = [str(number) for number in range(8_000_000)]


def _start_own_session(model: AwkwardClassifier) -> None:
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({_HANG_SECONDS})"], start_new_session=True)
    _hang(model)


FAULTS: Mapping[str, Callable[[AwkwardClassifier], object]] = {
    "hangs in Python": _hang,
    "hangs in C": _hang_in_c,
    "ignores signals": _ignore_signals,
    "hangs in threads": _hang_in_threads,
    "hangs in loky workers": _hang_in_loky,
    "raises": _raise,
    "segfaults": lambda model: ctypes.string_at(0),
    "exits": lambda model: os._exit(3),
    "is killed": _kill_itself,
    "returns a large model": _grow_large,
    "cannot be pickled": lambda model: setattr(model, "lock_", threading.Lock()),
    "hangs in predict": lambda model: None,
    "starts a session": _start_own_session,
}
"""Values of `AwkwardClassifier.fault`, and the function that each calls."""


class HungryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Naive Bayes that takes a lot of memory while it fits, in proportion to its rows.

    Parameters
    ----------
    bytes_per_byte : float, default=50
        Bytes that it takes for each byte of its rows.

    Examples
    --------
    >>> from fitwithin.testing import HungryClassifier
    >>> HungryClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])
    array([0])
    """

    def __init__(self, bytes_per_byte: float = 50) -> None:
        self.bytes_per_byte = bytes_per_byte

    def fit(self, X: Any, y: Any) -> Self:
        """Take memory, fit, and give it back."""
        # Ones, not zeros: the system gives out memory when it is written to.
        ballast = np.ones(int(self.bytes_per_byte * np.asarray(X).nbytes), dtype=np.uint8)
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        del ballast
        return self

    def predict(self, X: Any) -> Array:
        """Predict."""
        labels: Array = self.model_.predict(X)
        return labels


class AwkwardClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Naive Bayes that works on few training rows and misbehaves on more, to test the deadline.

    Parameters
    ----------
    fault : str
        How it misbehaves: a key of `FAULTS`.
    above : int, default=0
        Largest number of training rows that it works on.

    Examples
    --------
    >>> from fitwithin.testing import AwkwardClassifier
    >>> AwkwardClassifier("raises", above=2).fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])
    array([0])
    >>> AwkwardClassifier("raises").fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
    ArithmeticError: no more than 0 rows, please
    """

    def __init__(self, fault: str, *, above: int = 0) -> None:
        self.fault = fault
        self.above = above

    def fit(self, X: Any, y: Any) -> Self:
        """Fit, or misbehave."""
        self.model_ = GaussianNB().fit(X, y)
        return self._finish_fit(len(X))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue training, or misbehave if there were too many rows in all."""
        self.model_ = getattr(self, "model_", GaussianNB()).partial_fit(X, y, classes)
        return self._finish_fit(int(self.model_.class_count_.sum()))

    def _finish_fit(self, n_rows_trained: int) -> Self:
        self.classes_ = self.model_.classes_
        self.has_fault_ = n_rows_trained > self.above
        if self.has_fault_:
            FAULTS[self.fault](self)
        return self

    def predict(self, X: Any) -> Array:
        """Predict, or hang."""
        if self.has_fault_ and self.fault == "hangs in predict":
            _hang(self)
        labels: Array = self.model_.predict(X)
        return labels
