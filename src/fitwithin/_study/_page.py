"""One page with everything in it: no script, no network, readable on a phone, in the dark and on paper."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from string import Template

from ._figures import Picture
from ._table import Cell, Column, Table


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
    >>> "<h1>A &lt;study&gt;</h1>" in page, "<script" in page, "http" in page
    (True, False, False)
    """
    contents = "".join(
        f'<li><a href="#part-{number}">{escape(section.title)}</a></li>' for number, section in enumerate(sections, 1)
    )
    return _PAGE.substitute(
        title=escape(title),
        style=_STYLE,
        answer="".join(f"<p>{escape(paragraph)}</p>" for paragraph in answer),
        contents=contents,
        sections="\n".join(_section(number, section) for number, section in enumerate(sections, 1)),
    )


def _section(number: int, section: Section) -> str:
    parts = [f'<section id="part-{number}"><h2>{escape(section.title)}</h2><p>{escape(section.words)}</p>']
    for wide, pictures in groupby(section.pictures, key=lambda picture: picture.wide):
        shown = "".join(map(_picture, pictures))
        parts.append(shown if wide else f'<div class="pictures">{shown}</div>')
    parts += map(_table, section.tables)
    return "".join(parts) + "</section>"


def _picture(picture: Picture) -> str:
    # As an image of its own: the names inside one SVG would clash with those of the next in the same document.
    source = f"data:image/svg+xml;base64,{b64encode(picture.svg).decode('ascii')}"
    kind = "wide" if picture.wide else "narrow"
    return (
        f'<figure class="{kind}"><div class="card" tabindex="0" role="group" aria-label="{escape(picture.title)}">'
        f'<img src="{source}" alt="{escape(picture.alt)}"></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    title, note = escape(table.title), escape(table.note)
    if not table.rows:
        return f'<h3>{title}</h3><p class="note">{escape(table.empty)}</p>'
    # The first column becomes a line above the rows that share it: a column less to scroll past on a phone.
    shown = [(place, column) for place, column in enumerate(table.columns) if not column.beside][table.grouped :]
    body = "".join(_body(table, shown, list(rows)) for _, rows in groupby(table.rows, key=lambda row: row[0]))
    return (
        f'<h3>{title}</h3><div class="table" tabindex="0" role="region" aria-label="{title}">'
        f"<table><thead>{_head([column for _, column in shown])}</thead>{body}</table></div>"
        f'<p class="note">{note} <span class="file">tables/{escape(table.name)}.csv</span></p>'
    )


def _head(columns: Sequence[Column]) -> str:
    headings = "".join(f'<th scope="col" class="{one.style}">{escape(one.heading)}</th>' for one in columns)
    if not any(column.group for column in columns):
        return f"<tr>{headings}</tr>"
    groups = []
    for group, members in groupby(columns, key=lambda column: column.group):
        kind = f'th scope="colgroup" colspan="{len(list(members))}"'
        groups.append(f'<{kind} class="group">{escape(group)}</th>' if group else f"<{kind}></th>")
    return f"<tr>{''.join(groups)}</tr><tr>{headings}</tr>"


def _body(table: Table, shown: Sequence[tuple[int, Column]], rows: Sequence[Sequence[Cell]]) -> str:
    lines = []
    if table.grouped:
        above = escape(table.columns[0].text(rows[0][0]))
        lines.append(f'<tr><th scope="rowgroup" class="learner" colspan="{len(shown)}">{above}</th></tr>')
    for row in rows:
        (first, column), *others = shown
        heading = f'<th scope="row">{escape(column.text(row[first]))}</th>'
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
    return f"{int(text):,}" if column.style == "count" and text else escape(text)


_MARK = '<abbr title="not the paper\'s direction">≠</abbr>'

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --quiet: #5c5c5c; --paper: #ffffff; --line: #d9d9d9;
  --band: #f2f4f6; --link: #005a9c; --win: #00603f; --loss: #a33c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --quiet: #a8a8a8; --paper: #16181b; --line: #3a3d41;
  --band: #22262b; --link: #7cc0f5; --win: #5fd0a5; --loss: #f2a073; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin: 2.5rem 0 .3rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
a { color: var(--link); } p, li { max-width: 46rem; }
.answer { border-left: .3rem solid var(--link); background: var(--band); padding: .3rem 1rem; }
.answer p:first-child { font-size: 1.15rem; font-weight: 600; }
nav ol { padding-left: 1.3rem; }
.pictures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); }
figure { margin: .8rem 0; break-inside: avoid; }
.card { background: #ffffff; border: 1px solid var(--line); border-radius: .4rem; padding: .3rem; overflow-x: auto; }
img { display: block; width: 100%; height: auto; } .wide img { min-width: 42rem; max-width: 60rem; }
figcaption, .note { color: var(--quiet); font-size: .87rem; max-width: 46rem; margin: .3rem 0; }
.file { white-space: nowrap; font-family: ui-monospace, monospace; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { vertical-align: bottom; } th.group { text-align: center; }
tbody th { font-weight: normal; } tbody th[scope="row"] { position: sticky; left: 0; background: var(--paper);
  min-width: 8rem; max-width: 17rem; } th.learner { font-weight: 600; background: var(--band); }
.count, .percent, .seconds { text-align: right; }
td small { display: block; color: var(--quiet); font-size: .8em; }
.win { color: var(--win); } .loss { color: var(--loss); }
.mark { font-weight: 700; padding-left: 0; } abbr { text-decoration: none; }
@media (max-width: 30rem) { body { padding: .7rem; } th, td { padding: .2rem .4rem; }
  tbody th[scope="row"] { max-width: 10rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .table, .card { overflow: visible; } table { font-size: 8pt; } tr { break-inside: avoid; }
  .pictures { grid-template-columns: 1fr 1fr; } .wide img { min-width: 0; } h2, h3 { break-after: avoid; } }
"""

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1><div class="answer">$answer</div></header>
<nav aria-label="Contents"><ol>$contents</ol></nav>
<main>
$sections
</main>
</body>
</html>
""")
