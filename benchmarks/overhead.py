"""What the package costs: time that is neither fit nor predict, memory beyond the rows used, time to begin."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _fresh_interpreter import FitSpec, measure_import_seconds, measure_in_fresh_interpreter
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

SHARE_GOAL, MEMORY_GOAL, BEGIN_GOAL = 0.02, 1.2, 0.1
_TIMED = ("trivial", "GaussianNB", "DecisionTree(max_depth=5)", "LightGBM(n_jobs=1)")
_LIMITED = "LightGBM(n_jobs=1)"

Figures = dict[str, Any]
Results = Mapping[str, Figures]


@dataclass(frozen=True)
class Sizes:
    """How large everything is.

    Parameters
    ----------
    rows, columns : int
        Of the pool.
    seconds : float
        The time limit.
    pool_seconds : float
        The time limit where pools of two sizes are compared: short enough that neither is exhausted.
    first : int
        First lesson there.
    """

    rows: int
    columns: int
    seconds: float
    pool_seconds: float
    first: int

    def spec(self, learner: str, *, times: int = 1, **settings: Any) -> FitSpec:
        """One measured fit, on a pool so many times as large."""
        return FitSpec(
            learner, **{"rows": times * self.rows, "columns": self.columns, "seconds": self.seconds, **settings}
        )


def measure_time(sizes: Sizes) -> dict[str, Figures]:
    """Each learner's first fit in a fresh interpreter, and what the imports alone take there."""
    results = {}
    for learner in _TIMED:
        results[learner] = measure_in_fresh_interpreter(sizes.spec(learner)) | {
            "imports": measure_import_seconds(learner)
        }
        print(f"timed {learner}: {results[learner]['elapsed']:.1f} s", flush=True)
    return results


def measure_memory(sizes: Sizes) -> dict[str, Figures]:
    """Peak memory with a learner that stores nothing."""
    learner, part = "trivial, reads all", {"first": sizes.first, "stop_above": sizes.rows // 4}
    return {
        "in memory, all rows": measure_in_fresh_interpreter(sizes.spec(learner, memory=True)),
        "np.memmap, all rows": measure_in_fresh_interpreter(sizes.spec(learner, memory=True, mapped=True)),
        "in memory, ten times the rows, stopped early": measure_in_fresh_interpreter(
            sizes.spec(learner, times=10, memory=True, **part)
        ),
    }


def measure_pools(sizes: Sizes) -> dict[str, Figures]:
    """The same lessons from a pool and from one ten times as large."""
    settings: Figures = {"seconds": sizes.pool_seconds, "first": sizes.first}
    return {
        f"{times * sizes.rows:,} rows": measure_in_fresh_interpreter(sizes.spec(_LIMITED, times=times, **settings))
        for times in (1, 10)
    }


def _share(result: Mapping[str, Any], seconds: float, work: str = "work") -> float:
    return float((result["elapsed"] - result[work]) / seconds)


def _time_table(results: Results, seconds: float) -> MarkdownTable:
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
    columns = ("learner", "rounds", "rows taught", "stop", "time used (s)", "fit and predict (s)")
    more = ("of it killed at the end (s)", "neither (s)", "share of T", "share of T by `history_`")
    return MarkdownTable(f"Neither fit nor predict, T = {seconds:g} s, start-up included", (*columns, *more), rows)


def _memory_ratio(name: str, result: Mapping[str, Any]) -> float:
    # A mapped file's pages are the data itself, and the system takes them back when it likes.
    beyond = result["beyond"]["own" if "memmap" in name else "pss"]
    return float(beyond / result["bytes_used"])


def _memory_table(results: Results) -> MarkdownTable:
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
    columns = ("pool", "rows taught or examined", "largest lesson", "their size (MB)", "peak Pss beyond (MB)")
    more = ("of it anonymous and shared (MB)", "ratio")
    return MarkdownTable("Peak memory beyond the data and an idle helper", (*columns, *more), rows)


def _beyond(result: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds until the first lesson beyond the imports, and in a second fit beyond one pass over y."""
    return result["first_lesson"] - result["imports"], result["second_first_lesson"] - result["pass_over_y"]


def _begin_table(results: Results) -> MarkdownTable:
    names = ("first_lesson", "imports", "second_first_lesson", "pass_over_y")
    rows = [
        [learner, *(f"{1000 * seconds:.1f}" for seconds in (*(result[name] for name in names), *_beyond(result)))]
        for learner, result in results.items()
    ]
    columns = ("learner", "first fit", "imports alone", "second fit", "y.sum()")
    return MarkdownTable("Until the first lesson begins (ms)", (*columns, "first - imports", "second - y.sum()"), rows)


def _pool_table(results: Results, seconds: float) -> MarkdownTable:
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
    columns = ("pool", "rows taught", "largest finished lesson", "stop", "neither fit nor predict")
    more = ("second fit, until its first lesson (ms)", "lesson: when it was over (s)")
    return MarkdownTable(f"A pool ten times as large, {_LIMITED}, T = {seconds:g} s", (*columns, *more), rows)


def _largest(result: Mapping[str, Any]) -> int:
    return max(int(one["rows"]) for one in result["history"])


def _goals(timed: Results, memory: Results, pools: Results, sizes: Sizes) -> list[Goal]:
    share = max(_share(result, sizes.seconds) for result in timed.values())
    first, second = (max(column) for column in zip(*map(_beyond, timed.values()), strict=True))
    return [
        Goal(f"at most {SHARE_GOAL:.0%} of T neither fit nor predict; the largest is {share:.2%}", share <= SHARE_GOAL),
        *(_memory_goal(name, _memory_ratio(name, result)) for name, result in memory.items()),
        Goal(f"first fit: nothing ({BEGIN_GOAL} s) beyond the imports; at most {first:.3f} s", first <= BEGIN_GOAL),
        Goal(f"second fit: {BEGIN_GOAL} s beyond one pass over y; at most {second:.3f} s", second <= BEGIN_GOAL),
        _pool_goal([_largest(result) for result in pools.values()]),
    ]


def _memory_goal(name: str, ratio: float) -> Goal:
    return Goal(f"memory at most {MEMORY_GOAL} x the rows used, {name}; it is {ratio:.2f}", ratio <= MEMORY_GOAL)


def _pool_goal(lessons: list[int]) -> Goal:
    taught = " and ".join(f"{rows:,}" for rows in lessons)
    return Goal(f"the same rows taught from a pool ten times as large: {taught}", len(set(lessons)) == 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the pool")
    parser.add_argument("--columns", type=int, default=50, help="features of a row")
    parser.add_argument("--seconds", type=float, default=60.0, help="the time limit T")
    parser.add_argument("--pool-seconds", type=float, default=20.0, help="T where pools of two sizes are compared")
    parser.add_argument("--first", type=int, default=5000, help="rows of the first lesson there")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def main() -> int:
    """Measure everything; 1 if a goal is missed."""
    arguments, environment = _arguments(), Environment.here()
    sizes = Sizes(arguments.rows, arguments.columns, arguments.seconds, arguments.pool_seconds, arguments.first)
    timed, memory, pools = measure_time(sizes), measure_memory(sizes), measure_pools(sizes)
    tables = [
        _time_table(timed, sizes.seconds),
        _memory_table(memory),
        _begin_table(timed),
        _pool_table(pools, sizes.pool_seconds),
    ]
    figures = {"time": timed, "memory": memory, "pools": pools}
    return write_report(
        "overhead", environment, tables, _goals(timed, memory, pools, sizes), figures, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
