"""Learners that a benchmark needs: one that costs nothing, one that writes down when it works, two that grow slow.

A learner's process imports this file anew in every round, so it imports little.
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
    """The most frequent class among the first thousand labels: microseconds, and nothing is stored.

    Parameters
    ----------
    reads : bool, default=False
        Whether it looks at every value of X all the same, as a real learner would.
    pause : float, default=0.0
        Seconds to rest at the end of `fit` and `predict`, so that a sampler sees what is in memory.
    """

    def __init__(self, *, reads: bool = False, pause: float = 0.0) -> None:
        self.reads = reads
        self.pause = pause

    def fit(self, X: Any, y: Any) -> Self:
        counts = np.bincount(y[:1000])
        self.classes_ = np.flatnonzero(counts)
        self.majority_ = int(counts.argmax())
        self._look(X)
        return self

    def predict(self, X: Any) -> Any:
        self._look(X)
        return np.full(len(X), self.majority_, dtype=np.int8)

    def _look(self, X: Any) -> None:
        if self.reads:
            X.max()
        if self.pause:
            time.sleep(self.pause)


class LoggingClassifier(ClassifierMixin, BaseEstimator):
    """Another learner, that notes in a file when each fit and predict began and ended.

    What a killed process did is in the file as well: a beginning without an end. `time.monotonic` is
    the same in every process of a Linux system.

    Parameters
    ----------
    estimator : classifier
        The learner.
    file : str
        Lines are appended here.
    """

    def __init__(self, estimator: Any, *, file: str) -> None:
        self.estimator = estimator
        self.file = file

    def fit(self, X: Any, y: Any) -> Self:
        self._note("begin")
        self.model_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.model_.classes_
        self._note("end")
        return self

    def predict(self, X: Any) -> Any:
        self._note("begin")
        labels = self.model_.predict(X)
        self._note("end")
        return labels

    def _note(self, event: str) -> None:
        line = f"{event} {time.monotonic()!r}\n".encode()
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line)
        os.close(file)


def read_working_times(file: str, killed_at: float) -> list[tuple[float, float]]:
    """When a `LoggingClassifier` learner worked; what was not ended was killed."""
    times: list[tuple[float, float]] = []
    for line in Path(file).read_text().splitlines():
        event, moment = line.split()
        if event == "begin":
            times.append((float(moment), killed_at))
        else:
            times[-1] = (times[-1][0], float(moment))
    return [(begin, max(begin, end)) for begin, end in times]


class SlowWhenLarge(ClassifierMixin, BaseEstimator):
    """Naive Bayes on small lessons, so that there is a model; a real learner on larger ones.

    Parameters
    ----------
    slow : classifier
        The real learner.
    above : int
        The largest lesson that naive Bayes takes.
    """

    def __init__(self, slow: Any, *, above: int) -> None:
        self.slow = slow
        self.above = above

    def fit(self, X: Any, y: Any) -> Self:
        self.model_ = (clone(self.slow) if len(X) > self.above else GaussianNB()).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class LargeWhenLate(ClassifierMixin, BaseEstimator):
    """Naive Bayes on small lessons; on larger ones a huge forest that is ready after a given time.

    The forest was trained before, because training it takes longer than the limit: what is measured
    is how it comes back.

    Parameters
    ----------
    file : str
        Where the trained forest lies, dumped by joblib.
    seconds : float
        How long the second fit takes before it reads the forest.
    above : int
        The largest lesson that naive Bayes takes.
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
