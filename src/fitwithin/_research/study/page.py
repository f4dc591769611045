"""The page of a study: its pictures and tables, without a script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fitwithin._research.study.figures import Picture
from fitwithin._research.study.table import Cell, Column, Table
from fitwithin.viz._html import PageSection, escape_text, html_figure, make_scrollable, render_html_page


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, what it says in a sentence or two, its pictures and its tables."""

    title: str
    words: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()


def render_page(title: str, answer: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as HTML text.

    Parameters
    ----------
    title : str
        Of the page.
    answer : sequence of str
        What the reader wants to know first, a paragraph each.
    sections : sequence of Section
        The rest.

    Returns
    -------
    str
        HTML that needs no other file. Every text is escaped.

    Examples
    --------
    >>> page = render_page("A <study>", ["TCT won."], [Section("Wins", "None yet.")])
    >>> "<h1>A &lt;study&gt;</h1>" in page, "<script" in page, "://" in page
    (True, False, False)
    """
    parts = [PageSection(section.title, section.words, _body_of(section)) for section in sections]
    return render_html_page(title, answer, parts, style=_STYLE)


def _body_of(section: Section) -> str:
    parts = []
    for wide, pictures in groupby(section.pictures, key=lambda picture: picture.wide):
        shown = "".join(map(_picture, pictures))
        parts.append(shown if wide else f'<div class="pictures">{shown}</div>')
    parts += map(_table, section.tables)
    return "".join(parts)


def _picture(picture: Picture) -> str:
    # As an image of its own: the names inside one SVG would clash with those of the next in the same document.
    source = f"data:image/svg+xml;base64,{b64encode(picture.svg).decode('ascii')}"
    image = f'<img src="{source}" alt="{escape_text(picture.alt)}">'
    return html_figure(image, title=picture.title, caption=picture.caption, wide=picture.wide)


def _table(table: Table) -> str:
    title, note = escape_text(table.title), escape_text(table.note)
    if not table.rows:
        return f'<h3>{title}</h3><p class="note">{escape_text(table.empty)}</p>'
    # The first column becomes a line above the rows that share it: a column less to scroll past on a phone.
    shown = [(place, column) for place, column in enumerate(table.columns) if not column.beside][table.grouped :]
    body = "".join(_body(table, shown, list(rows)) for _, rows in groupby(table.rows, key=lambda row: row[0]))
    shell = f"<table><thead>{_head([column for _, column in shown])}</thead>{body}</table>"
    return (
        f"<h3>{title}</h3>{make_scrollable(shell, table.title)}"
        f'<p class="note">{note} <span class="file">tables/{escape_text(table.name)}.csv</span></p>'
    )


def _head(columns: Sequence[Column]) -> str:
    headings = "".join(f'<th scope="col" class="{one.style}">{escape_text(one.heading)}</th>' for one in columns)
    if not any(column.group for column in columns):
        return f"<tr>{headings}</tr>"
    groups = []
    for group, members in groupby(columns, key=lambda column: column.group):
        kind = f'th scope="colgroup" colspan="{len(list(members))}"'
        groups.append(f'<{kind} class="group">{escape_text(group)}</th>' if group else f"<{kind}></th>")
    return f"<tr>{''.join(groups)}</tr><tr>{headings}</tr>"


def _body(table: Table, shown: Sequence[tuple[int, Column]], rows: Sequence[Sequence[Cell]]) -> str:
    lines = []
    if table.grouped:
        above = escape_text(table.columns[0].text(rows[0][0]))
        lines.append(f'<tr><th scope="rowgroup" class="learner" colspan="{len(shown)}">{above}</th></tr>')
    for row in rows:
        (first, column), *others = shown
        heading = f'<th scope="row">{escape_text(column.text(row[first]))}</th>'
        lines.append(f"<tr>{heading}{''.join(_cell(table, row, place) for place, _ in others)}</tr>")
    return f"<tbody>{''.join(lines)}</tbody>"


def _cell(table: Table, row: Sequence[Cell], place: int) -> str:
    column, value = table.columns[place], row[place]
    if column.style == "mark":
        return f'<td class="mark">{_MARK if value else ""}</td>'
    words = _readable(column, value)
    kind = f"{column.style} {value}" if value in ("win", "tie", "loss") else column.style
    beside = table.columns[place + 1 :][:1]
    if beside and beside[0].beside:
        theirs = _readable(beside[0], row[place + 1])
        words = f"{words or '–'}<small>{theirs or '&nbsp;'}</small>" if words or theirs else ""
    return f'<td class="{kind}">{words}</td>'


def _readable(column: Column, value: Cell) -> str:
    text = column.text(value, decimals=1)
    return f"{int(text):,}" if column.style == "count" and text else escape_text(text)


_MARK = '<abbr title="not the paper\'s direction">≠</abbr>'


_STYLE = """
:root { --win: #00603f; --loss: #a33c00; }
@media screen and (prefers-color-scheme: dark) { :root { --win: #5fd0a5; --loss: #f2a073; } }
.card { background: #ffffff; }
img { display: block; width: 100%; height: auto; } .wide img { min-width: 42rem; max-width: 60rem; }
.file { white-space: nowrap; font-family: ui-monospace, monospace; }
th.group { text-align: center; } th.learner { font-weight: 600; background: var(--band); }
tbody th[scope="row"] { position: sticky; left: 0; background: var(--paper); min-width: 8rem; max-width: 17rem; }
.count, .percent, .seconds { text-align: right; }
td small { display: block; color: var(--grey); font-size: .8em; }
.win { color: var(--win); } .loss { color: var(--loss); }
.mark { font-weight: 700; padding-left: 0; } abbr { text-decoration: none; }
@media (max-width: 30rem) { tbody th[scope="row"] { max-width: 10rem; } }
@media print { .wide img { min-width: 0; } }
"""
