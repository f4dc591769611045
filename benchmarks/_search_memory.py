"""Memory: the peak of a search beyond the data, against the bytes of the rows that it used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from _accuracy_plan import Pair
from _accuracy_rivals import RivalTask
from _deadline_cases import LabelledPool
from _learners import MajorityClassifier
from _report import Goal, MarkdownTable
from _search_deadline import stack_pool
from _search_findings import select_runs
from _search_log import RunKey, SearchRun
from _search_methods import SEARCH, OwnMethod, make_classifier, make_search
from _search_part import Bench
from fitwithin._presets import make_preset
from fitwithin.teachers import TBatch
from fitwithin_paper.study.study_run import TrainTestRows

# Rows and columns of 32-bit numbers: 200 MB, so that interpreters and libraries count for little.
_ROWS = 1_000_000
_COLUMNS = 50

_LIMIT_SECONDS = 10.0

# Peak memory beyond the data, as a multiple of the bytes of the rows used.
_RATIO_GOAL = 1.5

# Seconds between samples of the memory.
_PERIOD_SECONDS = 0.05

_WARM_UP_ROWS = 300

# It stores nothing, so that all memory is ours. LightGBM's own memory is shown beside it.
_TRIVIAL = "trivial, reads all"

_LEARNERS: Mapping[str, Callable[[], tuple[Any, Mapping[str, Any] | None]]] = {
    _TRIVIAL: lambda: (MajorityClassifier(reads=True, pause=0.1), {"pause": [0.1, 0.15, 0.2, 0.3]}),
    "lightgbm": lambda: (make_preset("lightgbm", n_jobs=1), None),
}

_JOBS: tuple[int, ...] = (1, 2)


class MemoryPart:
    """Peak memory of a search with one and with two learners at a time."""

    name = "memory"

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        rows: list[TrainTestRows] = []

        def make_rows() -> TrainTestRows:
            if not rows:
                rows.append(stack_pool(LabelledPool.of(_ROWS, _COLUMNS)))
            return rows[0]

        for learner in _LEARNERS:
            for jobs in _JOBS:
                pair = Pair("", f"made-up, {_ROWS:,} x {_COLUMNS}", learner, _ROWS, _LIMIT_SECONDS)
                key = RunKey(self.name, pair.dataset, learner, _name_method(jobs), 1.0, 0)
                bench.run_method(key, pair, _make_method(jobs), _LIMIT_SECONDS, rows=make_rows)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        rows = [
            [
                run.learner,
                run.method,
                f"{(run.used_bytes or 0) / 1e6:,.0f}",
                f"{(run.memory or 0) / 1e6:,.0f}",
                _format_ratio(measure_ratio(run)),
                str(run.settings or ""),
            ]
            for run in select_runs(runs, self.name)
        ]
        columns = ("learner", "method", "rows used (MB)", "peak beyond the data (MB)", "ratio", "candidates tried")
        return [MarkdownTable(f"Memory, {_ROWS:,} x {_COLUMNS} 32-bit numbers", columns, rows)] if rows else []

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        mine = [run for run in select_runs(runs, self.name) if run.learner == _TRIVIAL]
        if not mine:
            return []
        ratios = [measure_ratio(run) for run in mine]
        known = [ratio for ratio in ratios if ratio is not None]
        text = (
            f"peak memory beyond the data: at most {_RATIO_GOAL:g} x the rows used; "
            f"{', '.join(f'{run.method} {_format_ratio(measure_ratio(run))}' for run in mine)}"
        )
        return [Goal(text, len(known) == len(ratios) and max(known) <= _RATIO_GOAL)]


def _name_method(jobs: int) -> str:
    return f"{SEARCH}, n_jobs={jobs}"


def _make_method(jobs: int) -> OwnMethod:
    def build(task: RivalTask) -> Any:
        learner, space = _LEARNERS[task.learner]()
        settings = {} if jobs == 1 else {"n_jobs": jobs}
        return make_search(learner, task, param_distributions=space, **settings)

    return OwnMethod(build, memory_period=_PERIOD_SECONDS, warm_up=_warm_up)


def _warm_up(task: RivalTask) -> None:
    """Start the helper process on few rows: more would leave their memory behind."""
    X, y = task.train
    learner, _ = _LEARNERS[task.learner]()
    settings = {"teacher": TBatch(_WARM_UP_ROWS // 2), "time_limit": 60.0}
    make_classifier(learner, task, **settings).fit(X[:_WARM_UP_ROWS].copy(), y[:_WARM_UP_ROWS])


def measure_ratio(run: SearchRun) -> float | None:
    """Return the peak memory beyond the data as a multiple of the rows used."""
    return None if not run.used_bytes or run.memory is None else run.memory / run.used_bytes


def _format_ratio(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.2f}"
