"""Measure the overhead of the package: time outside fit and predict, memory beyond the rows used, time to start."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _fresh_interpreter import FitSpec, measure_import_seconds, measure_in_fresh_interpreter
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

# Largest share of T outside fit and predict.
SHARE_GOAL = 0.02

# Largest memory, as a multiple of the rows used.
MEMORY_GOAL = 1.2

# Seconds until the first fit of the learner begins.
START_GOAL = 0.1

_TIMED_LEARNERS = ("trivial", "GaussianNB", "DecisionTree(max_depth=5)", "LightGBM(n_jobs=1)")
_POOL_LEARNER = "LightGBM(n_jobs=1)"

Figures = dict[str, Any]
ResultLog = Mapping[str, Figures]


@dataclass(frozen=True)
class OverheadSettings:
    """Sizes and limits of the measurements.

    Parameters
    ----------
    rows, columns : int
        Shape of the pool.
    seconds : float
        Time limit.
    pool_seconds : float
        Time limit for the comparison of two pool sizes: short enough that neither is exhausted.
    first : int
        First subset in that comparison.
    """

    rows: int
    columns: int
    seconds: float
    pool_seconds: float
    first: int

    def make_spec(self, learner: str, *, times: int = 1, **settings: Any) -> FitSpec:
        """Return the settings of one measured fit, on a pool `times` as large."""
        return FitSpec(
            learner, **{"rows": times * self.rows, "columns": self.columns, "seconds": self.seconds, **settings}
        )


def measure_time(settings: OverheadSettings) -> dict[str, Figures]:
    """Measure each learner's first fit in a fresh interpreter, and the time of the imports alone."""
    results = {}
    for learner in _TIMED_LEARNERS:
        results[learner] = measure_in_fresh_interpreter(settings.make_spec(learner)) | {
            "imports": measure_import_seconds(learner)
        }
        print(f"timed {learner}: {results[learner]['elapsed']:.1f} s", flush=True)
    return results


