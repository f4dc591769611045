"""Process in which FLAML runs; needs flaml, numpy, scipy and the learner's package, but not this project."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def main(estimator: str, limit: float, seed: int, folder: str, **settings: Any) -> None:
    """Fit under a limit, score the model on the test rows, and print the result as JSON."""
    from flaml import AutoML

    warnings.simplefilter("ignore")
    X, y = load_rows(Path(folder), "train")
    automl = AutoML()
    settings |= {"task": "classification", "metric": "accuracy", "estimator_list": [estimator], "n_jobs": 1}
    before = read_bytes("VmRSS")
    start = time.perf_counter()
    automl.fit(X, y, time_budget=limit, seed=seed, verbose=0, **settings)
    seconds = time.perf_counter() - start
    memory = None if before is None else read_bytes("VmHWM") - before
    tried = sum(automl._iter_per_learner.values())
    found = {"seconds": seconds, "memory": memory, "settings": tried}
    print(json.dumps({**found, **_score_model(automl, *load_rows(Path(folder), "test"))}))


def read_bytes(name: str) -> Any:
    """Return a size of this process: VmRSS, its memory now, or VmHWM, its peak; None outside of Linux."""
    # The peak of `resource.getrusage` includes that of the process which started this one.
    file = Path("/proc/self/status")
    sizes = (
        [line.split()[1] for line in file.read_text().splitlines() if line.startswith(name)] if file.exists() else []
    )
    return 1024 * int(sizes[0]) if sizes else None


def _score_model(automl: Any, X: Any, y: Any) -> dict[str, Any]:
    if automl.model is None:
        return {"error": "no model"}
    return {"accuracy": float(np.mean(automl.predict(X) == y)), "stop": "time"}


def load_rows(folder: Path, part: str) -> tuple[Any, Any]:
    """Return features and labels that were written for a tool."""
    y = np.load(folder / f"y_{part}.npy")
    dense = folder / f"X_{part}.npy"
    return (np.load(dense) if dense.exists() else sparse.load_npz(folder / f"X_{part}.npz")), y


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
