"""Results as lines of JSON: appended run by run, read again after a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1
"""Of the lines; a file of another version is set aside."""


Line = Mapping[str, Any]


_RUN: Mapping[str, Any] = {"dataset": str, "learner": str, "teacher": str, "seed": int}


_NUMBER = int | float | None


_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "start": {"machine": dict},
    "data": {"dataset": str, "train_rows": int, "test_rows": int, "columns": int, "classes": int},
    "missing": {"dataset": str, "why": str},
    "dropped": {"dataset": str, "learner": str, "seconds": _NUMBER, "why": str},
    "size": {"dataset": str, "learner": str, "rows": int | None, "of": int},
    "round": {**_RUN, "number": int, "elapsed": int | float, "accuracy": _NUMBER, "best": bool},
    "run": {**_RUN, "limit": _NUMBER, "accuracy": _NUMBER, "rows": int | None, "used": _NUMBER},
}
"""What a line of each kind has at least; lines of other kinds are somebody else's, and kept."""


@dataclass(frozen=True)
class SetAside:
    """Lines that could not be used, and where they went, if anywhere."""

    lines: int
    why: str
    file: Path | None = None

    def __str__(self) -> str:
        lines = f"{self.lines} line{'s' if self.lines > 1 else ''} of the results"
        return f"{lines} {'passed over' if self.file is None else f'set aside in {self.file}'}: {self.why}."


class Results:
    """The results file of a study.

    Parameters
    ----------
    file : Path
        Of JSON lines; made when the first line is written. Whatever in it can't be used is moved to a file beside it,
        so there must be no other writer: see `only_writer`. `read_lines` only reads.

    Attributes
    ----------
    lines : list of dict
        Everything that is in the file.
    set_aside : tuple of SetAside
        What was in the file and could not be used, when it was opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Results(Path(folder) / "results.jsonl").append([{"kind": "missing", "dataset": "aloi", "why": "no file"}])
    ...     Results(Path(folder) / "results.jsonl").lines
    [{'v': 1, 'kind': 'missing', 'dataset': 'aloi', 'why': 'no file'}]
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        raw = file.read_bytes() if file.exists() else b""
        self.lines, refused = _sorted_out(raw)
        self.set_aside = tuple(SetAside(len(lines), why, self._beside("set-aside")) for why, lines in refused.items())
        if refused or not raw.endswith(b"\n" if raw else b""):
            self._rewrite([line for lines in refused.values() for line in lines])

    def append(self, lines: Sequence[Line]) -> None:
        """Add lines that belong together, in one write."""
        numbered = [{"v": VERSION, **line} for line in lines]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        _append(self.file, _encoded(numbered))
        self.lines += numbered

    def _rewrite(self, refused: list[bytes]) -> None:
        """Leave only whole lines of ours; the others are safe in another file before they are taken out of this."""
        if refused:
            _append(self._beside("set-aside"), b"\n".join(refused) + b"\n")
        rewritten = self._beside("rewritten")
        rewritten.unlink(missing_ok=True)
        _append(rewritten, _encoded(self.lines))
        os.replace(rewritten, self.file)

    def of_kind(self, kind: str, **fields: Any) -> list[Line]:
        """The lines of a kind that have these fields."""
        return [line for line in self.lines if line["kind"] == kind and fields.items() <= line.items()]

    def _beside(self, word: str) -> Path:
        return self.file.with_name(f"{self.file.stem}.{word}{self.file.suffix}")


def read_lines(file: Path) -> tuple[list[dict[str, Any]], tuple[SetAside, ...]]:
    """The lines of a results file, and what in it can't be used; nothing is written or moved.

    Examples
    --------
    >>> read_lines(Path("nowhere.jsonl"))
    ([], ())
    """
    lines, refused = _sorted_out(file.read_bytes() if file.exists() else b"")
    return lines, tuple(SetAside(len(bodies), why) for why, bodies in refused.items())


def _sorted_out(raw: bytes) -> tuple[list[dict[str, Any]], dict[str, list[bytes]]]:
    """The lines that can be used, and the others by what is wrong with them."""
    good: list[dict[str, Any]] = []
    bodies: list[bytes] = []
    refused: dict[str, list[bytes]] = {}
    for body in filter(None, raw.split(b"\n")):
        line, why = _parsed(body)
        if line is None:
            refused.setdefault(why, []).append(body)
        else:
            good.append(line)
            bodies.append(body)
    finished = {_run(line) for line in good if line["kind"] == "run"}
    orphans = [number for number, line in enumerate(good) if line["kind"] == "round" and _run(line) not in finished]
    if orphans:
        refused["rounds of a run that did not end"] = [bodies[number] for number in orphans]
    return [line for number, line in enumerate(good) if number not in set(orphans)], refused


def _parsed(body: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        line = json.loads(body)
    except ValueError:
        return None, "half a line, or no JSON"
    if not isinstance(line, dict) or line.get("v") != VERSION:
        found = line.get("v") if isinstance(line, dict) else None
        return None, f"of version {found!r}, where this program writes version {VERSION}"
    kind = line.get("kind")
    if not isinstance(kind, str):
        return None, "a line that lacks its kind"
    wanted = _FIELDS.get(kind, {})
    lacking = [name for name, what in wanted.items() if name not in line or not isinstance(line[name], what)]
    if lacking:
        return None, f"a {kind} line without {' and '.join(lacking)}, or with something else there"
    return line, ""


def _run(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in _RUN)


def _encoded(lines: Sequence[Line]) -> bytes:
    return b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines)


def _append(file: Path, body: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    try:
        while body:
            body = body[os.write(descriptor, body) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
