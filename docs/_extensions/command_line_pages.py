"""Writes the page about the command line from what the commands say about themselves."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from fitwithin._cli import app

_HEAD = "# The command line\n\nWhat `--help` says; for examples see the [quick start](../quick-start.md).\n"


def write_page(sphinx: Sphinx) -> None:
    """Write `reference/command-line.md`, if it would be another."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="fitwithin")
    # One heading for the page, and below it one for each command.
    text = re.sub(r"^(#+) ", lambda found: f"#{found[1]} " if found[1] != "#" else "## ", text, flags=re.MULTILINE)
    page = Path(sphinx.srcdir) / "reference" / "command-line.md"
    text = f"{_HEAD}\n{text}"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Tell sphinx."""
    sphinx.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}
