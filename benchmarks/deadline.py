"""How late `fit` returns, whatever the learner does, and what it leaves behind."""

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

P99_GOAL, MAX_GOAL = 0.1, 0.25
_EARLY = 0.1
_COLD_SECONDS = 10.0


@dataclass(frozen=True)
class Run:
    """One fit.

    Parameters
    ----------
    after : float
        Seconds from the deadline to the return; negative if it returned before.
    reason : str
        Why it stopped, or the exception that came out.
    rounds : int
        Rounds that were finished.
    usable : bool
        Whether the model that came back predicts, is the best of the history, and is as good as its exam said.
    left : list of str
        What was left behind one second after the return.
    clear_after : float
        Seconds after the return when nothing was left.
    """

    after: float
    reason: str
    rounds: int
    usable: bool
    left: list[str]
    clear_after: float

    @property
    def late(self) -> float:
        """Seconds of lateness; to be early is no merit."""
        return max(0.0, self.after)


def run(case: DeadlineCase, seconds: float, number: int, runs: int) -> Run:
    """Fit once, look at the clock, then at the model and around."""
    learner = case.learner(number / max(1, runs - 1))
    classifier = TimeConstrainedClassifier(learner, time_limit=seconds, teacher=case.teacher, random_state=number)
    gc.collect()
    before = ResourceSnapshot.now()
    start = time.perf_counter()
    try:
        classifier.fit(case.pool.X, case.pool.y)
        reason: str = classifier.stop_reason_
    except Exception as error:  # a benchmark counts what goes wrong and goes on
        reason = type(error).__name__
    returned = time.perf_counter()
    rounds, usable = len(getattr(classifier, "history_", ())), _usable(classifier, case)
    # A large model that came back holds the descriptor of its memory for as long as it lives.
    del classifier, learner
    left, clear_after = wait_for_cleanup(before, returned)
    return Run(returned - start - seconds, reason, rounds, usable, left, clear_after)


def _usable(classifier: TimeConstrainedClassifier, case: DeadlineCase) -> bool:
    try:
        accuracy = classifier.score(case.pool.X_test, case.pool.y_test)
    except Exception:  # whatever it is, this model is of no use
        return False
    best = [finished for finished in classifier.history_ if finished.best][-1]
    if best.rows != classifier.n_rows_taught_:
        return False
    if best.low is None or best.estimate is None:
        # Only a model that was taught every row may win without an exam.
        return best.rows == len(case.pool.X)
    best_low = max(finished.low for finished in classifier.history_ if finished.low is not None)
    return best.low == best_low and abs(accuracy - best.estimate) < 0.1


def run_all(case: DeadlineCase, seconds: float, runs: int) -> list[Run]:
    """A warming fit, then the runs."""
    few = slice(300)
    TimeConstrainedClassifier(case.learner(0.0), time_limit=60).fit(case.pool.X[few], case.pool.y[few])
    finished = [run(case, seconds, number, runs) for number in range(runs)]
    print(" | ".join(_row(case.name, finished)), flush=True)
    return finished


def _row(name: str, runs: Sequence[Run]) -> list[str]:
    late = Quantiles.of([one.late for one in runs])
    left = Counter(thing for one in runs for thing in one.left)
    reasons = Counter(one.reason for one in runs)
    return [
        name,
        str(len(runs)),
        str(sum(one.after < -_EARLY for one in runs)),
        _ms(Quantiles.of([one.after for one in runs]).p50),
        *map(_ms, (late.p50, late.p99, late.max)),
        ", ".join(f"{reason} {count}" for reason, count in reasons.items()),
        f"{sum(one.usable for one in runs)}/{len(runs)}",
        ", ".join(f"{thing} {count}" for thing, count in left.items()) or "nothing",
        _ms(max(one.clear_after for one in runs)),
    ]


_COLUMNS = (
    "case",
    "runs",
    f"early by {_EARLY:g} s",
    "return - T, p50 (ms)",
    "late p50 (ms)",
    "p99",
    "max",
    "stop reason",
    "model usable",
    "left after 1 s",
    "all clear at most (ms) after",
)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def cold_starts(runs: int) -> list[dict[str, float]]:
    """The first fit of a fresh interpreter, with a learner that hangs in its second round."""
    spec = FitSpec("hangs", rows=20_000, columns=20, seconds=_COLD_SECONDS, first=500)
    return [
        {"after": result["elapsed"] - _COLD_SECONDS, "first_lesson": result["first_lesson"]}
        for result in (measure_in_fresh_interpreter(spec) for _ in range(runs))
    ]


def _cold_table(runs: Sequence[dict[str, float]]) -> MarkdownTable:
    rows = [[str(number), _ms(one["first_lesson"]), _ms(one["after"])] for number, one in enumerate(runs, 1)]
    columns = ("run", "until the first lesson begins (ms)", "return - T (ms)")
    return MarkdownTable(f"Cold start: first fit of a fresh interpreter, T = {_COLD_SECONDS:g} s", columns, rows)


def _goals(results: dict[str, list[Run]], cold: Sequence[dict[str, float]]) -> list[Goal]:
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="runs of each case")
    parser.add_argument("--cold-runs", type=int, default=5, help="runs of the cold start")
    parser.add_argument("--seconds", type=float, default=2.0, help="the time limit T")
    parser.add_argument("--only", default="", help="only cases whose name holds this text")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the large pools' rows, for a quick try")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def main() -> int:
    """Run every case; 1 if a goal is missed."""
    arguments, environment = _arguments(), Environment.here()
    # What learners warn of is their trouble, and it is in the stop reason.
    warnings.simplefilter("ignore")
    cold = cold_starts(arguments.cold_runs)
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder, use_private_temporary_folder():
        cases = make_cases(arguments.scale, arguments.seconds, Path(folder))
        chosen = [case for case in cases if arguments.only in case.name]
        results = {case.name: run_all(case, arguments.seconds, arguments.runs) for case in chosen}
    together = [one for runs in results.values() for one in runs]
    rows = [*(_row(name, runs) for name, runs in results.items()), _row("all", together)]
    table = MarkdownTable(
        f"Return time against the deadline, T = {arguments.seconds:g} s, after a warming fit", _COLUMNS, rows
    )
    figures = {"runs": {name: [asdict(one) for one in runs] for name, runs in results.items()}, "cold": cold}
    return write_report(
        "deadline", environment, [table, _cold_table(cold)], _goals(results, cold), figures, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
