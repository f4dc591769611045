"""Learners that go wrong; the learner's process imports this file, so it imports little itself."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.naive_bayes import GaussianNB

_warm = False


class SlowFirstUse(GaussianNB):
    """Takes a second when it is first used in a process, as a learner on a GPU does, and counts that."""

    def __init__(self, file: str = "") -> None:
        super().__init__()
        self.file = file

    def fit(self, X: Any, y: Any) -> Self:
        global _warm
        if not _warm:
            time.sleep(1)
            with open(self.file, "a") as file:
                file.write("x")
            _warm = True
        return super().fit(X, y)


class Mutating(GaussianNB):
    """Overwrites its training rows with zeros, and counts rows of zeros wherever it sees some."""

    def fit(self, X: Any, y: Any) -> Self:
        super().fit(self._look(X), y)
        if hasattr(X, "iloc"):
            X.iloc[:, :] = 0.0
        else:
            X.data[:] = 0.0
        return self

    def predict(self, X: Any) -> Any:
        return super().predict(self._look(X))

    def _look(self, X: Any) -> Any:
        dense = X.toarray() if hasattr(X, "toarray") else np.array(X, dtype=float)
        self.n_zeros_ = getattr(self, "n_zeros_", 0) + int((dense == 0).all(axis=1).sum())
        return dense


class Plain(GaussianNB):
    """Does nothing wrong."""

    def fit(self, X: Any, y: Any) -> Self:
        self.n_rows_ = len(X)
        return super().fit(X, y)


class SlowToLoad(GaussianNB):
    """Takes seconds to be loaded if it was trained on many rows."""

    def __init__(self, seconds: float = 4.0, above: int = 0, fails: bool = False) -> None:
        super().__init__()
        self.seconds = seconds
        self.above = above
        self.fails = fails

    def fit(self, X: Any, y: Any) -> Self:
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("n_rows_", 0) > state["above"]:
            if state["fails"]:
                raise ImportError("No module named 'only_where_it_was_trained'")
            time.sleep(state["seconds"])
        self.__dict__.update(state)


class Endless(GaussianNB):
    """Trains for ever from its second lesson on, after it has written a file; may start a process first."""

    def __init__(self, file: str = "", above: int = 0, starts_process: bool = False) -> None:
        super().__init__()
        self.file = file
        self.above = above
        self.starts_process = starts_process

    def fit(self, X: Any, y: Any) -> Self:
        if len(X) > self.above:
            pid = os.getpid()
            if self.starts_process and (pid := os.fork()) == 0:
                os.setsid()
                time.sleep(600)
            Path(self.file).with_suffix(".new").write_text(f"{os.getpid()} {pid}")
            os.replace(Path(self.file).with_suffix(".new"), self.file)
            time.sleep(600)
        return super().fit(X, y)


class ReadingInput(GaussianNB):
    """Reads standard input."""

    def fit(self, X: Any, y: Any) -> Self:
        self.read_ = sys.stdin.read()
        return super().fit(X, y)


class LookingAround(GaussianNB):
    """Records the global settings that it sees."""

    def fit(self, X: Any, y: Any) -> Self:
        mask = os.umask(0)
        os.umask(mask)
        self.seen_ = {
            "routing": sklearn.get_config()["enable_metadata_routing"],
            "divide": np.geterr()["divide"],
            "recursion": sys.getrecursionlimit(),
            "umask": mask,
            "oom": _read("/proc/self/oom_score_adj"),
        }
        self.has_lightgbm_ = "lightgbm" in sys.modules
        return super().fit(X, y)


class Dying(GaussianNB):
    """Is killed in its second lesson, as by the operating system when memory runs out."""

    def __init__(self, above: int = 0) -> None:
        super().__init__()
        self.above = above

    def fit(self, X: Any, y: Any) -> Self:
        if len(X) > self.above:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
