"""The page of benchmarks, and what writes its tables."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(ROOT / "benchmarks"))
page, report, tunnel = map(import_module, ("page", "_report", "tunnel_report"))

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
MAX_WORDS = 800


def a_result(folder, name, goals=(), **changes):
    """Write a result with one table."""
    machine = {"date": "2026-01-02 03:04 UTC", "cores": 2, "libraries": {"fitwithin": "0.3.0"}, "load": [0.5, 0, 0]}
    table = {"title": "Seconds of a fit", "columns": ["case", "a|b"], "rows": [["one", "1"], ["two", "2"]]}
    record = {"command": "python x.py", "commit": None, "machine": machine, "tables": [table], **changes}
    record["goals"] = [{"text": text, "met": met} for text, met in goals]
    (folder / f"{name}.json").write_text(json.dumps(record))


def test_the_committed_page_is_what_the_results_give():
    written = page.write_page(PAGE)

    assert page.remove_later_commits(PAGE) == page.remove_later_commits(written), "run python benchmarks/page.py"


def test_the_page_is_mostly_tables():
    assert len(page.hand_written(PAGE).split()) <= MAX_WORDS


def test_every_result_is_on_the_page():
    shown = set(re.findall(r"<!-- table: (\S+) ", PAGE))
    results = {file.stem for file in page.RESULTS.glob("*.json")}

    # Their goals are; the cases and the parts of the package are in the reports.
    assert results - shown - {"faults", "code_size"} == set()


def test_every_report_has_its_figures():
    reports = {file.stem for file in page.RESULTS.glob("*.md")}

    assert reports == {file.stem for file in page.RESULTS.glob("*.json")}


def test_a_table_has_the_columns_and_rows_that_are_asked_for_and_a_stamp(tmp_path):
    a_result(tmp_path, "x")

    written = page.write_page("<!-- table: x | Seconds | columns: case | rows: ^t -->\nold\n<!-- end -->\n", tmp_path)

    assert "| case |\n| --- |\n| two |" in written
    assert "*Seconds of a fit*" in written
    assert "`python x.py`: fitwithin 0.3.0, 2026-01-02 03:04 UTC, 2 cores, load 0.5 before" in written
    assert "old" not in written
    assert "a/b" in page.write_page("<!-- table: x | Seconds -->\n<!-- end -->\n", tmp_path)


def test_a_page_that_is_written_twice_stays_the_same(tmp_path):
    a_result(tmp_path, "x", [("in time; 0.1 s", True)])
    once = page.write_page("a\n<!-- goals -->\n<!-- end -->\n<!-- table: x | Sec -->\n<!-- end -->\nb\n", tmp_path)

    assert page.write_page(once, tmp_path) == once
    assert page.hand_written(once).split() == ["a", "b"]


def test_a_table_that_is_missing_is_an_error_and_a_result_that_is_missing_is_said(tmp_path):
    a_result(tmp_path, "x")

    with pytest.raises(SystemExit, match="has no table"):
        page.write_page("<!-- table: x | Minutes -->\n<!-- end -->\n", tmp_path)
    assert "Not measured yet" in page.write_page("<!-- table: y | Minutes -->\n<!-- end -->\n", tmp_path)


def test_missed_goals_come_first_with_their_values(tmp_path):
    a_result(tmp_path, "a", [("in time; 0.1 s late", True), ("small; 3 GB; of 4", False)])
    a_result(tmp_path, "faults", [("one", True), ("two", False)])

    written = page.write_page("<!-- goals -->\n<!-- end -->\n", tmp_path)

    lines = [line for line in written.splitlines() if line.startswith("| ")][2:]
    assert lines == [
        "| a | small | 3 GB; of 4 | 0.3.0, 2026-01-02 | **missed** |",
        "| faults | every case as expected | 1 of 2 | 0.3.0, 2026-01-02 | **missed** |",
        "| a | in time | 0.1 s late | 0.3.0, 2026-01-02 | met |",
    ]
    assert "3 goals: 1 met, 2 missed." in written


@pytest.mark.parametrize(
    "later", ["; 1 later commit to teachers and backends", "; 12 later commits to teachers and backends"]
)
def test_the_number_of_later_commits_does_not_count(later):
    assert page.remove_later_commits(f"load 0.5 before{later}\n") == "load 0.5 before\n"


def test_a_report_has_its_tables_and_its_commit_for_the_page(tmp_path, capsys):
    table = report.MarkdownTable("Seconds", ("case",), [["one"]])

    report.write_report("x", report.Environment.current(), [table], [], {}, tmp_path, "abc1234")

    written = page.write_page("<!-- table: x | Seconds -->\n<!-- end -->\n", tmp_path)
    assert "| one |" in written
    assert "commit abc1234" in written


@pytest.mark.parametrize(
    ("bounds", "at_most", "text", "met"),
    [
        ((0.8, 0.5), False, "0.81 / 0.50 (210)", True),
        ((0.8, 0.5), False, "0.81 / 0.49 (210)", False),
        ((8.0,), True, "17.4% (1170)", False),
        ((8.0,), True, "-", False),
    ],
)
def test_a_goal_of_the_replays_goes_by_the_first_numbers_of_a_figure(bounds, at_most, text, met):
    goal = tunnel.FigureGoal("rows", bounds, at_most).check(text)

    assert goal.met is met
    assert goal.text.endswith(f"; {text}")
