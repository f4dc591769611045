"""Self-contained HTML pages: no network, readable on a phone, in dark mode and on paper; all text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Generic, TypeVar

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.printable_text import replace_unprintable
from fitwithin.viz._palette import palette_css

RecordT = TypeVar("RecordT")


@dataclass(frozen=True)
class PageSection:
    """A section of a page: a heading, an introduction in plain text, and a body in HTML."""

    title: str
    introduction: str
    body: str = ""


@dataclass(frozen=True)
class HtmlColumn(Generic[RecordT]):
    """A column of an HTML table; the values of a sortable one are numbers.

    Parameters
    ----------
    heading : str
        The heading.
    meaning : str
        Explanation of the heading, shown when the mouse points at it.
    get_value : callable
        Return a record's value, or None if it has none.
    format_value : callable
        Return the value as text.
    """

    heading: str
    meaning: str
    get_value: Callable[[RecordT], Any]
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
    numbered = list(enumerate(sections, 1))
    script_hash = b64encode(sha256(script.encode()).digest()).decode("ascii")
    contents = (f'<li><a href="#part-{number}">{escape_text(section.title)}</a></li>' for number, section in numbered)
    return Template(read_page_file("page.html")).substitute(
        title=escape_text(title),
        allowed_scripts=f"'sha256-{script_hash}'" if script else "'none'",
        style=palette_css() + read_page_file("page.css") + style,
        summary="".join(f"<p>{escape_text(paragraph)}</p>" for paragraph in summary),
        contents="".join(contents),
        sections="\n".join(_section_html(number, section) for number, section in numbered),
        script=f"<script>{script}</script>\n" if script else "",
    )


def read_page_file(name: str) -> str:
    """Return the text of a file in the folder `_page`: the frame of the pages, their styles and their script."""
    return (Path(__file__).parent / "_page" / name).read_text(encoding="utf-8")


def _section_html(number: int, section: PageSection) -> str:
    heading, introduction = escape_text(section.title), escape_text(section.introduction)
    return f'<section id="part-{number}"><h2>{heading}</h2><p>{introduction}</p>{section.body}</section>'


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
    columns: Sequence[HtmlColumn[RecordT]], records: Sequence[RecordT], *, caption: str = "", sortable: bool = False
) -> str:
    """Return an HTML table with one row per record. The headings of a sortable one are buttons for `sort.js`.

    Examples
    --------
    >>> table = html_table([HtmlColumn("a", "one", lambda record: record, str)], [2, None], caption="Ones")
    >>> table[table.index("<tbody>") :]
    '<tbody><tr><td>2</td></tr><tr><td></td></tr></tbody></table>'
    """
    head = "".join(_heading_html(column, sortable) for column in columns)
    body = "".join(f"<tr>{''.join(_cell_html(column, one, sortable) for column in columns)}</tr>" for one in records)
    css_class = ' class="sortable"' if sortable else ""
    above = f"<caption>{escape_text(caption)}</caption>" if caption else ""
    return f"<table{css_class}>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _heading_html(column: HtmlColumn[RecordT], sortable: bool) -> str:
    heading = escape_text(column.heading)
    shown = f'<button type="button">{heading}</button>' if sortable else heading
    return f'<th scope="col" title="{escape_text(column.meaning)}">{shown}</th>'


def _cell_html(column: HtmlColumn[RecordT], record: RecordT, sortable: bool) -> str:
    value = column.get_value(record)
    text = "" if value is None else escape_text(column.format_value(value))
    if not sortable:
        return f"<td>{text}</td>"
    # The text has commas and is rounded, so the script sorts by the value.
    return f'<td data-value="{"" if value is None else float(value)}">{text}</td>'


def save_page(path: Path, page: str) -> None:
    """Write the whole page, or leave the existing file unchanged if that fails."""
    with atomic_write(path) as temporary_path:
        temporary_path.write_text(page, encoding="utf-8", newline="\n")
