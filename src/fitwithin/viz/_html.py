"""Self-contained HTML pages: no network, readable on a phone, in dark mode and on paper; all text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from fitwithin._core.printable_text import replace_unprintable
from fitwithin.viz._style import palette_css


@dataclass(frozen=True)
class PageSection:
    """A section of a page: a heading, an introduction in plain text, and a body in HTML."""

    title: str
    introduction: str
    body: str = ""


@dataclass(frozen=True)
class HtmlColumn:
    """A column of an HTML table; the values of a sortable one are numbers.

    Parameters
    ----------
    heading : str
        The heading.
    meaning : str
        Explanation of the heading, shown when the mouse points at it.
    key : str
        Key of the value in each record. A value of None leaves the cell empty.
    format_value : callable
        Return the value as text.
    """

    heading: str
    meaning: str
    key: str
    format_value: Callable[[Any], str]


def escape_text(text: object) -> str:
    """Escape a text for use between tags or in quotes, and replace characters that a file cannot hold.

    Examples
    --------
    >>> escape_text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(replace_unprintable(str(text)))


def render_html_page(
    title: str, summary: Sequence[str], sections: Sequence[PageSection], *, style: str = "", script: str = ""
) -> str:
    """Return the page as HTML that needs no other file and is not allowed to load one.

    Parameters
    ----------
    title : str
        The title.
    summary : sequence of str
        The main results, one paragraph each, above the table of contents.
    sections : sequence of PageSection
        The sections.
    style, script : str
        CSS and JavaScript of the sections. No other script is allowed to run.

    Examples
    --------
    >>> page = render_html_page("A <study>", ["TCT won."], [PageSection("Wins", "None yet.")])
    >>> "<h1>A &lt;study&gt;</h1>" in page, "<script" in page, "://" in page
    (True, False, False)
    """
    contents = body = ""
    for number, section in enumerate(sections, 1):
        heading, introduction = escape_text(section.title), escape_text(section.introduction)
        contents += f'<li><a href="#part-{number}">{heading}</a></li>'
        body += f'<section id="part-{number}"><h2>{heading}</h2><p>{introduction}</p>{section.body}</section>\n'
    script_hash = b64encode(sha256(script.encode()).digest()).decode("ascii")
    return Template(read_page_file("page.html")).substitute(
        title=escape_text(title),
        allowed_scripts=f"'sha256-{script_hash}'" if script else "'none'",
        style=palette_css() + read_page_file("page.css") + style,
        summary="".join(f"<p>{escape_text(paragraph)}</p>" for paragraph in summary),
        contents=contents,
        sections=body,
        script=f"<script>{script}</script>\n" if script else "",
    )


def read_page_file(name: str) -> str:
    """Return the text of a file in the folder `_page`: the frame of the pages, their styles and their script."""
    return (Path(__file__).parent / "_page" / name).read_text(encoding="utf-8")


def html_figure(picture: str, *, title: str, caption: str, wide: bool = False) -> str:
    """Return a picture, given as HTML, in a frame with a caption below."""
    width_class = "wide" if wide else "narrow"
    return (
        f'<figure class="{width_class}"><div class="card" tabindex="0" role="group" aria-label="{escape_text(title)}">'
        f"{picture}</div><figcaption>{escape_text(caption)}</figcaption></figure>"
    )


def make_scrollable(table: str, label: str) -> str:
    """Return an HTML table in a frame, so that a narrow screen scrolls the table and not the page."""
    return f'<div class="table" tabindex="0" role="region" aria-label="{escape_text(label)}">{table}</div>'


def html_table(
    columns: Sequence[HtmlColumn], records: Sequence[Mapping[str, Any]], *, caption: str = "", sortable: bool = False
) -> str:
    """Return an HTML table with one row per record. The headings of a sortable one are buttons for `sort.js`.

    A column without any value is left out.

    Examples
    --------
    >>> columns = [HtmlColumn("a", "one", "a", str), HtmlColumn("b", "two", "b", str)]
    >>> table = html_table(columns, [{"a": 2, "b": None}, {"a": None, "b": None}], caption="Ones")
    >>> table[table.index("<tbody>") :]
    '<tbody><tr><td>2</td></tr><tr><td></td></tr></tbody></table>'
    """
    columns = [column for column in columns if any(record[column.key] is not None for record in records)]
    opening, closing = ('<button type="button">', "</button>") if sortable else ("", "")
    head = "".join(
        f'<th scope="col" title="{escape_text(column.meaning)}">{opening}{escape_text(column.heading)}{closing}</th>'
        for column in columns
    )
    body = "".join(f"<tr>{''.join(_cell_html(column, one, sortable) for column in columns)}</tr>" for one in records)
    css_class = ' class="sortable"' if sortable else ""
    above = f"<caption>{escape_text(caption)}</caption>" if caption else ""
    return f"<table{css_class}>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell_html(column: HtmlColumn, record: Mapping[str, Any], sortable: bool) -> str:
    value = record[column.key]
    text = "" if value is None else escape_text(column.format_value(value))
    # The text has commas and is rounded, so the script sorts by the value.
    attribute = f' data-value="{"" if value is None else float(value)}"' if sortable else ""
    return f"<td{attribute}>{text}</td>"
