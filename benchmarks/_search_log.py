"""Results of the search benchmark: one line of a CSV file for each run, kept between starts."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunKey:
    """Name of a run; a run that has a line is not repeated.

    Parameters
    ----------
    part : str
        Part of the benchmark.
    dataset, learner : str
        Names of the data set and the learner, or of several learners.
    method : str
        Way to get a model.
    factor : float
        Time limit as a multiple of one full training, or of the pair's limit where that is fixed.
    seed : int
        Seed of the method and the learner, or number of the run.
    """

    part: str
    dataset: str
    learner: str
    method: str
    factor: float
    seed: int

    @property
    def name(self) -> str:
        """All parts of the name in words."""
        return f"{self.part}: {self.dataset}, {self.learner}, {self.method}, {self.factor:g} T, seed {self.seed}"


@dataclass(frozen=True)
class SearchRun(RunKey):
    """Result of a run; `Outcome` describes the figures.

    Parameters
    ----------
    limit : float or None
        Time limit in seconds.
    train_rows, test_rows : int or None
        Rows that the method received, and rows that its model was scored on.
    load : float or None
        Load average before the run.
    date, machine, code, command : str
        Conditions of the run; the code is a hash of the package's source.
    """

    list_name: str = ""
    limit: float | None = None
    seconds: float | None = None
    accuracy: float | None = None
    fit_seconds: float | None = None
    rows: int | None = None
    rounds: int | None = None
    settings: int | None = None
    memory: int | None = None
    used_bytes: int | None = None
    stop: str | None = None
    error: str | None = None
    params: str | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    load: float | None = None
    date: str = ""
    machine: str = ""
    code: str = ""
    command: str = ""

    @property
    def key(self) -> RunKey:
        """Name of the run."""
        return RunKey(self.part, self.dataset, self.learner, self.method, self.factor, self.seed)

    @property
    def late(self) -> float | None:
        """Seconds from the deadline to the return; negative if it returned earlier."""
        return None if self.seconds is None or self.limit is None else self.seconds - self.limit


_COLUMNS = tuple(field.name for field in fields(SearchRun))
_TYPES = {field.name: str(field.type) for field in fields(SearchRun)}


class RunLog:
    """The CSV file of a list.

    Parameters
    ----------
    file : Path
        The file; it is created with the first line.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._runs = {run.key: run for run in read_runs(file)}

    @property
    def runs(self) -> list[SearchRun]:
        """All runs; of two lines about the same run the later one."""
        return list(self._runs.values())

    def find(self, key: RunKey) -> SearchRun | None:
        """Return the run of this name; None if it has no line."""
        return self._runs.get(key)

    def append(self, run: SearchRun) -> None:
        """Add a line at once, so that a kill loses only the run in progress."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        is_new = not text
        with self.file.open("a", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines)
            if text and not text.endswith("\n"):
                # A kill cut the last line off.
                lines.write("\n")
            if is_new:
                writer.writerow(_COLUMNS)
            writer.writerow("" if value is None else value for value in astuple(run))
        self._runs[run.key] = run


def read_runs(file: Path) -> list[SearchRun]:
    """Read all complete lines of a file; none if it does not exist."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return [_parse_run(row) for row in csv.DictReader(lines) if None not in row.values()]


def _parse_run(row: Mapping[str, str]) -> SearchRun:
    return SearchRun(**{name: _parse_value(row[name], _TYPES[name]) for name in _COLUMNS})


def _parse_value(text: str, kind: str) -> Any:
    if text == "" and "None" in kind:
        return None
    return {"int": int, "float": float}.get(kind.split()[0], str)(text)


def merge(key: RunKey, **figures: Any) -> SearchRun:
    """Return the run of this name with these figures."""
    return SearchRun(**asdict(key), **figures)
