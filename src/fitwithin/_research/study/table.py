"""A table, for a file and for the page."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Literal

Cell = str | float | bool | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        Its name in the CSV file.
    heading : str
        Its heading on the page.
    style : {"text", "count", "percent", "seconds", "mark"}
        How its cells are written. A mark is true where a direction differs from the paper's.
    group : str
        A heading that it shares with its neighbours.
    beside : bool
        The paper's figure for the column before it, and shown in the same cell.

    Examples
    --------
    >>> Column("tct_pct", "TCT", "percent").text(0.8656), Column("differs", "", "mark").text(True)
    ('86.56', 'differs')
    """

    name: str
    heading: str
    style: Literal["text", "count", "percent", "seconds", "mark"] = "text"
    group: str = ""
    beside: bool = False

    def text(self, value: Cell, decimals: int = 2) -> str:
        """A cell as text; nothing where there is no value."""
        if value is None:
            return ""
        if self.style == "mark":
            return "differs" if value else "same"
        if self.style == "percent":
            return f"{100 * float(value):.{decimals}f}"
        return f"{float(value):.1f}" if self.style == "seconds" else str(value)


@dataclass(frozen=True)
class Table:
    """A table for a CSV file and for the page.

    Parameters
    ----------
    name, title : str
        Of the file and on the page.
    note : str
        What the figures are, and what they rest on.
    columns, rows : tuple
        A cell for each column.
    grouped : bool
        Whether rows with the same first cell belong together.
    empty : str
        What to say in place of no rows.
    """

    name: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    grouped: bool = False
    empty: str = "Nothing to show: no run of this study belongs here."

    def csv(self) -> str:
        """The table as CSV text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        for row in self.rows:
            writer.writerow(column.text(cell) for column, cell in zip(self.columns, row, strict=True))
        return text.getvalue()


def beside(ours: Column, name: str) -> list[Column]:
    """A column and, to be shown in the same cells, the paper's figures for it."""
    return [ours, Column(name, "paper", ours.style, ours.group, beside=True)]
