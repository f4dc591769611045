"""Tables of records, as CSV files and on the console; the dataclass fields are the headings."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table


def write_records_csv(records: Sequence[Any], path: Path) -> Path:
    """Write records of one dataclass with six significant digits, and return the path.

    Raises
    ------
    ValueError
        If there are no records, because the headings come from them.
    """
    headings = _read_headings(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        # The same line endings on every system keep the files identical.
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headings)
        writer.writerows([_format_cell(value, 6) for value in astuple(record)] for record in records)
    return path


def make_console_table(records: Sequence[Any], title: str) -> Table:
    """Return a table of the records for the console, with three significant digits.

    Raises
    ------
    ValueError
        If there are no records, because the headings come from them.
    """
    headings = _read_headings(records)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, value in zip(headings, astuple(records[0]), strict=True):
        table.add_column(name.replace("_", " "), justify="left" if isinstance(value, str) else "right")
    for record in records:
        table.add_row(*(_format_cell(value, 3) for value in astuple(record)))
    return table


def _read_headings(records: Sequence[Any]) -> list[str]:
    if not records:
        raise ValueError("Got no records; a table needs at least one record.")
    return [field.name for field in fields(records[0])]


def _format_cell(value: object, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
