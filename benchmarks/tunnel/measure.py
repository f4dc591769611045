"""Fit a learner once, and measure all that a replay needs."""

from __future__ import annotations

import base64
import copy
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin.backends._early_stopping.registry import find_early_stopping, knows_steps
from fitwithin.backends._early_stopping.stop_signal import StopSignal

_FRACTIONS = (0.1, 0.25, 0.5, 0.75, 0.9)
_TENTHS = np.arange(1, 11) / 10

# Rows of the shorter of two predictions, whose difference tells the seconds of a row.
_FEW_ROWS = 200


class RecordingSignal(StopSignal):
    """A stop signal that never stops a fit, and records when each step ended."""

    def __init__(self) -> None:
        super().__init__(float("inf"))
        self.ends: list[tuple[int, float]] = []
        self.most_steps: int | None = None

    def count_steps(self, n_steps: int) -> None:
        """Record the step."""
        super().count_steps(n_steps)
        self.ends.append((n_steps, self.elapsed_seconds))

    def ends_after(self, n_steps: int, max_steps: int, step_seconds: float, is_late: bool) -> bool:
        """Record the planned steps."""
        self.most_steps = max_steps or None
        return super().ends_after(n_steps, max_steps, step_seconds, False)


@dataclass(frozen=True)
class Rows:
    """Features and classes of some rows."""

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.intp]


@dataclass(frozen=True)
class FittedModel:
    """A model of the codes of those classes that its lesson holds."""

    learner: Any
    classes: npt.NDArray[np.intp]

    def predict(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.intp]:
        """Return the classes."""
        return self._decode(self.learner.predict(X))

    def _decode(self, codes: Any) -> npt.NDArray[np.intp]:
        decoded: npt.NDArray[np.intp] = self.classes[np.asarray(codes).ravel().astype(np.intp)]
        return decoded

    def score_stages(self, rows: Rows, n_steps: int) -> dict[str, float]:
        """Return the score after each of some fractions of the steps; empty if the model cannot tell."""
        learner, X = self.learner, rows.X
        if hasattr(learner, "steps"):
            learner, X = learner[-1], learner[:-1].transform(X)
        predict = _find_staged_prediction(learner, X)
        if predict is None:
            return {}
        return {
            str(fraction): float(np.mean(self._decode(predict(max(1, round(fraction * n_steps)))) == rows.y))
            for fraction in _FRACTIONS
        }


def _find_staged_prediction(model: Any, X: Any) -> Callable[[int], Any] | None:
    """Return a function that predicts with the first steps of a model; None if it has none."""
    name = type(model).__name__
    if name == "LGBMClassifier":
        return lambda n_steps: model.predict(X, num_iteration=n_steps)
    if name == "XGBClassifier":
        return lambda n_steps: model.predict(X, iteration_range=(0, n_steps))
    if name == "CatBoostClassifier":
        return lambda n_steps: model.predict(X, ntree_end=n_steps)
    if name == "HistGradientBoostingClassifier":
        stages = list(model.staged_predict(X))
        return lambda n_steps: stages[min(n_steps, len(stages)) - 1]
    if hasattr(model, "estimators_"):
        return lambda n_steps: _take_trees(model, n_steps).predict(X)
    return None


def _take_trees(forest: Any, n_trees: int) -> Any:
    first = copy.copy(forest)
    first.estimators_ = forest.estimators_[:n_trees]
    return first


def fits_anew(learner: Any) -> bool:
    """Return whether the learner's early stopping fits it from scratch several times.

    With unlimited time that is a fit of one step, which is thrown away, and one of all steps.
    """
    last = learner[-1] if hasattr(learner, "steps") else learner
    return type(last).__name__ in ("LogisticRegression", "SGDClassifier")


