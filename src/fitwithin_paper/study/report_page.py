"""The HTML page of a study: its figures and tables, without a script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fitwithin.viz._html import PageSection, escape_text, html_figure, make_scrollable, render_html_page
from fitwithin_paper.study.paper_figures import ReportFigure
from fitwithin_paper.study.report_table import CellValue, ReportColumn, ReportTable


@dataclass(frozen=True)
class ReportSection:
    """A section of the page: a heading, a sentence or two, figures and tables."""

    title: str
    text: str
    figures: Sequence[ReportFigure] = ()
    tables: Sequence[ReportTable] = ()


def render_study_page(title: str, summary: Sequence[str], sections: Sequence[ReportSection]) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    title : str
        Title of the page.
    summary : sequence of str
        Paragraphs at the top of the page.
    sections : sequence of ReportSection
        Sections below the summary.

    Returns
    -------
    str
        HTML that needs no other file. Every text is escaped.

    Examples
    --------
    >>> page = render_study_page("A <study>", ["TCT won."], [ReportSection("Wins", "None yet.")])
    >>> "<h1>A &lt;study&gt;</h1>" in page, "<script" in page, "://" in page
    (True, False, False)
    """
    parts = [PageSection(section.title, section.text, _render_section(section)) for section in sections]
    return render_html_page(title, summary, parts, style=_STYLE)


def _render_section(section: ReportSection) -> str:
    parts = []
    for is_wide, figures in groupby(section.figures, key=lambda each: each.is_wide):
        html = "".join(map(_render_figure, figures))
        parts.append(html if is_wide else f'<div class="pictures">{html}</div>')
    parts += map(_render_table, section.tables)
    return "".join(parts)


def _render_figure(report_figure: ReportFigure) -> str:
    # As an image: the ids inside one inline SVG would clash with those of the next.
    source = f"data:image/svg+xml;base64,{b64encode(report_figure.svg).decode('ascii')}"
    image = f'<img src="{source}" alt="{escape_text(report_figure.alt)}">'
    return html_figure(image, title=report_figure.title, caption=report_figure.caption, wide=report_figure.is_wide)


def _render_table(table: ReportTable) -> str:
    title, note = escape_text(table.title), escape_text(table.note)
    if not table.rows:
        return f'<h3>{title}</h3><p class="note">{escape_text(table.empty_text)}</p>'
    # The first column becomes a line above the rows that share it, which saves width on a phone.
    shown = [(i, column) for i, column in enumerate(table.columns) if not column.is_paper_value][table.grouped :]
    body = "".join(_render_body(table, shown, list(rows)) for _, rows in groupby(table.rows, key=lambda row: row[0]))
    shell = f"<table><thead>{_render_head([column for _, column in shown])}</thead>{body}</table>"
    return (
        f"<h3>{title}</h3>{make_scrollable(shell, table.title)}"
        f'<p class="note">{note} <span class="file">tables/{escape_text(table.name)}.csv</span></p>'
    )


def _render_head(columns: Sequence[ReportColumn]) -> str:
    headings = "".join(f'<th scope="col" class="{each.style}">{escape_text(each.heading)}</th>' for each in columns)
    if not any(column.group for column in columns):
        return f"<tr>{headings}</tr>"
    groups = []
    for group, members in groupby(columns, key=lambda column: column.group):
        kind = f'th scope="colgroup" colspan="{len(list(members))}"'
        groups.append(f'<{kind} class="group">{escape_text(group)}</th>' if group else f"<{kind}></th>")
    return f"<tr>{''.join(groups)}</tr><tr>{headings}</tr>"


def _render_body(
    table: ReportTable, shown: Sequence[tuple[int, ReportColumn]], rows: Sequence[Sequence[CellValue]]
) -> str:
    lines = []
    if table.grouped:
        group = escape_text(table.columns[0].format(rows[0][0]))
        lines.append(f'<tr><th scope="rowgroup" class="learner" colspan="{len(shown)}">{group}</th></tr>')
    for row in rows:
        (first, column), *others = shown
        heading = f'<th scope="row">{escape_text(column.format(row[first]))}</th>'
        lines.append(f"<tr>{heading}{''.join(_render_cell(table, row, i) for i, _ in others)}</tr>")
    return f"<tbody>{''.join(lines)}</tbody>"


def _render_cell(table: ReportTable, row: Sequence[CellValue], index: int) -> str:
    column, value = table.columns[index], row[index]
    if column.style == "mark":
        return f'<td class="mark">{_MARK if value else ""}</td>'
    text = _format_cell(column, value)
    css_class = f"{column.style} {value}" if value in ("win", "tie", "loss") else column.style
    next_column = table.columns[index + 1 :][:1]
    if next_column and next_column[0].is_paper_value:
        theirs = _format_cell(next_column[0], row[index + 1])
        text = f"{text or '–'}<small>{theirs or '&nbsp;'}</small>" if text or theirs else ""
    return f'<td class="{css_class}">{text}</td>'


def _format_cell(column: ReportColumn, value: CellValue) -> str:
    text = column.format(value, decimals=1)
    return f"{int(text):,}" if column.style == "count" and text else escape_text(text)


_MARK = '<abbr title="differs from the paper">≠</abbr>'


_STYLE = """
.card { background: #ffffff; }
img { display: block; width: 100%; height: auto; } .wide img { min-width: 42rem; max-width: 60rem; }
.file { white-space: nowrap; font-family: ui-monospace, monospace; }
th.group { text-align: center; } th.learner { font-weight: 600; background: var(--band); }
tbody th[scope="row"] { position: sticky; left: 0; background: var(--paper); min-width: 8rem; max-width: 17rem; }
.count, .percent, .seconds { text-align: right; }
td small { display: block; color: var(--grey); font-size: .8em; }
.win { color: var(--green); } .loss { color: var(--orange); }
.mark { font-weight: 700; padding-left: 0; } abbr { text-decoration: none; }
@media (max-width: 30rem) { tbody th[scope="row"] { max-width: 10rem; } }
@media print { .wide img { min-width: 0; } }
"""
