"""Deadline: searches of six candidates, one that never ends and one that crashes or takes all memory it can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from _accuracy_plan import Pair
from _accuracy_rivals import RivalTask
from _deadline_cases import LabelledPool
from _learners import MemoryHog
from _report import Goal, MarkdownTable, Quantiles
from _search_findings import select_runs
from _search_format import format_percent, mean_accuracy
from _search_log import RunKey, SearchRun
from _search_methods import SEARCH, OwnMethod, make_search, warm_up
from _search_part import Bench
from fitwithin.testing import AwkwardClassifier
from fitwithin_paper.study.study_run import TrainTestRows

# Runs, their time limit in seconds, and their rows.
_RUNS = 30
_LIMIT_SECONDS = 3.0
_ROWS = 20_000

# Seconds by which the 99th percentile may be late.
_P99_GOAL = 0.1

# Bytes that the largest candidate holds.
_HOG_BYTES = 3_000_000_000

HANGS = ("hangs in C", "hangs in Python", "ignores signals", "hangs in threads", "hangs in predict")
"""Faults without an end."""

CRASHES = ("exits", "segfaults", "is killed", "raises", "takes memory")
"""Faults that end at once, and a candidate that fills memory and holds it."""

# Rows up to which both candidates work, in turn: they fail at once, or when they have scored well.
_HARMLESS_ROWS = (0, 1_000)


def name_faults(number: int) -> str:
    """Return the two faults of a run; 25 runs have 25 pairs.

    Examples
    --------
    >>> name_faults(0), name_faults(6)
    ('hangs in C+exits', 'hangs in Python+is killed')
    """
    return f"{HANGS[number % 5]}+{CRASHES[(number + number // 5) % 5]}"


def make_candidates(faults: str, number: int) -> list[Any]:
    """Return six candidates, the two with a fault among the others."""
    above = _HARMLESS_ROWS[number % len(_HARMLESS_ROWS)]
    bad = [_make_fault(fault, above) for fault in faults.split("+")]
    good = [GaussianNB(), DecisionTreeClassifier(), LogisticRegression(), LGBMClassifier(n_jobs=1, verbose=-1)]
    return [good[0], bad[0], good[1], bad[1], good[2], good[3]]


def _make_fault(fault: str, above: int) -> Any:
    if fault == "takes memory":
        return MemoryHog(_HOG_BYTES, above=above)
    return AwkwardClassifier(fault, above=above)


def _warm_up(task: RivalTask) -> None:
    """Import the candidates' libraries in the helper process."""
    warm_up(LGBMClassifier(n_jobs=1, verbose=-1), task)


class DeadlinePart:
    """Searches with misbehaving candidates."""

    name = "deadline"

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        rows = _LazyRows()
        for number in range(_RUNS):
            faults = name_faults(number)
            pair = Pair("", "made-up", faults, _ROWS, _LIMIT_SECONDS)
            key = RunKey(self.name, pair.dataset, faults, SEARCH, 1.0, number)
            bench.run_method(key, pair, _make_method(number), _LIMIT_SECONDS, rows=rows)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        rows = [
            [str(run.seed), run.learner, _format_late(run.late), format_percent(run.accuracy), run.stop or ""]
            for run in mine
        ]
        columns = ("run", "faults", "return - T (s)", "test accuracy (%)", "stop reason")
        return [MarkdownTable("Two misbehaving candidates among six", columns, rows)] if rows else []

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        mine = select_runs(runs, self.name)
        late = [max(0.0, run.late) for run in mine if run.late is not None]
        if not late:
            return []
        found, models = Quantiles.of(late), mean_accuracy(mine)
        text = (
            f"deadline, {len(late)} runs with two misbehaving candidates: late by at most {_P99_GOAL:g} s at p99, and "
            f"always a model; p50 {found.p50:.3f}, p99 {found.p99:.3f}, max {found.max:.3f} s, "
            f"{sum(run.accuracy is None for run in mine)} without a model"
        )
        return [Goal(text, found.p99 <= _P99_GOAL and models is not None)]


def _make_method(number: int) -> OwnMethod:
    return OwnMethod(lambda task: make_search(make_candidates(task.learner, number), task), warm_up=_warm_up)


class _LazyRows:
    """Synthetic rows, made when the first run needs them."""

    def __init__(self) -> None:
        self._rows: TrainTestRows | None = None

    def __call__(self) -> TrainTestRows:
        if self._rows is None:
            self._rows = stack_pool(LabelledPool.of(_ROWS))
        return self._rows


def stack_pool(pool: LabelledPool) -> TrainTestRows:
    """Return a synthetic pool as training rows followed by test rows."""
    return TrainTestRows(np.concatenate([pool.X, pool.X_test]), np.concatenate([pool.y, pool.y_test]), len(pool.y))


def _format_late(late: float | None) -> str:
    return "" if late is None else f"{late:+.3f}"
