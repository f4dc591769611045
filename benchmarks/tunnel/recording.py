"""Recorded fits of a learner on a data set: what a fit on any number of rows takes, and what its model is worth."""

from __future__ import annotations

import base64
import json
import lzma
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin._core.records import Mask
from fitwithin._core.target import Array

SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
"""Shares of the steps at which scores are recorded."""

N_HELD_OUT = 2_000
"""Held-out rows whose correctness is recorded."""

TENTHS = np.linspace(0, 1, 11)
"""Shares of the steps at which seconds are recorded; the first is the end of the set-up."""

# What a fit takes; between two sizes, the logarithms are interpolated.
_COSTS = (
    "fit_seconds",
    "setup_seconds",
    "predict_seconds_per_row",
    "predict_seconds_fixed",
    "model_bytes",
    "save_seconds",
    "load_seconds",
)
_LEAST_COST = 1e-9

# Steps of a fit whose steps are not recorded.
_ASSUMED_STEPS = 100

# A number in [0, 1] for each held-out row. It decides from which of two recorded models a row's answer is taken, so
# that models of near sizes agree on most rows; the second one decides which answers a fit that was cut short changes.
_PICKS, _CUT_PICKS = np.random.default_rng(0).random((2, N_HELD_OUT))


@dataclass(frozen=True, eq=False)
class RecordedFit:
    """What a fit takes and what its model is worth, as recorded or interpolated.

    Parameters
    ----------
    log_costs : array
        Logarithms of `fit_seconds` and so on; NaN for what is unknown.
    times : array of 11
        Share of the fit's seconds at the end of the set-up and after each tenth of the steps.
    steps, planned_steps : float
        Steps of the complete fit, and those that were planned; NaN if they are unknown.
    scores : array
        Test score after the shares `SHARES` of the steps; NaN if it is unknown, until a `Curve` fills it in.
    correct : array of bool
        Which held-out rows the complete model predicts correctly.
    """

    log_costs: Array
    times: Array
    steps: float
    planned_steps: float
    scores: Array
    correct: Mask

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> RecordedFit:
        """Return the fit that a line of a recording tells of."""
        costs = [line.get(name) for name in _COSTS]
        setup, fit_seconds = line.get("setup_seconds") or 0.0, max(line["fit_seconds"], _LEAST_COST)
        tenths = line.get("tenths") or np.linspace(setup, fit_seconds, 11)[1:]
        times = np.maximum.accumulate([setup, *tenths]) / max(tenths[-1], _LEAST_COST)
        # A small data set has fewer held-out rows, which then stand for several.
        bits = np.resize(np.unpackbits(np.frombuffer(base64.b64decode(line["correct"]), np.uint8)), N_HELD_OUT)
        return cls(
            np.log([np.nan if cost is None else max(cost, _LEAST_COST) for cost in costs]),
            times,
            _or_nan(line.get("steps")),
            _or_nan(line.get("planned_steps")),
            np.array([_or_nan(line["scores"].get(str(share))) for share in SHARES]),
            bits.astype(np.bool_),
        )

    @property
    def n_steps(self) -> int:
        """Steps of the complete fit; a fixed number if they are unknown."""
        return _ASSUMED_STEPS if math.isnan(self.steps) else max(1, round(self.steps))

    @property
    def n_planned_steps(self) -> int:
        """Steps that were planned; those of the complete fit if they are unknown."""
        return self.n_steps if math.isnan(self.planned_steps) else round(self.planned_steps)

    @property
    def is_restarted(self) -> bool:
        """Whether early stopping begins the fit anew with more and more steps, which have no common set-up."""
        return math.isnan(self.log_costs[_COSTS.index("setup_seconds")])

    def cost(self, name: str) -> float:
        """Return what is taken by name, 0 if it is unknown."""
        value = float(np.exp(self.log_costs[_COSTS.index(name)]))
        return 0.0 if np.isnan(value) or value <= _LEAST_COST else value

    def blend(self, other: RecordedFit, weight: float) -> RecordedFit:
        """Return a fit between this one and another; a weight of 1 is the other one."""

        def mix(mine: Any, its: Any) -> Any:
            return (1 - weight) * mine + weight * its

        return RecordedFit(
            mix(self.log_costs, other.log_costs),
            mix(self.times, other.times),
            mix(self.steps, other.steps),
            mix(self.planned_steps, other.planned_steps),
            mix(self.scores, other.scores),
            np.where(weight > _PICKS, other.correct, self.correct),
        )

    def shifted(self, start: RecordedFit, end: RecordedFit) -> RecordedFit:
        """Return this fit with costs and scores changed as they change between two others."""
        return replace(
            self,
            log_costs=self.log_costs + end.log_costs - start.log_costs,
            scores=self.scores + end.scores - start.scores,
        )

    def score(self, share: float, n_classes: int) -> float:
        """Return the test score after a share of the steps; without any steps, that of a guess."""
        return float(np.interp(share, [0.0, *SHARES], [1 / n_classes, *self.scores]))

    def correct_after(self, share: float, n_classes: int) -> Mask:
        """Return which held-out rows the model predicts correctly after a share of the steps."""
        if share >= 1:
            return self.correct
        cut, whole = self.score(share, n_classes), self.score(1.0, n_classes)
        if cut <= whole:
            return self.correct & ((whole - cut) / whole <= _CUT_PICKS)
        return self.correct | ((cut - whole) / (1 - whole) > _CUT_PICKS)


