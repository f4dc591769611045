"""Write the tables of docs/benchmarks.md from benchmarks/results/*.json.

In the page, ``<!-- table: NAME | TITLE | columns: A; B | rows: TEXT -->`` is followed by a table of that result. TITLE
is the beginning of the table's title; `columns` and `rows` may be left out; `rows` is a regular expression for the
first cell, without "|". ``<!-- picture: PATH | TEXT -->`` is followed by a picture, if the file exists, and
``<!-- goals -->`` by the goals of every result. Each part ends with ``<!-- end -->``; what stands between is replaced.
``python benchmarks/page.py --check`` only says whether that would change the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from _git import count_later_commits
from _report import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

_PART = re.compile(r"<!-- (table|picture|goals)(?:: (.*?))? -->\n.*?<!-- end -->", re.DOTALL)
_LATER = re.compile(r"; \d+ later commits? to teachers and backends")

# Results whose goals are cases, all alike: one line counts those that were met.
_COUNTED = {"faults": "every case as expected"}

Result = Mapping[str, Any]


def write_page(page: str, results: Path = RESULTS) -> str:
    """Return the page with its tables written anew from a folder of results."""
    return _PART.sub(lambda part: _write_part(part, results), page)


def remove_later_commits(page: str) -> str:
    """Return the page without the numbers of later commits, which every commit changes."""
    return _LATER.sub("", page)


def hand_written(page: str) -> str:
    """Return the page without what is generated."""
    return _PART.sub("", page)


def _write_part(part: re.Match[str], results: Path) -> str:
    kind, fields = part[1], part[2] or ""
    if kind == "picture":
        path, text = (field.strip() for field in fields.split("|"))
        text = f"\n![{text}]({path})\n" if (PAGE.parent / path).exists() else ""
    else:
        text = _write_goals(results) if kind == "goals" else _write_table(fields, results)
    opening = part[0].split("\n")[0]
    return f"{opening}\n{text}\n<!-- end -->"


def _write_table(fields: str, results: Path) -> str:
    name, title, *options = (field.strip() for field in fields.split("|"))
    file = results / f"{name}.json"
    if not file.exists():
        return f"\nNot measured yet: `{name}.json` is missing.\n"
    result = json.loads(file.read_text(encoding="utf-8"))
    found = [table for table in result.get("tables", ()) if table["title"].startswith(title)]
    if not found:
        titles = [table["title"] for table in result.get("tables", ())]
        raise SystemExit(f"{file.name} has no table whose title begins with {title!r}; it has {titles}")
    table = found[0]
    chosen = dict(option.split(":", 1) for option in options)
    names = [one.strip() for one in chosen["columns"].split(";")] if "columns" in chosen else table["columns"]
    places = [table["columns"].index(one) for one in names]
    wanted = re.compile(chosen.get("rows", "").strip())
    rows = [[row[place] for place in places] for row in table["rows"] if wanted.search(row[0])]
    return "\n".join(["", f"*{_escape(table['title'])}*", "", *format_table(names, rows), "", stamp(result), ""])


def _write_goals(results: Path) -> str:
    lines = []
    for file in sorted(results.glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        goals = result.get("goals", [])
        if file.stem in _COUNTED and goals:
            met = sum(goal["met"] for goal in goals)
            goals = [{"text": f"{_COUNTED[file.stem]}; {met} of {len(goals)}", "met": met == len(goals)}]
        for goal in goals:
            text, _, value = goal["text"].partition("; ")
            lines.append([file.stem, text, value, _describe_origin(result), _verdict(goal["met"])])
    lines.sort(key=lambda line: line[-1] == "met")
    missed = sum(line[-1] != "met" for line in lines)
    count = f"{len(lines)} goals: {len(lines) - missed} met, {missed} missed."
    return "\n".join(["", count, "", *format_table(("benchmark", "goal", "value", "measured", ""), lines), ""])


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(_escape, line)) + " |" for line in lines]


def _escape(text: str) -> str:
    return text.replace("|", "/")


def _describe_origin(result: Result) -> str:
    """Return version, commit and day of a result."""
    machine = result["machine"]
    commit = result.get("commit") or result.get("committed_in")
    return ", ".join(filter(None, [machine["libraries"].get("fitwithin"), commit, machine["date"].split()[0]]))


def stamp(result: Result) -> str:
    """Return the command, version, commit, date and load of a result, and the later commits that may change it."""
    machine = result["machine"]
    version = machine["libraries"].get("fitwithin", "from source")
    parts = [f"`{result['command']}`: fitwithin {version}"]
    commit = result.get("commit") or result.get("committed_in")
    if commit:
        parts.append(f"commit {commit}" if result.get("commit") else f"committed in {commit}")
    parts += [machine["date"], f"{machine['cores']} cores"]
    if machine["load"]:
        parts.append(f"load {machine['load'][0]:.1f} before")
    later = count_later_commits(commit) if commit else None
    if later is not None:
        commits = "commit" if later == 1 else "commits"
        return f"{', '.join(parts)}; {later} later {commits} to teachers and backends"
    return ", ".join(parts)


def main(argv: Sequence[str]) -> int:
    """Write the page; with --check return 1 if it is not what would be written."""
    page = PAGE.read_text(encoding="utf-8")
    written = write_page(page)
    if "--check" in argv:
        is_same = remove_later_commits(page) == remove_later_commits(written)
        print("docs/benchmarks.md is up to date" if is_same else "docs/benchmarks.md is not: python benchmarks/page.py")
        return int(not is_same)
    PAGE.write_text(written, encoding="utf-8")
    print(f"wrote {PAGE.name}, {len(hand_written(written).split())} words by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