def measure_memory(settings: OverheadSettings) -> dict[str, Figures]:
    """Measure peak memory with a learner that stores nothing."""
    learner, part = "trivial, reads all", {"first": settings.first, "stop_above": settings.rows // 4}
    return {
        "in memory, all rows": measure_in_fresh_interpreter(settings.make_spec(learner, memory=True)),
        "np.memmap, all rows": measure_in_fresh_interpreter(settings.make_spec(learner, memory=True, mapped=True)),
        "in memory, ten times the rows, stopped early": measure_in_fresh_interpreter(
            settings.make_spec(learner, times=10, memory=True, **part)
        ),
    }


def measure_pools(settings: OverheadSettings) -> dict[str, Figures]:
    """Measure the same fits on a pool and on one ten times as large."""
    changes: Figures = {"seconds": settings.pool_seconds, "first": settings.first}
    return {
        f"{times * settings.rows:,} rows": measure_in_fresh_interpreter(
            settings.make_spec(_POOL_LEARNER, times=times, **changes)
        )
        for times in (1, 10)
    }


def _share(result: Mapping[str, Any], seconds: float, work: str = "work") -> float:
    return float((result["elapsed"] - result[work]) / seconds)


def _make_time_table(results: ResultLog, seconds: float) -> MarkdownTable:
    rows = [
        [
            learner,
            str(len(result["history"])),
            f"{result['rows_taught']:,}",
            result["stop_reason"],
            f"{result['elapsed']:.2f}",
            f"{result['work']:.2f}",
            f"{result['killed']:.2f}",
            f"{result['elapsed'] - result['work']:.2f}",
            f"{_share(result, seconds):.2%}",
            f"{_share(result, seconds, 'work_by_history'):.2%}",
        ]
        for learner, result in results.items()
    ]
    columns = ("learner", "rounds", "training rows", "stop", "time used (s)", "fit and predict (s)")
    more = ("of it killed at the end (s)", "neither (s)", "share of T", "share of T by `history_`")
    return MarkdownTable(f"Neither fit nor predict, T = {seconds:g} s, start-up included", (*columns, *more), rows)


def _memory_ratio(name: str, result: Mapping[str, Any]) -> float:
    # Pages of a mapped file are the data itself, and the system can reclaim them.
    beyond = result["beyond"]["own" if "memmap" in name else "pss"]
    return float(beyond / result["bytes_used"])


def _make_memory_table(results: ResultLog) -> MarkdownTable:
    rows = [
        [
            name,
            f"{result['rows_used']:,}",
            f"{result['largest_lesson']:,}",
            f"{result['bytes_used'] / 1e6:.1f}",
            f"{result['beyond']['pss'] / 1e6:.1f}",
            f"{result['beyond']['own'] / 1e6:.1f}",
            f"{_memory_ratio(name, result):.2f}",
        ]
        for name, result in results.items()
    ]
    columns = ("pool", "rows trained on or predicted", "largest lesson", "their size (MB)", "peak Pss beyond (MB)")
    more = ("of it anonymous and shared (MB)", "ratio")
    return MarkdownTable("Peak memory beyond the data and an idle helper", (*columns, *more), rows)


def _measure_start_overheads(result: Mapping[str, Any]) -> tuple[float, float]:
    """Return seconds until the first lesson, minus the imports, and in a second fit minus one pass over y."""
    return result["first_lesson"] - result["imports"], result["second_first_lesson"] - result["pass_over_y"]


def _make_start_table(results: ResultLog) -> MarkdownTable:
    names = ("first_lesson", "imports", "second_first_lesson", "pass_over_y")
    rows = [
        [
            learner,
            *(
                f"{1000 * seconds:.1f}"
                for seconds in (*(result[name] for name in names), *_measure_start_overheads(result))
            ),
        ]
        for learner, result in results.items()
    ]
    columns = ("learner", "first fit", "imports alone", "second fit", "y.sum()")
    return MarkdownTable("Until the first lesson begins (ms)", (*columns, "first - imports", "second - y.sum()"), rows)


def _make_pool_table(results: ResultLog, seconds: float) -> MarkdownTable:
    rows = [
        [
            name,
            f"{result['rows_taught']:,}",
            f"{_largest(result):,}",
            result["stop_reason"],
            f"{_share(result, seconds):.2%}",
            f"{1000 * result['second_first_lesson']:.1f}",
            ", ".join(f"{one['rows']:,}: {one['elapsed']:.2f}" for one in result["history"]),
        ]
        for name, result in results.items()
    ]
    columns = ("pool", "training rows", "largest finished lesson", "stop", "neither fit nor predict")
    more = ("second fit, until its first lesson (ms)", "lesson: when it was over (s)")
    return MarkdownTable(f"A pool ten times as large, {_POOL_LEARNER}, T = {seconds:g} s", (*columns, *more), rows)


def _largest(result: Mapping[str, Any]) -> int:
    return max(int(one["rows"]) for one in result["history"])


def _make_goals(timed: ResultLog, memory: ResultLog, pools: ResultLog, settings: OverheadSettings) -> list[Goal]:
    share = max(_share(result, settings.seconds) for result in timed.values())
    first, second = (max(column) for column in zip(*map(_measure_start_overheads, timed.values()), strict=True))
    return [
        Goal(f"at most {SHARE_GOAL:.0%} of T neither fit nor predict; the largest is {share:.2%}", share <= SHARE_GOAL),
        *(_make_memory_goal(name, _memory_ratio(name, result)) for name, result in memory.items()),
        Goal(f"first fit: nothing ({START_GOAL} s) beyond the imports; at most {first:.3f} s", first <= START_GOAL),
        Goal(f"second fit: {START_GOAL} s beyond one pass over y; at most {second:.3f} s", second <= START_GOAL),
        _make_pool_goal([_largest(result) for result in pools.values()]),
    ]


def _make_memory_goal(name: str, ratio: float) -> Goal:
    return Goal(f"memory at most {MEMORY_GOAL} x the rows used, {name}; it is {ratio:.2f}", ratio <= MEMORY_GOAL)


def _make_pool_goal(lessons: list[int]) -> Goal:
    taught = " and ".join(f"{rows:,}" for rows in lessons)
    return Goal(f"the same training rows from a pool ten times as large: {taught}", len(set(lessons)) == 1)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the pool")
    parser.add_argument("--columns", type=int, default=50, help="features of the pool")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit T in seconds")
    parser.add_argument(
        "--pool-seconds", type=float, default=20.0, help="time limit for the comparison of two pool sizes"
    )
    parser.add_argument("--first", type=int, default=5000, help="rows of the first subset in that comparison")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def main() -> int:
    """Measure everything; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(), Environment.current()
    settings = OverheadSettings(
        arguments.rows, arguments.columns, arguments.seconds, arguments.pool_seconds, arguments.first
    )
    timed, memory, pools = measure_time(settings), measure_memory(settings), measure_pools(settings)
    tables = [
        _make_time_table(timed, settings.seconds),
        _make_memory_table(memory),
        _make_start_table(timed),
        _make_pool_table(pools, settings.pool_seconds),
    ]
    figures = {"time": timed, "memory": memory, "pools": pools}
    return write_report(
        "overhead", environment, tables, _make_goals(timed, memory, pools, settings), figures, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
