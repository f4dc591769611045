"""Records as CSV files and as rich tables: the fields of the dataclass are the headings."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table


def write_csv(records: Sequence[Any], path: Path) -> Path:
    """Write records of one dataclass, with six digits.

    Raises
    ------
    ValueError
        Without a record, since the headings come from it.
    """
    headings = _headings(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        # The same line ends on every system, so that the files are the same.
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headings)
        writer.writerows([_text(value, 6) for value in astuple(record)] for record in records)
    return path


def rich_table(records: Sequence[Any], title: str) -> Table:
    """The same records for the console, with three digits.

    Raises
    ------
    ValueError
        Without a record, since the headings come from it.
    """
    headings = _headings(records)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, value in zip(headings, astuple(records[0]), strict=True):
        table.add_column(name.replace("_", " "), justify="left" if isinstance(value, str) else "right")
    for record in records:
        table.add_row(*(_text(value, 3) for value in astuple(record)))
    return table


def _headings(records: Sequence[Any]) -> list[str]:
    if not records:
        raise ValueError("a table needs at least one record; got none.")
    return [field.name for field in fields(records[0])]


def _text(value: object, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
