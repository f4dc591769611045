"""Pages with everything in them: no network, readable on a phone, in the dark and on paper; every text stays text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Generic, TypeVar

from fitwithin._core.atomic_write import atomic_write

Record = TypeVar("Record")


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Part:
    """A part of a page: a heading, what it says in a sentence or two, and the rest as HTML."""

    title: str
    words: str
    body: str = ""


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column of figures.

    Parameters
    ----------
    heading : str
        Above it.
    meaning : str
        What it holds, in a few words.
    read : callable
        A record's figure; None where it has none.
    write : callable
        The figure as text.
    """

    heading: str
    meaning: str
    read: Callable[[Record], float | None]
    write: Callable[[Any], str]


def plain(text: object) -> str:
    """A text to be put between tags or quotes: nothing in it is markup, and all of it can be written to a file.

    Examples
    --------
    >>> plain("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(printable(str(text)))


def printable(text: str) -> str:
    """The text without what no page and no picture can hold: control signs and halves of signs."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def render_page(title: str, answer: Sequence[str], parts: Sequence[Part], *, style: str = "", script: str = "") -> str:
    """The page as HTML text that needs no other file and may not ask for one.

    Parameters
    ----------
    title : str
        Of the page.
    answer : sequence of str
        What the reader wants to know first, a paragraph each.
    parts : sequence of Part
        The rest.
    style, script : str
        What the parts need besides what every page has; no other script runs.

    Examples
    --------
    >>> page = render_page("A <study>", ["TCT won."], [Part("Wins", "None yet.")])
    >>> "<h1>A &lt;study&gt;</h1>" in page, "<script" in page, "://" in page
    (True, False, False)
    """
    numbered = list(enumerate(parts, 1))
    hashed = b64encode(sha256(script.encode()).digest()).decode("ascii")
    return _PAGE.substitute(
        title=plain(title),
        scripts=f"'sha256-{hashed}'" if script else "'none'",
        style=STYLE + style,
        answer="".join(f"<p>{plain(paragraph)}</p>" for paragraph in answer),
        contents="".join(f'<li><a href="#part-{number}">{plain(part.title)}</a></li>' for number, part in numbered),
        parts="\n".join(_part(number, part) for number, part in numbered),
        script=f"<script>{script}</script>\n" if script else "",
    )


def _part(number: int, part: Part) -> str:
    return f'<section id="part-{number}"><h2>{plain(part.title)}</h2><p>{plain(part.words)}</p>{part.body}</section>'


def figure(picture: str, *, title: str, caption: str, wide: bool = False) -> str:
    """A picture, as HTML, on a card of its own with a caption below."""
    kind = "wide" if wide else "narrow"
    return (
        f'<figure class="{kind}"><div class="card" tabindex="0" role="group" aria-label="{plain(title)}">'
        f"{picture}</div><figcaption>{plain(caption)}</figcaption></figure>"
    )


def scrolling(table: str, label: str) -> str:
    """A table in a frame of its own, so that a narrow screen scrolls the table and not the page."""
    return f'<div class="table" tabindex="0" role="region" aria-label="{plain(label)}">{table}</div>'


def table(
    columns: Sequence[Column[Record]], records: Sequence[Record], *, caption: str = "", sortable: bool = False
) -> str:
    """A table of figures, a line a record; if it can be sorted its headings are buttons for `SORTING`.

    Examples
    --------
    >>> shown = table([Column("a", "one", lambda record: record, str)], [2, None], caption="Ones")
    >>> shown[shown.index("<tbody>") :]
    '<tbody><tr><td>2</td></tr><tr><td></td></tr></tbody></table>'
    """
    head = "".join(
        f'<th scope="col" title="{plain(one.meaning)}">{_heading(one.heading, sortable)}</th>' for one in columns
    )
    body = "".join(f"<tr>{''.join(_cell(one, record, sortable) for one in columns)}</tr>" for record in records)
    kind = ' class="sortable"' if sortable else ""
    above = f"<caption>{plain(caption)}</caption>" if caption else ""
    return f"<table{kind}>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _heading(heading: str, sortable: bool) -> str:
    return f'<button type="button">{plain(heading)}</button>' if sortable else plain(heading)


def _cell(column: Column[Record], record: Record, sortable: bool) -> str:
    value = column.read(record)
    words = "" if value is None else plain(column.write(value))
    # The value is what is sorted by; what is written has commas in it.
    key = "" if value is None else repr(float(value))
    return f'<td data-value="{key}">{words}</td>' if sortable else f"<td>{words}</td>"


def write_whole(path: Path, page: str) -> None:
    """Write a page, or leave what was there: a crash never leaves half of it."""
    with atomic_write(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")


SORTING = """
document.querySelectorAll('table.sortable').forEach(table => {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  headings.forEach((heading, column) => heading.querySelector('button').addEventListener('click', () => {
    const up = heading.getAttribute('aria-sort') !== 'ascending';
    headings.forEach(other => other.removeAttribute('aria-sort'));
    heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const value = row => row.cells[column].dataset.value;
    const compare = (one, other) => {
      if (value(one) === '' || value(other) === '') return (value(one) === '') - (value(other) === '');
      return (up ? 1 : -1) * (Number(value(one)) - Number(value(other)));
    };
    body.append(...[...body.rows].sort(compare));
  }));
});
"""


STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --quiet: #5c5c5c; --paper: #ffffff; --line: #d9d9d9;
  --band: #f2f4f6; --link: #005a9c; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --quiet: #a8a8a8; --paper: #16181b;
  --line: #3a3d41; --band: #22262b; --link: #7cc0f5; } }
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
.card { border: 1px solid var(--line); border-radius: .4rem; padding: .3rem; overflow-x: auto; }
figcaption, .note { color: var(--quiet); font-size: .87rem; max-width: 46rem; margin: .3rem 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { vertical-align: bottom; } tbody th { font-weight: normal; }
@media (max-width: 30rem) { body { padding: .7rem; } th, td { padding: .2rem .4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .table, .card { overflow: visible; } table { font-size: 8pt; } tr { break-inside: avoid; }
  .pictures { grid-template-columns: 1fr 1fr; } h2, h3 { break-after: avoid; } }
"""


_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline';
 script-src $scripts">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1><div class="answer">$answer</div></header>
<nav aria-label="Contents"><ol>$contents</ol></nav>
<main>
$parts
</main>
$script</body>
</html>
""")
