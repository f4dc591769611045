"""Measure how OpenMP's wait policy changes the time of a fit, on idle and on busy cores."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

# The policy of the process backend.
OURS = "passive after 1,000 turns, ours"
WAIT_POLICIES: dict[str, dict[str, str]] = {
    "as libgomp does by itself": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    OURS: {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"},
}
PROGRAM = """
import time
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
X, y = make_friedman1(10_000, noise=1.0, random_state=0)
HistGradientBoostingRegressor().fit(X[:1000], y[:1000])
start = time.perf_counter()
HistGradientBoostingRegressor().fit(X, y)
print(time.perf_counter() - start)
"""


@contextmanager
def run_busy_processes(n_processes: int) -> Iterator[None]:
    """Keep `n_processes` processes computing."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processes)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure_fit_seconds(policy: dict[str, str], longest: float) -> float:
    """Return the time of a fit in a new process, at most `longest`."""
    environment = {**os.environ, **policy}
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, timeout=longest, capture_output=True, check=True
        )
    except subprocess.TimeoutExpired:
        return longest
    return float(done.stdout)


def main() -> int:
    """Measure the policies in turn, so that changes of the machine affect all; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each policy")
    parser.add_argument("--longest", type=float, default=20.0, help="seconds after which a run is stopped")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(), Environment.current()
    cores = os.cpu_count() or 1
    found: dict[tuple[int, str], list[float]] = {
        (others, name): [] for others in (0, cores // 2, cores) for name in WAIT_POLICIES
    }
    for others in (0, cores // 2, cores):
        with run_busy_processes(others):
            for _ in range(arguments.runs):
                for name, policy in WAIT_POLICIES.items():
                    found[others, name].append(measure_fit_seconds(policy, arguments.longest))
    rows = [[str(others), name, f"{median(times):.2f}", f"{max(times):.2f}"] for (others, name), times in found.items()]
    columns = "busy processes beside", "threads wait", "seconds, median", "seconds, largest"
    table = MarkdownTable("Histogram boosting on 10,000 rows, 100 iterations", columns, rows)
    goals = [_make_goal(found, others) for others in (0, cores)]
    figures = [{"busy": others, "way": name, "seconds": times} for (others, name), times in found.items()]
    return write_report("openmp", environment, [table], goals, {"runs": figures}, arguments.results)


def _make_goal(found: dict[tuple[int, str], list[float]], others: int) -> Goal:
    """Compare with libgomp's default on idle cores, and with threads that sleep at once on busy ones."""
    rival = "passive" if others else "as libgomp does by itself"
    ratio = median(found[others, OURS]) / median(found[others, rival])
    return Goal(f"beside {others} busy processes at most 1.3 x '{rival}'; it is {ratio:.2f} x", ratio <= 1.3)


if __name__ == "__main__":
    sys.exit(main())
