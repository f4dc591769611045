"""What a study found: its lines as records, means over the seeds, and the paper's test of a difference."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, Protocol

Direction = Literal["win", "tie", "loss"]

# The paper prints 1.645, the quantile of a one-sided test at 95 %, and no further digit.
Z = 1.645


class Findings(Protocol):
    """Accuracies of teachers, whoever measured them: this study or the paper."""

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """The mean accuracy on the test set; None where there is none."""

    def datasets(self, learner: str) -> Sequence[str]:
        """The data sets on which the learner was taught."""

    def test_rows(self, dataset: str) -> int | None:
        """The size of the test set; None where it is not known."""


def direction(first: float, second: float, test_rows: int) -> Direction:
    """Whether the first accuracy beats the second at 95 %, by the paper's test.

    Parameters
    ----------
    first, second : float
        Shares of the test set that are classified rightly.
    test_rows : int
        Rows of the test set.

    Returns
    -------
    {"win", "tie", "loss"}
        A tie unless ``|a - b| - 1.645 sqrt(a (1 - a) / m + b (1 - b) / m) > 0``.

    Examples
    --------
    >>> direction(0.866, 0.853, 174_304), direction(0.603, 0.601, 17_493), direction(0.389, 0.399, 15_552)
    ('win', 'tie', 'loss')
    """
    spread = math.sqrt((first * (1 - first) + second * (1 - second)) / test_rows)
    if abs(first - second) - Z * spread <= 0:
        return "tie"
    return "win" if first > second else "loss"


def directions(findings: Findings, learner: str, first: str, second: str) -> dict[str, Direction]:
    """For each data set that both teachers finished: whether the first teacher beats the second."""
    found: dict[str, Direction] = {}
    for dataset in findings.datasets(learner):
        a, b = (findings.accuracy(learner, dataset, teacher) for teacher in (first, second))
        rows = findings.test_rows(dataset)
        if a is not None and b is not None and rows:
            found[dataset] = direction(a, b, rows)
    return found


@dataclass(frozen=True)
class Tally:
    """How often one teacher beat another, how often neither did, and how often it was beaten.

    Examples
    --------
    >>> both = Tally.of(["win", "tie", "win"]) + Tally.of(["loss"])
    >>> both, both.pairs, both.net
    (Tally(wins=2, ties=1, losses=1), 4, 'win')
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @classmethod
    def of(cls, found: Iterable[Direction]) -> Tally:
        """Count directions."""
        counted = list(found)
        return cls(counted.count("win"), counted.count("tie"), counted.count("loss"))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.ties + other.ties, self.losses + other.losses)

    @property
    def pairs(self) -> int:
        """On how many pairs of a data set and a learner it rests."""
        return self.wins + self.ties + self.losses

    @property
    def net(self) -> Direction:
        """The direction of the whole: which of wins and losses is the larger."""
        if self.wins == self.losses:
            return "tie"
        return "win" if self.wins > self.losses else "loss"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None where nothing is.

    Examples
    --------
    >>> mean([0.5, None, 1.0]), mean([])
    (0.75, None)
    """
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


@dataclass(frozen=True)
class RoundLine:
    """A model of a run: when it was ready, how good it is, and whether the teacher would return it from then on."""

    number: int
    elapsed: float
    accuracy: float
    best: bool


@dataclass(frozen=True)
class Run:
    """One teacher, one learner, one data set, one seed. Without a model in time, `error` says why."""

    dataset: str
    learner: str
    teacher: str
    seed: int
    limit: float | None
    accuracy: float | None
    rows: int | None
    used: float | None
    error: str | None = None
    rounds: tuple[RoundLine, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Sizes:
    """The size of a data set and where it came from."""

    train_rows: int
    test_rows: int
    columns: int
    classes: int
    source: str


@dataclass(frozen=True)
class LeftOut:
    """What the study does not have, and why; an empty name stands for all."""

    dataset: str
    learner: str
    teacher: str
    why: str


@dataclass(frozen=True)
class Measured:
    """Everything that a study's lines say, complete or not.

    Parameters
    ----------
    runs : tuple of Run
        One per data set, learner, teacher and seed; the last one where a run was repeated.
    data : mapping of str to Sizes
        The data sets that were read.
    fewer : mapping of (str, str) to int
        The training rows of a data set and a learner, where not all of them were used.
    left_out : tuple of LeftOut
        Missing data sets, dropped pairs, runs without a model.
    starts : tuple of mapping
        Machine, versions and plan, for each start of the study.

    Examples
    --------
    >>> of = {"dataset": "covtype", "learner": "lightgbm", "teacher": "tct", "limit": 9.0, "rows": 10, "used": 8.0}
    >>> study = Measured.from_lines([{"kind": "run", "seed": s, "accuracy": 0.8 + s / 10, **of} for s in (0, 1)])
    >>> round(study.accuracy("lightgbm", "covtype", "tct"), 3), study.limit("lightgbm", "covtype")
    (0.85, 9.0)
    """

    runs: tuple[Run, ...]
    data: Mapping[str, Sizes]
    fewer: Mapping[tuple[str, str], int]
    left_out: tuple[LeftOut, ...]
    starts: tuple[Mapping[str, Any], ...]

    @classmethod
    def from_lines(cls, lines: Sequence[Mapping[str, Any]]) -> Measured:
        """Gather the lines of a study; a later line replaces an earlier one about the same thing."""
        kinds: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for line in lines:
            kinds[line.get("kind", "")].append(line)
        data = {line["dataset"]: _sizes(line) for line in kinds["data"]}
        rounds = _rounds(kinds["round"])
        runs = {_key(line): _run(line, rounds.get(_key(line), ())) for line in kinds["run"]}
        taught = {(run.dataset, run.learner) for run in runs.values() if run.teacher != "full"}
        # A pair that was too fast at first and was taught after all (with a lower bound, say) is not dropped.
        dropped = {pair: line for line in kinds["dropped"] if (pair := _key(line)[:2]) not in taught}
        missing = dict.fromkeys((line["dataset"], line["why"]) for line in kinds["missing"])
        left_out = [LeftOut(dataset, "", "", why) for dataset, why in missing if dataset not in data]
        left_out += [LeftOut(*pair, "", _dropped(line)) for pair, line in dropped.items()]
        kept = tuple(run for run in runs.values() if (run.dataset, run.learner) not in dropped)
        left_out += [LeftOut(r.dataset, r.learner, r.teacher, f"seed {r.seed}: {r.error}") for r in kept if r.error]
        fewer = {_key(line)[:2]: line["rows"] for line in kinds["size"] if line["rows"] < line["of"]}
        return cls(kept, data, fewer, tuple(left_out), tuple(kinds["start"]))

    @cached_property
    def _finished(self) -> Mapping[tuple[str, str, str], list[Run]]:
        finished: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
        for run in self.runs:
            if run.accuracy is not None:
                finished[run.learner, run.dataset, run.teacher].append(run)
        return dict(finished)

    def finished(self, learner: str, dataset: str, teacher: str) -> Sequence[Run]:
        """The runs that returned a model, one per seed."""
        return self._finished.get((learner, dataset, teacher), ())

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """The mean accuracy over the seeds that ended with a model."""
        return mean(run.accuracy for run in self.finished(learner, dataset, teacher))

    def share(self, learner: str, dataset: str, teacher: str) -> float | None:
        """Which part of the training set the returned models were taught, on average."""
        rows = mean(run.rows for run in self.finished(learner, dataset, teacher))
        whole = self.fewer.get((dataset, learner)) or (self.data[dataset].train_rows if dataset in self.data else None)
        return None if rows is None or whole is None else rows / whole

    def limit(self, learner: str, dataset: str) -> float | None:
        """The time for training on all rows, which is the limit of the teachers."""
        measured = mean(run.used for run in self.finished(learner, dataset, "full"))
        given = (run.limit for run in self.runs if (run.learner, run.dataset) == (learner, dataset))
        return mean(given) if measured is None else measured

    def test_rows(self, dataset: str) -> int | None:
        """The size of the test set; None where the data set's line is missing."""
        return self.data[dataset].test_rows if dataset in self.data else None

    def datasets(self, learner: str) -> tuple[str, ...]:
        """The data sets on which the learner was run, by name."""
        return tuple(sorted({run.dataset for run in self.runs if run.learner == learner}, key=str.casefold))

    @cached_property
    def learners(self) -> frozenset[str]:
        """The learners of the runs."""
        return frozenset(run.learner for run in self.runs)

    @cached_property
    def teachers(self) -> frozenset[str]:
        """The teachers that returned a model at least once."""
        return frozenset(teacher for _, _, teacher in self._finished)


