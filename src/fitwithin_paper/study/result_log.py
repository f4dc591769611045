"""The result log: lines of JSON, appended run by run and read again after a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fitwithin import FitwithinError

FORMAT_VERSION = 1
"""Version of the lines; lines of another version are rejected."""


ResultLine = Mapping[str, Any]


_RUN_FIELDS: Mapping[str, Any] = {"dataset": str, "learner": str, "teacher": str, "seed": int}


_OPTIONAL_NUMBER = int | float | None


_REQUIRED_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "start": {"machine": dict},
    "data": {"dataset": str, "train_rows": int, "test_rows": int, "columns": int, "classes": int},
    "missing": {"dataset": str, "why": str},
    "dropped": {"dataset": str, "learner": str, "seconds": _OPTIONAL_NUMBER, "why": str},
    "size": {"dataset": str, "learner": str, "rows": int | None, "of": int},
    "round": {**_RUN_FIELDS, "number": int, "elapsed": int | float, "accuracy": _OPTIONAL_NUMBER, "best": bool},
    "run": {
        **_RUN_FIELDS,
        "limit": _OPTIONAL_NUMBER,
        "accuracy": _OPTIONAL_NUMBER,
        "rows": int | None,
        "used": _OPTIONAL_NUMBER,
    },
}
"""Required fields and their types for each kind of line; lines of other kinds are kept as they are."""


class ResultLogLocked(FitwithinError, RuntimeError):
    """Another process is writing to the result log."""


@dataclass(frozen=True)
class RejectedLines:
    """Lines that can't be used, the reason, and the file they were moved to, if any."""

    n_lines: int
    reason: str
    file: Path | None = None

    def __str__(self) -> str:
        lines = f"{self.n_lines} line{'s' if self.n_lines > 1 else ''} of the results"
        return f"{lines} {'skipped' if self.file is None else f'moved to {self.file}'}: {self.reason}."


class ResultLog:
    """The results file of a study.

    Parameters
    ----------
    file : Path
        File of JSON lines, created with the first line. Lines that can't be used are moved to a second file, so there
        must be no other writer: see `lock_results`. `read_result_lines` only reads.

    Attributes
    ----------
    lines : list of dict
        All lines of the file.
    rejected : tuple of RejectedLines
        Lines that could not be used when the file was opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ResultLog(Path(folder) / "results.jsonl").append([{"kind": "missing", "dataset": "aloi", "why": "no file"}])
    ...     ResultLog(Path(folder) / "results.jsonl").lines
    [{'v': 1, 'kind': 'missing', 'dataset': 'aloi', 'why': 'no file'}]
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        raw = file.read_bytes() if file.exists() else b""
        self.lines, rejected = _parse_lines(raw)
        self.rejected = tuple(
            RejectedLines(len(lines), reason, self._sibling("set-aside")) for reason, lines in rejected.items()
        )
        if rejected or not raw.endswith(b"\n" if raw else b""):
            self._repair([line for lines in rejected.values() for line in lines])

    def append(self, lines: Sequence[ResultLine]) -> None:
        """Add lines that belong together, in one write."""
        versioned = [{"v": FORMAT_VERSION, **line} for line in lines]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        _append_to_file(self.file, _encode_lines(versioned))
        self.lines += versioned

    def append_if_new(self, line: ResultLine, **key: Any) -> None:
        """Add a line unless the last line of its kind with these fields says the same."""
        last = self.find_lines(line["kind"], **key)[-1:]
        if not last or not line.items() <= last[0].items():
            self.append([line])

    def find_lines(self, kind: str, **fields: Any) -> list[ResultLine]:
        """Return the lines of a kind that have these fields."""
        return [line for line in self.lines if line["kind"] == kind and fields.items() <= line.items()]

    def _repair(self, rejected: list[bytes]) -> None:
        """Keep only usable lines; the others are written to the second file before they are removed."""
        if rejected:
            _append_to_file(self._sibling("set-aside"), b"\n".join(rejected) + b"\n")
        repaired = self._sibling("rewritten")
        repaired.unlink(missing_ok=True)
        _append_to_file(repaired, _encode_lines(self.lines))
        os.replace(repaired, self.file)

    def _sibling(self, word: str) -> Path:
        return self.file.with_name(f"{self.file.stem}.{word}{self.file.suffix}")


@contextmanager
def lock_results(file: Path) -> Iterator[None]:
    """Exclude every other writer of a result log until the end of the block.

    Parameters
    ----------
    file : Path
        The results file. The lock is a second file, because the results may be replaced by a repaired copy. The
        operating system releases the lock of a killed process.

    Raises
    ------
    ResultLogLocked
        If another writer holds the lock.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file.with_suffix(".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        advice = "Wait until it ends, or use another --out."
        raise ResultLogLocked(f"Another study is writing to {file}. {advice}") from None
    try:
        yield
    finally:
        lock.release()


def read_result_lines(file: Path) -> tuple[list[dict[str, Any]], tuple[RejectedLines, ...]]:
    """Return the lines of a results file and those that can't be used, without changing the file.

    Examples
    --------
    >>> read_result_lines(Path("nowhere.jsonl"))
    ([], ())
    """
    lines, rejected = _parse_lines(file.read_bytes() if file.exists() else b"")
    return lines, tuple(RejectedLines(len(bodies), reason) for reason, bodies in rejected.items())


def _parse_lines(raw: bytes) -> tuple[list[dict[str, Any]], dict[str, list[bytes]]]:
    """Return the usable lines, and the others by the reason for their rejection."""
    usable: list[dict[str, Any]] = []
    bodies: list[bytes] = []
    rejected: dict[str, list[bytes]] = {}
    for body in filter(None, raw.split(b"\n")):
        line, reason = _parse_line(body)
        if line is None:
            rejected.setdefault(reason, []).append(body)
        else:
            usable.append(line)
            bodies.append(body)
    finished = {_run_key(line) for line in usable if line["kind"] == "run"}
    orphans = [i for i, line in enumerate(usable) if line["kind"] == "round" and _run_key(line) not in finished]
    if orphans:
        rejected["rounds of a run that did not end"] = [bodies[i] for i in orphans]
    return [line for i, line in enumerate(usable) if i not in set(orphans)], rejected


def _parse_line(body: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return a line and an empty reason, or None and the reason for its rejection."""
    try:
        line = json.loads(body)
    except ValueError:
        return None, "incomplete, or not JSON"
    if not isinstance(line, dict) or line.get("v") != FORMAT_VERSION:
        found = line.get("v") if isinstance(line, dict) else None
        return None, f"version {found!r}; expected version {FORMAT_VERSION}"
    kind = line.get("kind")
    if not isinstance(kind, str):
        return None, "no kind"
    required = _REQUIRED_FIELDS.get(kind, {})
    invalid = [name for name, types in required.items() if name not in line or not isinstance(line[name], types)]
    if invalid:
        return None, f"a {kind} line without a valid {' and '.join(invalid)}"
    return line, ""


def _run_key(line: ResultLine) -> tuple[Any, ...]:
    return tuple(line[name] for name in _RUN_FIELDS)


def _encode_lines(lines: Sequence[ResultLine]) -> bytes:
    return b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines)


def _append_to_file(file: Path, body: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    try:
        while body:
            body = body[os.write(descriptor, body) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
