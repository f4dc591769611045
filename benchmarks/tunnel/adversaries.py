"""Recordings made from formulas: cost functions that break a planner, and small ones for tests."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from recording import N_HELD_OUT, SHARES, Recording

ByRows = Callable[[float], float]
"""Seconds, or an error rate, by rows."""

_POOL_ROWS = 200_000
_FULL_SECONDS = 10.0

# How hard each held-out row is: a model gets the hardest rows wrong, and which these are depends a little on the model.
_HARDNESS = np.random.default_rng(1).random(N_HELD_OUT)
_MODEL_NOISE = 0.05

_SAVE_SECONDS_PER_BYTE = 3e-9  # of a forest of scikit-learn


@dataclass(frozen=True)
class Formulas:
    """A learner by formulas.

    Parameters
    ----------
    name : str
        Of the recording.
    seconds, setup, predict, save : callable
        Seconds of a fit, of its set-up, of the prediction of a row, and of saving a model, by its rows.
    steps : int or None
        Steps of a learner that can stop early; None for one that cannot.
    error : callable
        Error rate by rows.
    gain : float
        Score that is added if misclassified rows are at least twice as frequent as in the pool.
    n_rows : int
        Rows of the pool.
    noise : float
        Standard deviation of the logarithm of the seconds.
    header : dict
        Further entries of the header.
    """

    name: str
    seconds: ByRows
    setup: ByRows = lambda rows: 0.0
    predict: ByRows = lambda rows: 1e-6
    save: ByRows = lambda rows: 1e-3
    steps: int | None = None
    error: ByRows = lambda rows: 0.1 + 0.2 * (rows / 250) ** -0.4
    gain: float = 0.0
    n_rows: int = _POOL_ROWS
    noise: float = 0.03
    header: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> Recording:
        """Return the recording: three plain repeats and, if there is a gain, lessons with misclassified rows."""
        rng = np.random.default_rng(2)
        sizes = list(_list_sizes(self.n_rows))
        lines = [self._make_line("plain", rows, rng, repeat=repeat) for repeat in range(3) for rows in sizes]
        for times, kind in enumerate(("once", "twice") if self.gain else (), 1):
            for rows in sizes:
                rate = self.error(rows / 4)
                share = rate + times * rate * (1 - rate)
                more = {"mistake_share": share, "judge_rows": rows // 4}
                if 2_000 <= rows <= 0.65 * self.n_rows:
                    lines.append(self._make_line(kind, rows, rng, repeat=0, gain=self.gain, **more))
        header = {
            "name": self.name,
            "family": "formula",
            "design": None,
            "n_rows": self.n_rows,
            "n_classes": 2,
            "can_stop": self.steps is not None,
            "knows_steps": self.steps is not None,
            "full_seconds": self.seconds(self.n_rows) + N_HELD_OUT * self.predict(self.n_rows),
        }
        return Recording({**header, **self.header}, lines)

    def _make_line(self, kind: str, rows: int, rng: Any, gain: float = 0.0, **more: Any) -> dict[str, Any]:
        factor, shift = math.exp(self.noise * rng.normal()), 0.001 * rng.normal() - gain
        fit, setup = factor * self.seconds(rows), factor * self.setup(rows)
        n_wrong = round(N_HELD_OUT * (self.error(rows) + shift))
        correct = np.ones(N_HELD_OUT, dtype=np.bool_)
        correct[np.argsort(_HARDNESS + _MODEL_NOISE * rng.normal(size=N_HELD_OUT))[N_HELD_OUT - n_wrong :]] = False
        return {
            "kind": kind,
            "rows": rows,
            "fit_seconds": fit,
            "setup_seconds": setup if self.steps else None,
            "steps": self.steps,
            "planned_steps": self.steps,
            "tenths": list(np.linspace(setup, fit, 11)[1:]) if self.steps else None,
            "predict_seconds_per_row": self.predict(rows),
            "model_bytes": round(self.save(rows) / _SAVE_SECONDS_PER_BYTE),
            "save_seconds": self.save(rows),
            "load_seconds": self.save(rows) / 10,
            # A fit that is cut short has the score of one on as large a share of the rows.
            "scores": {str(share): 1 - self.error(max(1.0, share * rows)) - shift for share in SHARES},
            "correct": base64.b64encode(np.packbits(correct).tobytes()).decode(),
            **more,
        }


def _list_sizes(n_rows: int) -> Iterator[int]:
    size = 250.0
    while size < n_rows:
        yield int(size)
        size *= 1.6
    yield n_rows


def power(seconds: float, exponent: float, n_rows: int = _POOL_ROWS) -> ByRows:
    """Return seconds that grow with a power of the rows."""
    return lambda rows: seconds * (rows / n_rows) ** exponent


def _n_log_n(rows: float) -> float:
    return _FULL_SECONDS * rows * math.log(rows) / (_POOL_ROWS * math.log(_POOL_ROWS))


def _with_step(rows: float) -> float:
    return power(_FULL_SECONDS, 1.0)(rows) * (1.0 if rows > _POOL_ROWS / 8 else 0.25)


def _linear(kind: str, behaviour: Mapping[str, Any], **settings: Any) -> Formulas:
    return Formulas(kind, power(_FULL_SECONDS, 1.0), **settings, header={"behaviour": behaviour})


_FORMULAS = (
    Formulas("n-log-n", _n_log_n),
    Formulas("square", power(_FULL_SECONDS, 2.0)),
    Formulas("step", _with_step),
    _linear("slow-first-fit", {"first_fit_factor": 10.0}),
    _linear("noise", {"noise": 0.5}),
    _linear("slower-half-way", {"slowdown": 3.0}),
    _linear("slow-saving", {"saving_scales": True}, save=power(_FULL_SECONDS, 1.0)),
    _linear("slow-predictions", {}, predict=lambda rows: 1.5 * _FULL_SECONDS / _POOL_ROWS),
    _linear("fails-above", {"fails_above": _POOL_ROWS // 10}),
)

# A constant is this share of the time limit.
_CONSTANTS = {"constant-24th": 1 / 24, "constant-12th": 1 / 12, "constant-6th": 1 / 6}
_MAX_CONSTANT = 0.9  # of a fit on every row

_STEPS = "-steps"
_N_STEPS = 100

_KINDS = (*(formulas.name for formulas in _FORMULAS), *_CONSTANTS)

ADVERSARIES = (*_KINDS, *(kind + _STEPS for kind in _KINDS))
"""Names; with "-steps", the learner can stop early."""


def make_adversary(name: str, ratio: float) -> Recording:
    """Return the recording of an adversary for a time limit of `ratio` times the seconds of every row."""
    kind = name.removesuffix(_STEPS)
    steps = None if kind == name else _N_STEPS
    if kind in _CONSTANTS:
        share = min(_MAX_CONSTANT, ratio * _CONSTANTS[kind])
        growing = power((1 - share) * _FULL_SECONDS, 1.0)
        constant = share * _FULL_SECONDS
        formulas = Formulas(kind, lambda rows: constant + growing(rows), setup=lambda rows: constant)
    else:
        formulas = next(formulas for formulas in _FORMULAS if formulas.name == kind)
    return replace(formulas, name=name, steps=steps, header={"family": kind, **formulas.header}).record()
