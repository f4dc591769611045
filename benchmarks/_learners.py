"""Learners for benchmarks: one without cost, one that logs its working times, three that become slow or large.

The learner's process imports this file, so it imports little itself.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.naive_bayes import GaussianNB


class MajorityClassifier(ClassifierMixin, BaseEstimator):
    """Predict the most frequent class among the first thousand labels: takes microseconds, stores nothing.

    Parameters
    ----------
    reads : bool, default=False
        Whether to read every value of X, as a real learner would.
    pause : float, default=0.0
        Seconds to sleep at the end of `fit` and `predict`, so that a sampler sees the memory in use.
    """

    def __init__(self, *, reads: bool = False, pause: float = 0.0) -> None:
        self.reads = reads
        self.pause = pause

    def fit(self, X: Any, y: Any) -> Self:
        counts = np.bincount(y[:1000])
        self.classes_ = np.flatnonzero(counts)
        self.majority_ = int(counts.argmax())
        self._touch(X)
        return self

    def predict(self, X: Any) -> Any:
        self._touch(X)
        return np.full(len(X), self.majority_, dtype=np.int8)

    def _touch(self, X: Any) -> None:
        if self.reads:
            X.max()
        if self.pause:
            time.sleep(self.pause)


class LoggingClassifier(ClassifierMixin, BaseEstimator):
    """Wrap a learner, and log when each fit and predict begins and ends.

    A killed process leaves a beginning without an end. `time.monotonic` is the same in every process of a
    Linux system.

    Parameters
    ----------
    estimator : classifier
        The learner.
    file : str
        Log file; lines are appended.
    """

    def __init__(self, estimator: Any, *, file: str) -> None:
        self.estimator = estimator
        self.file = file

    def fit(self, X: Any, y: Any) -> Self:
        self._log("begin")
        self.model_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.model_.classes_
        self._log("end")
        return self

    def predict(self, X: Any) -> Any:
        self._log("begin")
        labels = self.model_.predict(X)
        self._log("end")
        return labels

    def _log(self, event: str) -> None:
        line = f"{event} {time.monotonic()!r}\n".encode()
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line)
        os.close(file)


def read_working_times(file: str, killed_at: float) -> list[tuple[float, float]]:
    """Return the working times of a `LoggingClassifier`; an interval without an end lasts until the kill."""
    times: list[tuple[float, float]] = []
    for line in Path(file).read_text().splitlines():
        event, moment = line.split()
        if event == "begin":
            times.append((float(moment), killed_at))
        else:
            times[-1] = (times[-1][0], float(moment))
    return [(begin, max(begin, end)) for begin, end in times]


class SlowWhenLarge(ClassifierMixin, BaseEstimator):
    """Naive Bayes on small subsets, so that there is a model; a real learner on larger ones.

    Parameters
    ----------
    slow : classifier
        The real learner.
    above : int
        Largest number of rows for naive Bayes.
    quick : classifier, default=None
        Used instead of naive Bayes.
    """

    def __init__(self, slow: Any, *, above: int, quick: Any = None) -> None:
        self.slow = slow
        self.above = above
        self.quick = quick

    def fit(self, X: Any, y: Any) -> Self:
        quick = GaussianNB() if self.quick is None else self.quick
        self.model_ = clone(self.slow if len(X) > self.above else quick).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class MemoryHog(ClassifierMixin, BaseEstimator):
    """Naive Bayes on small subsets; on larger ones it fills memory, and holds it until it is killed.

    Parameters
    ----------
    n_bytes : int
        Bytes to fill.
    above : int
        Largest number of rows for naive Bayes.
    """

    def __init__(self, n_bytes: int, *, above: int) -> None:
        self.n_bytes = n_bytes
        self.above = above

    def fit(self, X: Any, y: Any) -> Self:
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        if len(X) > self.above:
            self.ballast_ = np.ones(self.n_bytes, dtype=np.uint8)
            time.sleep(3600)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class LargeWhenLate(ClassifierMixin, BaseEstimator):
    """Naive Bayes on small subsets; on larger ones a huge forest that is ready after a given time.

    The forest was fitted before, because fitting it takes longer than the limit. The benchmark measures
    how it is loaded.

    Parameters
    ----------
    file : str
        File with the fitted forest, written by joblib.
    seconds : float
        Duration of the second fit before it reads the forest.
    above : int
        Largest number of rows for naive Bayes.
    """

    def __init__(self, file: str, *, seconds: float, above: int) -> None:
        self.file = file
        self.seconds = seconds
        self.above = above

    def fit(self, X: Any, y: Any) -> Self:
        if len(X) > self.above:
            time.sleep(self.seconds)
            self.model_ = joblib.load(self.file, mmap_mode="r")
        else:
            self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)
