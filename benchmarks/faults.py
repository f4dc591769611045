"""Cause faults one by one, and compare the result of each with what is expected."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from _fault import FaultCase, FaultOutcome
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

# Seconds after which a trial has hung.
_TRIAL_SECONDS = 900

_COLUMNS = ("what is done", "expected", "held", "seen")


def load_cases() -> list[FaultCase]:
    """Return all cases, topic by topic."""
    import _fault_cases as cases
    from _fault_checkpoints import checkpoints
    from _fault_kills import kills
    from _fault_memory import memory
    from _fault_model_files import model_files

    topics = (cases.process, cases.late, kills, cases.door, model_files, cases.process_state, memory, checkpoints)
    return [case for topic in topics for case in topic.cases]


def run_trial(case: FaultCase) -> FaultOutcome:
    """Run one trial in a fresh interpreter, with a folder that nothing else uses."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--trial", case.name, "--folder", folder]
        pipe = subprocess.PIPE
        trial = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        try:
            output, errors = trial.communicate(timeout=_TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            # Programs that it started would slow down the next trial.
            os.killpg(trial.pid, signal.SIGKILL)
            trial.communicate()
            return FaultOutcome(False, f"no end after {_TRIAL_SECONDS} s")
    if trial.returncode:
        last = (errors.strip().splitlines() or ["nothing on standard error"])[-1]
        return FaultOutcome(False, f"exit code {trial.returncode}: {last[:200]}")
    return FaultOutcome(**json.loads(output.splitlines()[-1]))


def _run_here(name: str, folder: Path) -> None:
    warnings.simplefilter("ignore")
    (case,) = (case for case in load_cases() if case.name == name)
    outcome = case.trial(folder)
    print(json.dumps(asdict(outcome)), flush=True)


def _make_tables(results: Sequence[tuple[FaultCase, list[FaultOutcome]]]) -> list[MarkdownTable]:
    topics = dict.fromkeys(case.topic for case, _ in results)
    return [
        MarkdownTable(
            topic.capitalize(),
            _COLUMNS,
            [_make_row(case, outcomes) for case, outcomes in results if case.topic == topic],
        )
        for topic in topics
    ]


def _make_row(case: FaultCase, outcomes: Sequence[FaultOutcome]) -> list[str]:
    held = [outcome.held for outcome in outcomes]
    # Show a trial that failed, if there is one.
    shown = outcomes[held.index(False)] if False in held else outcomes[-1]
    return [case.name, case.expected, f"{sum(held)} of {len(held)}", shown.figure.replace("|", "/")]


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="trials of each case")
    parser.add_argument("--only", default="", help="only cases whose topic or name contains this text")
    parser.add_argument("--skip", default="", help="leave out cases whose name contains this text")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--trial", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run every case; return 1 if one did not hold."""
    arguments = _parse_arguments()
    if arguments.trial:
        _run_here(arguments.trial, arguments.folder)
        sys.stdout.flush()
        return 0
    environment = Environment.current()
    chosen = [case for case in load_cases() if arguments.only in f"{case.topic}: {case.name}"]
    chosen = [case for case in chosen if not arguments.skip or arguments.skip not in case.name]
    results = [(case, [run_trial(case) for _ in range(1 if case.once else arguments.runs)]) for case in chosen]
    goals = [
        Goal(f"{case.topic}: {case.name}: {case.expected}", all(outcome.held for outcome in outcomes))
        for case, outcomes in results
    ]
    figures = {"trials": {case.name: [asdict(outcome) for outcome in outcomes] for case, outcomes in results}}
    return write_report("faults", environment, _make_tables(results), goals, figures, arguments.results)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
