"""Measure how late `fit` returns with learners that threaten the deadline, and what it leaves behind."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from _deadline_cases import DeadlineCase, make_cases
from _fresh_interpreter import FitSpec, measure_in_fresh_interpreter
from _report import RESULTS, Environment, Goal, MarkdownTable, Quantiles, write_report
from _resource_leaks import ResourceSnapshot, adopt_orphans, use_private_temporary_folder, wait_for_cleanup
from fitwithin import TimeConstrainedClassifier
from fitwithin.teachers import Auto

# Largest 99th percentile of lateness, in seconds.
P99_GOAL = 0.1

# Largest lateness, in seconds.
MAX_GOAL = 0.25

# Seconds before the deadline from which a return counts as early.
_EARLY_SECONDS = 0.1

# Time limit of the cold start: enough to start a process on a slow machine.
_COLD_LIMIT_SECONDS = 10.0


@dataclass(frozen=True)
class DeadlineRun:
    """Result of one fit.

    Parameters
    ----------
    after : float
        Seconds from the deadline to the return; negative if it returned earlier.
    reason : str
        Stop reason, or type of the exception.
    rounds : int
        Number of finished rounds.
    usable : bool
        Whether the model predicts, is the best of the history, and is as accurate as its estimate.
    left : list of str
        Leaks one second after the return.
    clear_after : float
        Seconds from the return until nothing was left.
    """

    after: float
    reason: str
    rounds: int
    usable: bool
    left: list[str]
    clear_after: float

    @property
    def late(self) -> float:
        """Seconds of lateness; 0 if early."""
        return max(0.0, self.after)


def run_fit(case: DeadlineCase, number: int, runs: int) -> DeadlineRun:
    """Fit once; measure the time, check the model, and look for leaks."""
    learner = case.learner(number / max(1, runs - 1))
    classifier = TimeConstrainedClassifier(learner, time_limit=case.seconds, teacher=case.teacher, random_state=number)
    gc.collect()
    before = ResourceSnapshot.take()
    start = time.perf_counter()
    try:
        classifier.fit(case.pool.X, case.pool.y)
        reason: str = classifier.stop_reason_
    except Exception as error:  # the benchmark records failures and continues
        reason = type(error).__name__
    returned = time.perf_counter()
    rounds, usable = len(getattr(classifier, "history_", ())), _is_usable(classifier, case)
    # A large model holds the descriptor of its memory as long as it lives.
    del classifier, learner
    left, clear_after = wait_for_cleanup(before, returned)
    return DeadlineRun(returned - start - case.seconds, reason, rounds, usable, left, clear_after)


def _is_usable(classifier: TimeConstrainedClassifier, case: DeadlineCase) -> bool:
    try:
        accuracy = classifier.score(case.pool.X_test, case.pool.y_test)
    except Exception:  # a model that cannot predict is not usable, whatever the reason
        return False
    best = [finished for finished in classifier.history_ if finished.best][-1]
    if best.rows != classifier.n_rows_trained_:
        return False
    if best.low is None or best.estimate is None:
        # Only a model trained on every row may win without an exam.
        return best.rows == len(case.pool.X)
    best_low = max(finished.low for finished in classifier.history_ if finished.low is not None)
    # The default teacher prefers a model of more rows unless it is clearly worse.
    is_best = best.low == best_low or isinstance(case.teacher, Auto)
    return is_best and abs(accuracy - best.estimate) < 0.1


def run_case(case: DeadlineCase, runs: int) -> list[DeadlineRun]:
    """Run a warm-up fit, then the measured fits."""
    few = slice(300)
    TimeConstrainedClassifier(case.learner(0.0), time_limit=60).fit(case.pool.X[few], case.pool.y[few])
    finished = [run_fit(case, number, runs) for number in range(runs)]
    print(" | ".join(_make_row(case.name, finished)), flush=True)
    return finished


def _make_row(name: str, runs: Sequence[DeadlineRun]) -> list[str]:
    late = Quantiles.of([one.late for one in runs])
    left = Counter(thing for one in runs for thing in one.left)
    reasons = Counter(one.reason for one in runs)
    return [
        name,
        str(len(runs)),
        str(sum(one.after < -_EARLY_SECONDS for one in runs)),
        _format_ms(Quantiles.of([one.after for one in runs]).p50),
        *map(_format_ms, (late.p50, late.p99, late.max)),
        ", ".join(f"{reason} {count}" for reason, count in reasons.items()),
        f"{sum(one.usable for one in runs)}/{len(runs)}",
        ", ".join(f"{thing} {count}" for thing, count in left.items()) or "nothing",
        _format_ms(max(one.clear_after for one in runs)),
    ]


_COLUMNS = (
    "case",
    "runs",
    f"early by {_EARLY_SECONDS:g} s",
    "return - T, p50 (ms)",
    "late p50 (ms)",
    "p99",
    "max",
    "stop reason",
    "model usable",
    "left after 1 s",
    "all clear at most (ms) after",
)


def _format_ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def measure_cold_starts(runs: int) -> list[dict[str, float]]:
    """Measure the first fit of a fresh interpreter, with a learner that hangs in its second round."""
    spec = FitSpec("hangs", rows=20_000, columns=20, seconds=_COLD_LIMIT_SECONDS, first=500)
    return [
        {"after": result["elapsed"] - _COLD_LIMIT_SECONDS, "first_lesson": result["first_lesson"]}
        for result in (measure_in_fresh_interpreter(spec) for _ in range(runs))
    ]


def _make_cold_table(runs: Sequence[dict[str, float]]) -> MarkdownTable:
    rows = [
        [str(number), _format_ms(one["first_lesson"]), _format_ms(one["after"])] for number, one in enumerate(runs, 1)
    ]
    columns = ("run", "until the first lesson begins (ms)", "return - T (ms)")
    return MarkdownTable(f"Cold start: first fit of a fresh interpreter, T = {_COLD_LIMIT_SECONDS:g} s", columns, rows)


def _make_goals(results: dict[str, list[DeadlineRun]], cold: Sequence[dict[str, float]]) -> list[Goal]:
    spreads = {name: Quantiles.of([one.late for one in runs]) for name, runs in results.items()}
    runs = [one for case in results.values() for one in case]
    p99, worst = max(spread.p99 for spread in spreads.values()), max(spread.max for spread in spreads.values())
    coldest = max((one["after"] for one in cold), default=0.0)
    return [
        Goal(f"p99 of lateness at most {P99_GOAL} s in every case; the largest is {p99:.3f} s", p99 <= P99_GOAL),
        Goal(f"lateness never above {MAX_GOAL} s; the largest is {worst:.3f} s", worst <= MAX_GOAL),
        Goal(
            f"nothing left behind after 1 s; {sum(bool(one.left) for one in runs)} runs left something",
            not any(one.left for one in runs),
        ),
        Goal(f"the best model usable; {sum(not one.usable for one in runs)} runs without", all(r.usable for r in runs)),
        Goal(f"a cold start is no later than {MAX_GOAL} s; the largest is {coldest:.3f} s", coldest <= MAX_GOAL),
    ]


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="runs of each case")
    parser.add_argument("--cold-runs", type=int, default=5, help="runs of the cold start")
    parser.add_argument("--seconds", type=float, default=2.0, help="time limit T in seconds")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the large pools' rows, for a quick try")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def main() -> int:
    """Run every case; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(), Environment.current()
    # Warnings of the learners repeat what the stop reason says.
    warnings.simplefilter("ignore")
    cold = measure_cold_starts(arguments.cold_runs)
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder, use_private_temporary_folder():
        cases = make_cases(arguments.scale, arguments.seconds, Path(folder))
        results = {case.name: run_case(case, arguments.runs) for case in cases if arguments.only in case.name}
    together = [one for runs in results.values() for one in runs]
    rows = [*(_make_row(name, runs) for name, runs in results.items()), _make_row("all", together)]
    table = MarkdownTable(
        f"Return time against the deadline, T = {arguments.seconds:g} s unless a case needs more, after a warming fit",
        _COLUMNS,
        rows,
    )
    figures = {"runs": {name: [asdict(one) for one in runs] for name, runs in results.items()}, "cold": cold}
    return write_report(
        "deadline", environment, [table, _make_cold_table(cold)], _make_goals(results, cold), figures, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
