"""The results of a study: its log as records, and means over the seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fitwithin_paper.study.significance import mean_of_known


@dataclass(frozen=True)
class RoundResult:
    """A model of a run: seconds until it was ready, test accuracy, and whether the teacher would return it."""

    number: int
    elapsed_seconds: float
    accuracy: float
    best: bool


@dataclass(frozen=True)
class RunResult:
    """One teacher, one learner, one data set, one seed.

    Without a model, `error` holds the reason. A run with a model and an error did not use its time, because the
    learner failed later. Such a run enters no mean and no comparison; the report lists it as left out.
    """

    dataset: str
    learner: str
    teacher: str
    seed: int
    limit_seconds: float | None
    accuracy: float | None
    n_rows: int | None
    used_seconds: float | None
    error: str | None = None
    rounds: tuple[RoundResult, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class DatasetSize:
    """The size of a data set and its origin."""

    train_rows: int
    test_rows: int
    columns: int
    classes: int
    source: str


@dataclass(frozen=True)
class Omission:
    """A missing result and the reason; an empty name stands for all."""

    dataset: str
    learner: str
    teacher: str
    why: str


@dataclass(frozen=True)
class StudyResults:
    """All results of a study, complete or not.

    Parameters
    ----------
    runs : tuple of RunResult
        One per data set, learner, teacher and seed; the last one of a repeated run.
    dataset_sizes : mapping of str to DatasetSize
        Sizes of the data sets that were read.
    reduced_rows : mapping of (str, str) to int
        Training rows of a data set and a learner, where not all of them were used.
    omissions : tuple of Omission
        Missing data sets, dropped experiments, runs without a model, runs with a failed learner.
    starts : tuple of mapping
        Environment, versions and plan of each start of the study.

    Examples
    --------
    >>> of = {"dataset": "covtype", "learner": "lightgbm", "teacher": "tct", "limit": 9.0, "rows": 10, "used": 8.0}
    >>> lines = [{"kind": "run", "seed": s, "accuracy": 0.8 + s / 10, **of} for s in (0, 1)]
    >>> study = StudyResults.from_lines(lines)
    >>> round(study.accuracy("lightgbm", "covtype", "tct"), 3), study.limit_seconds("lightgbm", "covtype")
    (0.85, 9.0)
    """

    runs: tuple[RunResult, ...]
    dataset_sizes: Mapping[str, DatasetSize]
    reduced_rows: Mapping[tuple[str, str], int]
    omissions: tuple[Omission, ...]
    starts: tuple[Mapping[str, Any], ...]

    @classmethod
    def from_lines(cls, lines: Sequence[Mapping[str, Any]]) -> StudyResults:
        """Collect the lines of a result log; a later line replaces an earlier one about the same run."""
        kinds: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for line in lines:
            kinds[line.get("kind", "")].append(line)
        sizes = {line["dataset"]: _parse_size(line) for line in kinds["data"]}
        rounds = _parse_rounds(kinds["round"])
        runs = {_line_key(line): _parse_run(line, rounds.get(_line_key(line), ())) for line in kinds["run"]}
        taught = {(run.dataset, run.learner) for run in runs.values() if run.teacher != "full"}
        # A dropped experiment may have been run later, with a lower --min-seconds.
        dropped = {pair: line for line in kinds["dropped"] if (pair := _line_key(line)[:2]) not in taught}
        missing = dict.fromkeys((line["dataset"], line["why"]) for line in kinds["missing"])
        omissions = [Omission(dataset, "", "", why) for dataset, why in missing if dataset not in sizes]
        omissions += [Omission(*pair, "", _describe_drop(line)) for pair, line in dropped.items()]
        kept = tuple(run for run in runs.values() if (run.dataset, run.learner) not in dropped)
        omissions += [Omission(r.dataset, r.learner, r.teacher, f"seed {r.seed}: {r.error}") for r in kept if r.error]
        sized = [line for line in kinds["size"] if line["rows"] is not None]
        reduced_rows = {_line_key(line)[:2]: line["rows"] for line in sized if line["rows"] < line["of"]}
        return cls(kept, sizes, reduced_rows, tuple(omissions), tuple(kinds["start"]))

    @cached_property
    def _finished_runs(self) -> Mapping[tuple[str, str, str], list[RunResult]]:
        finished: dict[tuple[str, str, str], list[RunResult]] = defaultdict(list)
        for run in self.runs:
            if run.accuracy is not None and run.error is None:
                finished[run.learner, run.dataset, run.teacher].append(run)
        return dict(finished)

    @cached_property
    def _run_counts(self) -> Mapping[tuple[str, str, str], tuple[int, int]]:
        counts: dict[tuple[str, str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
        for run in self.runs:
            without, total = counts[run.learner, run.dataset, run.teacher]
            counts[run.learner, run.dataset, run.teacher] = without + (run.accuracy is None), total + 1
        return dict(counts)

    def count_without_model(self, learner: str, dataset: str, teacher: str) -> tuple[int, int]:
        """Return the number of runs without a model, and the number of all runs."""
        return self._run_counts.get((learner, dataset, teacher), (0, 0))

    def never_had_model(self, learner: str, dataset: str, teacher: str) -> bool:
        """Whether the teacher was run and no run ended with a model."""
        without, total = self.count_without_model(learner, dataset, teacher)
        return 0 < without == total

    def finished_runs(self, learner: str, dataset: str, teacher: str) -> Sequence[RunResult]:
        """Return the runs that ended with a model and without an error, one per seed."""
        return self._finished_runs.get((learner, dataset, teacher), ())

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """Mean accuracy over the seeds that ended with a model."""
        return mean_of_known(run.accuracy for run in self.finished_runs(learner, dataset, teacher))

    def training_share(self, learner: str, dataset: str, teacher: str) -> float | None:
        """Mean share of the training rows behind the returned models."""
        n_rows = mean_of_known(run.n_rows for run in self.finished_runs(learner, dataset, teacher))
        size = self.dataset_sizes.get(dataset)
        total = self.reduced_rows.get((dataset, learner)) or (None if size is None else size.train_rows)
        return None if n_rows is None or total is None else n_rows / total

    def limit_seconds(self, learner: str, dataset: str) -> float | None:
        """Mean time of a full training, which is the time limit of the teachers."""
        measured = mean_of_known(run.used_seconds for run in self.finished_runs(learner, dataset, "full"))
        limits = (run.limit_seconds for run in self.runs if (run.learner, run.dataset) == (learner, dataset))
        return mean_of_known(limits) if measured is None else measured

    def test_rows(self, dataset: str) -> int | None:
        """Number of test rows; None if the log has no line about the data set."""
        return self.dataset_sizes[dataset].test_rows if dataset in self.dataset_sizes else None

    def datasets(self, learner: str) -> tuple[str, ...]:
        """Data sets on which the learner was run, sorted by name."""
        return tuple(sorted({run.dataset for run in self.runs if run.learner == learner}, key=str.casefold))

    @cached_property
    def learners(self) -> frozenset[str]:
        """Learners of the runs."""
        return frozenset(run.learner for run in self.runs)

    @cached_property
    def teachers(self) -> frozenset[str]:
        """Teachers that returned a model at least once."""
        return frozenset(teacher for _, _, teacher in self._finished_runs)


def _line_key(line: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return line["dataset"], line["learner"], line.get("teacher", ""), line.get("seed", 0)


def _parse_rounds(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str, int], list[RoundResult]]:
    """Return the rounds of each run; a number that does not increase starts a new attempt after an interruption."""
    rounds: dict[tuple[str, str, str, int], list[RoundResult]] = defaultdict(list)
    for line in lines:
        attempt = rounds[_line_key(line)]
        if attempt and attempt[-1].number >= line["number"]:
            attempt.clear()
        # A model that was ready only at the deadline has no accuracy here; if it was returned, the run has it.
        if line["accuracy"] is not None:
            attempt.append(RoundResult(line["number"], line["elapsed"], line["accuracy"], line["best"]))
    return rounds


def _parse_run(line: Mapping[str, Any], rounds: Iterable[RoundResult]) -> RunResult:
    dataset, learner, teacher, seed = _line_key(line)
    error = line.get("error") or (None if line["accuracy"] is not None else "no model")
    limit, accuracy, rows, used = (line.get(name) for name in ("limit", "accuracy", "rows", "used"))
    return RunResult(dataset, learner, teacher, seed, limit, accuracy, rows, used, error, tuple(rounds))


def _parse_size(line: Mapping[str, Any]) -> DatasetSize:
    train, test, columns, classes = (int(line[name]) for name in ("train_rows", "test_rows", "columns", "classes"))
    return DatasetSize(train, test, columns, classes, str(line.get("source", "")))


def _describe_drop(line: Mapping[str, Any]) -> str:
    seconds = line.get("seconds")
    return line["why"] if seconds is None else f"{line['why']} (training on all rows took {seconds:.2g} s)"
