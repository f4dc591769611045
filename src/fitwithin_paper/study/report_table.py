"""A table of the report, for a CSV file and for the HTML page."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Literal

CellValue = str | float | bool | None


@dataclass(frozen=True)
class ReportColumn:
    """A column of a report table.

    Parameters
    ----------
    name : str
        Name in the CSV file.
    heading : str
        Heading on the page.
    style : {"text", "count", "percent", "seconds", "mark"}
        Format of the cells. A mark is true where a direction differs from the paper's.
    group : str
        Heading shared with the neighbouring columns.
    is_paper_value : bool
        Whether it holds the paper's values for the previous column; the page shows both in one cell.

    Examples
    --------
    >>> ReportColumn("tct_pct", "TCT", "percent").format(0.8656), ReportColumn("differs", "", "mark").format(True)
    ('86.56', 'differs')
    """

    name: str
    heading: str
    style: Literal["text", "count", "percent", "seconds", "mark"] = "text"
    group: str = ""
    is_paper_value: bool = False

    def format(self, value: CellValue, decimals: int = 2) -> str:
        """Return a cell as text; empty for None."""
        if value is None:
            return ""
        if self.style == "mark":
            return "differs" if value else "same"
        if self.style == "percent":
            return f"{100 * float(value):.{decimals}f}"
        return f"{float(value):.1f}" if self.style == "seconds" else str(value)


@dataclass(frozen=True)
class ReportTable:
    """A table for a CSV file and for the page.

    Parameters
    ----------
    name, title : str
        Name of the file, and title on the page.
    note : str
        Explanation of the values.
    columns, rows : tuple
        Columns, and one tuple of cells per row.
    grouped : bool
        Whether rows with the same first cell are shown as a group.
    empty_text : str
        Text in place of a table without rows.
    """

    name: str
    title: str
    note: str
    columns: tuple[ReportColumn, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    grouped: bool = False
    empty_text: str = "Nothing to show: no run of this study belongs here."

    def to_csv(self) -> str:
        """Return the table as CSV text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        for row in self.rows:
            writer.writerow(column.format(cell) for column, cell in zip(self.columns, row, strict=True))
        return text.getvalue()


def add_paper_column(ours: ReportColumn, name: str) -> list[ReportColumn]:
    """Return a column, and a second one for the paper's values, shown in the same cells."""
    return [ours, ReportColumn(name, "paper", ours.style, ours.group, is_paper_value=True)]
