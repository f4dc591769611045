"""Resumable runs of the accuracy benchmark: every rival on every pair, one result line for each run."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fitwithin
from _accuracy_datasets import BenchmarkDataset, open_dataset
from _accuracy_plan import Pair, Plan
from _accuracy_rivals import Outcome, Rival, RivalTask
from _git import current_commit
from _report import Environment
from fitwithin_paper.study.dataset_sources import DatasetLoader, DatasetUnavailable
from fitwithin_paper.study.result_log import ResultLine, ResultLog
from fitwithin_paper.study.study_run import TrainTestRows, describe_error


@dataclass(frozen=True, eq=False)
class AccuracyBenchmark:
    """A plan and the file with its results.

    Parameters
    ----------
    plan : Plan
        The plan.
    rivals : mapping of str to Rival
        The available rivals of the plan.
    find : callable
        Returns a data set by its name.
    results : ResultLog
        ResultLog so far; new lines are appended, and finished runs are not repeated.
    """

    plan: Plan
    rivals: Mapping[str, Rival]
    find: DatasetLoader
    results: ResultLog

    def run(self) -> None:
        """Run the unfinished part of the plan."""
        self.results.append([_make_start_line(self.plan, self.rivals)])
        for dataset, pairs in self.plan.group_by_dataset():
            blocks = [_Block(self, pair, seed) for pair in pairs for seed in self.plan.seeds]
            if any(block.is_unfinished for block in blocks):
                self._run_dataset(dataset, pairs)

    def _run_dataset(self, dataset: str, pairs: list[Pair]) -> None:
        try:
            with open_dataset(dataset, self.find) as opened:
                for pair in pairs:
                    self._run_pair(pair, opened)
        except (DatasetUnavailable, ValueError) as error:
            print(f"{dataset} is left out: {error}", flush=True)
            self.results.append([{"kind": "missing", "dataset": dataset, "why": str(error)}])

    def _run_pair(self, pair: Pair, dataset: BenchmarkDataset) -> None:
        rows = dataset.select_rows(pair.rows, pair.test_rows or self.plan.test_rows)
        self.results.append([_make_pair_line(pair, dataset, rows)])
        for seed in self.plan.seeds:
            _Block(self, pair, seed).run(rows)

    @property
    def session(self) -> int:
        """Number of times that the benchmark was started with this file."""
        return len(self.results.find_lines("start"))


class _Block:
    """One pair and one seed: measures T, then runs every rival with limits that depend on it."""

    def __init__(self, benchmark: AccuracyBenchmark, pair: Pair, seed: int) -> None:
        self._benchmark = benchmark
        self._pair = pair
        self._name = {"dataset": pair.dataset, "learner": pair.learner, "seed": seed}
        self._seed = seed

    @property
    def is_unfinished(self) -> bool:
        """Whether a run is missing."""
        full = self._find_full_line()
        return full is None or (full["error"] is None and bool(self._find_missing_runs()))

    def run(self, rows: TrainTestRows) -> None:
        """Measure T, then run every rival that has no line yet."""
        if not self.is_unfinished:
            return
        full = self._find_full_line()
        # The machine may be slower or faster than in the last session.
        if full is None or full["session"] != self._benchmark.session:
            full = self._run_and_record("full", 1.0, None, rows)
        if full["error"] is None:
            for rival, share in self._find_missing_runs():
                self._run_and_record(rival, share, share * self._find_full_seconds(full), rows)

    def _find_full_line(self) -> ResultLine | None:
        lines = self._benchmark.results.find_lines("fit", rival="full", **self._name)
        return lines[-1] if lines else None

    def _find_full_seconds(self, full: ResultLine) -> float:
        """Return T."""
        return self._benchmark.plan.limits.find_full_seconds(full["fit_seconds"])

    def _find_missing_runs(self) -> list[tuple[str, float]]:
        """Return the missing runs as rivals and shares of T."""
        plan, rivals, results = self._benchmark.plan, self._benchmark.rivals, self._benchmark.results
        done = {(line["rival"], line["share"]) for line in results.find_lines("fit", **self._name)}
        # The first measured T decides, so that every seed has the same shares.
        pair = {"dataset": self._pair.dataset, "learner": self._pair.learner}
        measured = [line for line in results.find_lines("fit", rival="full", **pair) if line["error"] is None]
        return [
            (rival, share)
            for rival, share in plan.list_runs(self._find_full_seconds(measured[0]), self._seed)
            if rival in rivals and rivals[rival].applies(self._pair.learner) and (rival, share) not in done
        ]

    def _run_and_record(self, rival: str, share: float, limit: float | None, rows: TrainTestRows) -> ResultLine:
        full_rows = self._pair.rows if self._pair.rows < rows.n_train else None
        task = RivalTask(self._pair.learner, rows, limit or 0.0, self._seed, full_rows)
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        found = asdict(run_rival(self._benchmark.rivals[rival], task))
        session = {"session": self._benchmark.session, "load": load}
        line = {"kind": "fit", **self._name, "rival": rival, "share": share, "limit": limit, **found, **session}
        self._benchmark.results.append([line])
        print(_format_line(self._pair, line), flush=True)
        return line


def run_rival(rival: Rival, task: RivalTask) -> Outcome:
    """Run a rival; an exception becomes a result, so that the benchmark continues."""
    start = time.perf_counter()
    try:
        return rival.run(task)
    except Exception as error:
        return Outcome(time.perf_counter() - start, error=describe_error(error))


def _format_line(pair: Pair, line: ResultLine) -> str:
    accuracy = line["error"] if line["accuracy"] is None else f"{100 * line['accuracy']:.2f} %"
    limit = "no limit" if line["limit"] is None else f"{line['limit']:.1f} s"
    return f"{pair.name}, seed {line['seed']}: {line['rival']}: {accuracy}, {line['seconds']:.1f} s of {limit}"


def _make_pair_line(pair: Pair, dataset: BenchmarkDataset, rows: TrainTestRows) -> ResultLine:
    return {
        "kind": "pair",
        "list": pair.list_name,
        "dataset": pair.dataset,
        "learner": pair.learner,
        "rows": min(pair.rows, rows.n_train),
        "of": dataset.n_rows,
        "test_rows": rows.n_test,
        "columns": dataset.n_columns,
        "classes": dataset.n_classes,
        "source": dataset.source,
    }


def _make_start_line(plan: Plan, rivals: Mapping[str, Rival]) -> dict[str, Any]:
    """Return the line with the conditions of the following runs."""
    return {
        "kind": "start",
        "machine": asdict(Environment.current()),
        "code": hash_source(),
        "commit": current_commit(),
        "list": " and ".join(sorted({pair.list_name for pair in plan.pairs})),
        "rivals": [rival for rival in plan.rivals if rival in rivals],
        "seeds": list(plan.seeds),
    }


def hash_source() -> str:
    """Return a short hash of the package's source, which tells results of two versions apart."""
    folder = Path(fitwithin.__file__).parent
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
