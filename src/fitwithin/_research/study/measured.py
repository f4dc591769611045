"""What a study found: its lines as records, and means over the seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fitwithin._research.study.statistics import mean


@dataclass(frozen=True)
class RoundLine:
    """A model of a run: when it was ready, how good it is, and whether the teacher would return it from then on."""

    number: int
    elapsed: float
    accuracy: float
    best: bool


@dataclass(frozen=True)
class Run:
    """One teacher, one learner, one data set, one seed.

    Without a model in time, `error` says why. With one, and an error, the learner failed later on: the teacher was not
    given its time, so that the run is neither in any mean nor held against the teacher, but listed as left out.
    """

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
        Missing data sets, dropped pairs, runs without a model, runs in which the learner failed.
    starts : tuple of mapping
        Environment, versions and plan, for each start of the study.

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
        sized = [line for line in kinds["size"] if line["rows"] is not None]
        fewer = {_key(line)[:2]: line["rows"] for line in sized if line["rows"] < line["of"]}
        return cls(kept, data, fewer, tuple(left_out), tuple(kinds["start"]))

    @cached_property
    def _finished(self) -> Mapping[tuple[str, str, str], list[Run]]:
        finished: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
        for run in self.runs:
            if run.accuracy is not None and run.error is None:
                finished[run.learner, run.dataset, run.teacher].append(run)
        return dict(finished)

    @cached_property
    def _counts(self) -> Mapping[tuple[str, str, str], tuple[int, int]]:
        counts: dict[tuple[str, str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
        for run in self.runs:
            without, of = counts[run.learner, run.dataset, run.teacher]
            counts[run.learner, run.dataset, run.teacher] = without + (run.accuracy is None), of + 1
        return dict(counts)

    def without_model(self, learner: str, dataset: str, teacher: str) -> tuple[int, int]:
        """How many runs ended without a model, and of how many."""
        return self._counts.get((learner, dataset, teacher), (0, 0))

    def came_to_nothing(self, learner: str, dataset: str, teacher: str) -> bool:
        """Whether the teacher was run there, and no run ended with a model."""
        without, of = self.without_model(learner, dataset, teacher)
        return 0 < without == of

    def finished(self, learner: str, dataset: str, teacher: str) -> Sequence[Run]:
        """The runs that returned a model and did not fail, one per seed."""
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
