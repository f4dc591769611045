"""One fit of the benchmark of data sets on disk, in an interpreter of its own: as a script, it prints its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from _peak_memory import measure_peak_memory, read_memory
from _scale_data import make_mixed_frame, make_test_rows
from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import Process
from fitwithin.teachers import Double

# Seconds between two looks at the memory of all processes.
_SAMPLE_SECONDS = 0.1

# Limit of the learner for a mixed frame, as one would set it with 6 GiB in all.
_MIXED_MEMORY_LIMIT = "5GiB"


@dataclass(frozen=True)
class ScaleFit:
    """Settings of one fit.

    Parameters
    ----------
    folder : str
        Folder with the rows.
    kind : str
        "files", "mapped" or "mixed".
    seconds : float
        Time limit.
    rows : int or None
        Rows of a mapped array to take, from the first on; None for all.
    first : int or None
        Rows of the first subset, which is then doubled; None for the default teacher.
    spool : str or None
        Folder of the spool.
    """

    folder: str
    kind: str
    seconds: float
    rows: int | None = None
    first: int | None = None
    spool: str | None = None

    def measure(self) -> dict[str, Any]:
        """Fit in a fresh interpreter, and return the figures."""
        command = [sys.executable, __file__, json.dumps(asdict(self))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures

    def load(self) -> tuple[Any, Any]:
        """Return the arguments of `fit`."""
        if self.kind != "mapped":
            return self.folder, "label"
        X = np.load(Path(self.folder) / "X.npy", mmap_mode="r")
        y = np.load(Path(self.folder) / "y.npy", mmap_mode="r")
        return X[: self.rows], y[: self.rows]


class _TimedProcess(Process):
    """Process backend that notes when the learner begins its first fit."""

    first_lesson: float | None = None

    def open(self, budget: Budget) -> Any:
        runner = super().open(budget)
        fit = runner.fit

        def timed_fit(*arguments: Any, **options: Any) -> Any:
            asked = budget.elapsed()
            report = fit(*arguments, **options)
            if self.first_lesson is None:
                self.first_lesson = asked + report.handover_seconds
            return report

        runner.fit = timed_fit  # type: ignore[method-assign]  # measures when the first fit begins
        return runner


def make_mixed_learner() -> Any:
    """Return LightGBM for a frame with texts, categories and dates."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=np.float32)
    columns = make_column_transformer(
        (encoder, ["kind", "city"]), (FunctionTransformer(_to_seconds), ["day"]), remainder="passthrough"
    )
    return make_pipeline(columns, LGBMClassifier(verbosity=-1))


def _to_seconds(frame: Any) -> Any:
    return frame.apply(lambda column: column.astype("int64")).to_numpy(np.float32)


def run(settings: ScaleFit) -> dict[str, Any]:
    """Fit in this process, and return the figures."""
    backend = _TimedProcess(spool=settings.spool)
    classifier = TimeConstrainedClassifier(
        make_mixed_learner() if settings.kind == "mixed" else LGBMClassifier(verbosity=-1),
        time_limit=settings.seconds,
        memory_limit=_MIXED_MEMORY_LIMIT if settings.kind == "mixed" else None,
        teacher="auto" if settings.first is None else Double(first=settings.first),
        backend=backend,
        random_state=0,
    )
    X, y = settings.load()
    before = read_memory(os.getpid()).own
    with measure_peak_memory(_SAMPLE_SECONDS) as beyond:
        start = time.monotonic()
        classifier.fit(X, y)
        elapsed = time.monotonic() - start
    features, labels = make_test_rows()
    test = {"files": features, "mapped": features.to_numpy()}.get(settings.kind)
    if test is None:
        test = make_mixed_frame(features.to_numpy())
    return {
        "rows": classifier.n_rows_in_,
        "elapsed": elapsed,
        "first_lesson": backend.first_lesson,
        "memory": before + beyond.own,
        "rows_taught": classifier.n_rows_trained_,
        "stop_reason": classifier.stop_reason_,
        "estimate": classifier.score_estimate_,
        "accuracy": float(np.mean(classifier.best_estimator_.predict(test) == labels)),
        "history": [asdict(finished) for finished in classifier.history_],
    }


if __name__ == "__main__":
    print(json.dumps(run(ScaleFit(**json.loads(sys.argv[1])))))