@dataclass(frozen=True)
class Behaviour:
    """How an adversary departs from its recorded seconds.

    Parameters
    ----------
    first_fit_factor : float, default=1.0
        Factor on the seconds of the first fit of a process.
    noise : float, default=0.0
        Standard deviation of the logarithm of a fit's seconds.
    slowdown : float, default=1.0
        Factor on all seconds after half of the limit.
    fails_above : float, default=inf
        Rows above which the learner raises.
    saving_scales : bool, default=False
        Whether the seconds of saving are scaled as those of fits are.
    """

    first_fit_factor: float = 1.0
    noise: float = 0.0
    slowdown: float = 1.0
    fails_above: float = math.inf
    saving_scales: bool = False


class Curve:
    """Fits of one kind by their rows.

    Where the score of a fit that was cut short is unknown, it is that of a fit on the same share of the rows.
    """

    def __init__(self, fits: Mapping[int, RecordedFit]) -> None:
        self.rows = np.array(sorted(fits))
        self._logarithms = np.log(self.rows)
        found = [fits[rows] for rows in sorted(fits)]
        whole = [fit.scores[-1] for fit in found]
        self._fits = [
            replace(fit, scores=np.where(np.isnan(fit.scores), np.interp(cut, self._logarithms, whole), fit.scores))
            for fit, cut in zip(found, self._logarithms[:, None] + np.log(SHARES), strict=True)
        ]

    def at(self, rows: float) -> RecordedFit:
        """Return the fit on this number of rows; the smallest or the largest one beyond what is recorded."""
        place = float(np.interp(np.log(max(rows, 1)), self._logarithms, np.arange(len(self.rows))))
        below = int(place)
        return self._fits[below] if place == below else self._fits[below].blend(self._fits[below + 1], place - below)


class Recording:
    """The recorded fits of one learner on one data set.

    Parameters
    ----------
    header : dict
        The first line.
    lessons : iterable of dict
        The other lines.
    """

    def __init__(self, header: Mapping[str, Any], lessons: Iterable[Mapping[str, Any]]) -> None:
        self.header = header
        self.name: str = header["name"]
        self.n_rows: int = header["n_rows"]
        self.n_classes: int = max(2, header["n_classes"])
        self.can_stop: bool = header["can_stop"]
        self.knows_steps: bool = header["knows_steps"]
        self.full_seconds: float = header["full_seconds"]
        # What the first fit of a process takes longer.
        self.startup_seconds: float = header.get("startup_seconds") or 0.0
        self.behaviour = Behaviour(**header.get("behaviour", {}))
        plain: dict[int, dict[int, RecordedFit]] = {}
        others: dict[str, dict[int, RecordedFit]] = {}
        shares: dict[str, list[tuple[float, int]]] = {}
        for line in lessons:
            fits = (
                plain.setdefault(line["repeat"], {}) if line["kind"] == "plain" else others.setdefault(line["kind"], {})
            )
            fits[line["rows"]] = RecordedFit.read(line)
            if line["kind"] in ("once", "twice"):
                shares.setdefault(line["kind"], []).append((line["mistake_share"], line["judge_rows"]))
        # A repeat that was not recorded up to every row tells less than the others.
        self.plain = [Curve(plain[repeat]) for repeat in sorted(plain) if self.n_rows in plain[repeat]]
        self.others = {kind: Curve(fits) for kind, fits in others.items()}
        # How many times more frequent misclassified rows are than in the pool, by kind of lesson.
        self.multiples = {
            kind: float(np.median([share / self._error_rate(rows) for share, rows in pairs]))
            for kind, pairs in shares.items()
        }

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a compressed file."""
        with lzma.open(path, "rt") as file:
            header, *lessons = map(json.loads, file)
        return cls(header, lessons)

    def _error_rate(self, rows: int) -> float:
        return max(1e-3, 1 - float(np.mean([curve.at(rows).correct.mean() for curve in self.plain])))

    def fit(self, rows: int, repeat: int = 0, multiple: float = 1.0, *, in_chain: bool = False) -> RecordedFit:
        """Return a fit.

        Parameters
        ----------
        rows : int
            Its rows.
        repeat : int, default=0
            Any number; chooses one of the recorded repeats.
        multiple : float, default=1.0
            How many times more frequent misclassified rows are among them than in the pool.
        in_chain : bool, default=False
            Whether it is a lesson of TCT, to be answered from the recorded lessons of TCT if there is one of this size.
        """
        if in_chain and "tct" in self.others and rows in self.others["tct"].rows:
            return self.others["tct"].at(rows)
        curve = self.plain[repeat % len(self.plain)]
        known, fits = [1.0], [curve.at(rows)]
        for kind in ("once", "twice"):
            if kind in self.others and self.multiples[kind] > known[-1] and rows >= self.others[kind].rows[0]:
                largest = int(self.others[kind].rows[-1])
                inside = self.others[kind].at(min(rows, largest))
                fits.append(inside if rows <= largest else inside.shifted(curve.at(largest), fits[0]))
                known.append(self.multiples[kind])
        place = float(np.interp(multiple, known, np.arange(len(known))))
        below = int(place)
        return fits[below] if place == below else fits[below].blend(fits[below + 1], place - below)

    def cost(self, rows: int, name: str) -> float:
        """Return the median of what plain fits on this number of rows take."""
        return float(np.median([curve.at(rows).cost(name) for curve in self.plain]))

    def score(self, rows: int) -> float:
        """Return the mean test score of plain models on this number of rows."""
        return float(np.mean([curve.at(rows).scores[-1] for curve in self.plain]))

    @cached_property
    def codes(self) -> Array:
        """Return a class for each row of the pool; which one does not matter."""
        return (np.arange(self.n_rows) % self.n_classes).astype(np.min_scalar_type(self.n_classes))


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else float(value)
