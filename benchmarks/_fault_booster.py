"""A booster that goes wrong on many rows; other environments import this file, so it needs LightGBM and NumPy only."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from lightgbm import LGBMClassifier
from lightgbm.callback import EarlyStopException
from sklearn.base import BaseEstimator, ClassifierMixin

JOBS = ("hangs", "one slow step", "crashes", "takes memory", "three times too large")
"""What goes wrong, job by job; the last is a sound fit that takes three times as long as the limit."""

# The tree at which it goes wrong.
_TREE = 10

# Bytes that a learner which takes memory adds with each tree, and bytes at which it takes no more.
_BYTES_A_TREE = 500_000_000
_MAX_BYTES = 8_000_000_000

# Seconds that a hanging learner waits: longer than any hard stop.
_HANG_SECONDS = 3600.0


class FaultyBooster(ClassifierMixin, BaseEstimator):
    """LightGBM that fits few rows as ever, and goes wrong at a tree on more.

    Parameters
    ----------
    fault : str
        One of `JOBS`.
    above : int, default=0
        Largest number of rows on which nothing goes wrong.
    seconds : float, default=0.0
        Seconds of the slow step.
    n_estimators : int, default=100
        Trees.
    """

    def __init__(self, fault: str, *, above: int = 0, seconds: float = 0.0, n_estimators: int = 100) -> None:
        self.fault = fault
        self.above = above
        self.seconds = seconds
        self.n_estimators = n_estimators

    def fit(self, X: Any, y: Any, callbacks: Any = None) -> Self:
        """Fit, or go wrong; callbacks are LightGBM's."""
        self._ballast: list[Any] = []
        own = [self._misbehave] if len(X) > self.above else []
        model = LGBMClassifier(n_estimators=self.n_estimators, n_jobs=1, verbosity=-1)
        self.model_ = model.fit(np.asarray(X), y, callbacks=[*own, *(callbacks or [])])
        self.classes_ = self.model_.classes_
        self._ballast = []
        return self

    def predict(self, X: Any) -> Any:
        """Predict with the trees."""
        return self.model_.predict(np.asarray(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the trees."""
        return self.model_.predict_proba(np.asarray(X))

    def _misbehave(self, env: Any) -> None:
        if self.fault == "takes memory" and env.iteration >= _TREE:
            if _BYTES_A_TREE * len(self._ballast) < _MAX_BYTES:
                self._ballast.append(np.ones(_BYTES_A_TREE, dtype=np.uint8))
        elif env.iteration == _TREE:
            if self.fault == "hangs":
                time.sleep(_HANG_SECONDS)
            elif self.fault == "one slow step":
                time.sleep(self.seconds)
            elif self.fault == "crashes":
                ctypes.string_at(0)


def make_time_callback(deadline: float) -> Callable[[Any], None]:
    """Return a callback of LightGBM that ends the fit after the first tree past a moment of `time.perf_counter`."""

    def stop(env: Any) -> None:
        if time.perf_counter() >= deadline:
            raise EarlyStopException(env.iteration, [])

    return stop