def _key(line: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return line["dataset"], line["learner"], line.get("teacher", ""), line.get("seed", 0)


def _rounds(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str, int], list[RoundLine]]:
    """The rounds of each run. A number that does not rise is a new attempt, after an interruption."""
    rounds: dict[tuple[str, str, str, int], list[RoundLine]] = defaultdict(list)
    for line in lines:
        attempt = rounds[_key(line)]
        if attempt and attempt[-1].number >= line["number"]:
            attempt.clear()
        # A model that came at the very deadline was not evaluated; if it was returned, the run knows its accuracy.
        if line["accuracy"] is not None:
            attempt.append(RoundLine(line["number"], line["elapsed"], line["accuracy"], line["best"]))
    return rounds


def _run(line: Mapping[str, Any], rounds: Iterable[RoundLine]) -> Run:
    dataset, learner, teacher, seed = _key(line)
    error = line.get("error") or (None if line["accuracy"] is not None else "no model")
    limit, accuracy, rows, used = (line.get(name) for name in ("limit", "accuracy", "rows", "used"))
    return Run(dataset, learner, teacher, seed, limit, accuracy, rows, used, error, tuple(rounds))


def _sizes(line: Mapping[str, Any]) -> Sizes:
    train, test, columns, classes = (int(line[name]) for name in ("train_rows", "test_rows", "columns", "classes"))
    return Sizes(train, test, columns, classes, str(line.get("source", "")))


def _dropped(line: Mapping[str, Any]) -> str:
    seconds = line.get("seconds")
    return line["why"] if seconds is None else f"{line['why']} (training on all rows took {seconds:.2g} s)"