def fit(learner: Any, rows: Rows) -> tuple[FittedModel, dict[str, Any]]:
    """Fit the learner to the end, and return the model and what is known of its steps."""
    classes, codes = np.unique(rows.y, return_inverse=True)
    early_stopping = None if fits_anew(learner) else find_early_stopping(learner)
    signal = RecordingSignal()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if early_stopping is None:
            learner.fit(rows.X, codes)
        else:
            early_stopping(learner, rows.X, codes, signal, {})
    seconds = signal.elapsed_seconds
    model = FittedModel(learner, classes)
    last = learner[-1] if hasattr(learner, "steps") else learner
    if early_stopping is not None:
        steps = _describe_steps(signal, seconds)
        if not knows_steps(learner):
            steps["planned_steps"] = int(last.max_iter)
        return model, {"fit_seconds": seconds, **steps}
    n_steps = int(np.max(last.n_iter_)) if fits_anew(learner) else None
    tenths = None if n_steps is None else [float(f"{seconds * tenth:.4g}") for tenth in _TENTHS]
    return model, {
        "fit_seconds": seconds,
        "setup_seconds": None,
        "steps": n_steps,
        "planned_steps": None if n_steps is None else int(last.max_iter),
        "tenths": tenths,
    }


def _describe_steps(signal: RecordingSignal, seconds: float) -> dict[str, Any]:
    """Return when the steps ended, interpolated; a forest's trees, all but the first, are one recorded call."""
    setup, n_steps = signal.setup_seconds or 0.0, signal.n_steps or 1
    counts = np.array([count for count, _ in signal.ends] or [1], float)
    ends = np.array([end for _, end in signal.ends] or [seconds])
    if counts[-1] != n_steps and n_steps > 1:
        # A network counts batches, and those of its first epoch are missing; its steps are epochs.
        counts += counts[-1] / (n_steps - 1)
    shares = np.concatenate([[0.0], counts / counts[-1]])
    tenths = np.interp(_TENTHS, shares, np.concatenate([[setup], ends]))
    return {
        "setup_seconds": setup,
        "steps": n_steps,
        "planned_steps": signal.most_steps or n_steps,
        "tenths": [float(f"{value:.4g}") for value in tenths],
    }


def measure(model: FittedModel, fitted: dict[str, Any], held_out: Rows, test: Rows) -> dict[str, Any]:
    """Return the model's scores, and the seconds of its predictions, of saving and of loading it."""
    model.predict(held_out.X[:1])
    start = time.perf_counter()
    model.predict(held_out.X[:_FEW_ROWS])
    few_seconds = time.perf_counter() - start
    start = time.perf_counter()
    correct = model.predict(held_out.X) == held_out.y
    seconds = time.perf_counter() - start
    n_rows = len(held_out.y)
    row_seconds = max(0.0, seconds - few_seconds) / (n_rows - _FEW_ROWS) or seconds / n_rows
    scores = {"1.0": float(np.mean(model.predict(test.X) == test.y))}
    if fitted["steps"] is not None:
        scores |= model.score_stages(test, fitted["steps"])
    return {
        "predict_seconds_per_row": float(f"{row_seconds:.4g}"),
        "predict_seconds_fixed": float(f"{max(0.0, seconds - n_rows * row_seconds):.4g}"),
        **_measure_saving(model.learner),
        "scores": {fraction: round(score, 5) for fraction, score in scores.items()},
        "correct": base64.b64encode(np.packbits(correct).tobytes()).decode(),
    }


def _measure_saving(learner: Any) -> dict[str, Any]:
    buffers: list[pickle.PickleBuffer] = []
    start = time.perf_counter()
    data = pickle.dumps(learner, protocol=5, buffer_callback=buffers.append)
    copies = [bytes(buffer.raw()) for buffer in buffers]
    saved = time.perf_counter()
    pickle.loads(data, buffers=copies)
    return {
        "model_bytes": len(data) + sum(map(len, copies)),
        "save_seconds": float(f"{saved - start:.4g}"),
        "load_seconds": float(f"{time.perf_counter() - saved:.4g}"),
    }
