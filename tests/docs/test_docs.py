"""Pages with commands are run here, block by block; pytest runs the others as doctests."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fitwithin._cli.errors import EXIT_USAGE

ROOT = Path(__file__).parents[2]
GENERATED = {"_build", "gallery", "generated", "command-line.md"}
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not GENERATED & {page.name, *page.parts}),
]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Blocks that are not run: installation, commands that take an hour, output, and files.
NOT_RUN = {"", "bash", "text", "ini", "yaml", "html"}
# Commands of pages that another test runs.
RUN_ELSEWHERE = {"fitwithin theory --out docs/theory --seed 0": "see tests/paper/theory/test_simulations.py"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks_of(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run_or_of_a_kind_that_is_not(page):
    kinds = {kind for kind, _ in blocks_of(page)}

    assert kinds - NOT_RUN <= {"python", "console"}


@pytest.mark.parametrize("page", [page for page in PAGES if page != README], ids=name_of)
def test_python_is_written_with_prompts_so_that_doctest_runs_it(page):
    without = [text for kind, text in blocks_of(page) if kind == "python" and not text.startswith(">>> ")]

    assert without == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_other_files_lead_somewhere(page):
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose)
    missing = [link for link in links if not (page.parent / link).exists() and "gallery" not in link]

    # The site writes the reference of the command line when it is built.
    assert [link for link in missing if not link.endswith("command-line.md")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(kind == "console" for kind, _ in blocks_of(page))], ids=name_of
)
def test_commands_and_python_of_a_page_run_in_the_order_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}

    for kind, text in blocks_of(page):
        if kind == "python":
            run_python(text, names, page)
        elif kind == "console":
            for command, shown in commands_of(text):
                if command not in RUN_ELSEWHERE:
                    run_command(command, shown)


def run_python(text, names, page):
    test = doctest.DocTestParser().get_doctest(text, names, name_of(page), str(page), 0)
    runner = doctest.DebugRunner(optionflags=FLAGS)
    runner.run(test, clear_globs=False)
    names.update(test.globs)


def commands_of(text):
    """Yield each command of a block with the output that the page shows."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        ends = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: ends + 1]), "\n".join(lines[ends + 1 :])


def run_command(command, shown):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # pytest turns warnings into errors; a reader does not.
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "PYTHONWARNINGS": ""}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=120)

    # The output of a command that is refused ends with a hint.
    is_refused = "\nHint: " in shown
    printed = done.stderr if is_refused else done.stdout
    assert done.returncode == (EXIT_USAGE if is_refused else 0), f"$ {command}\n{done.stdout}{done.stderr}"
    if shown.strip():
        assert doctest.OutputChecker().check_output(shown, printed, FLAGS), f"$ {command}\n{printed}"


def first_table_of(page):
    return re.search(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE).group()


def test_the_readme_and_the_page_on_when_to_use_it_have_the_same_decision_table():
    assert first_table_of(README) == first_table_of(ROOT / "docs" / "when-to-use.md")


def test_the_figures_of_the_decision_table_are_those_of_the_newest_replays():
    replays = (ROOT / "benchmarks" / "results" / "tunnel.md").read_text(encoding="utf-8")
    first_rows = first_table_of(README).splitlines()[2:6]
    figures = {figure for row in first_rows for figure in re.findall(r"\d\.\d\d", row)}

    assert len(figures) > 8
    assert {figure for figure in figures if figure not in replays} == set()


@pytest.mark.slow
def test_the_python_of_the_readme_prints_what_it_shows_but_for_the_digits(capsys):
    blocks = dict(blocks_of(README))

    exec(compile(blocks["python"], name_of(README), "exec"), {"__name__": "__main__"})

    printed, shown = capsys.readouterr().out, blocks["text"]
    assert re.sub(r"\d+", "0", printed.replace(",", "")) == re.sub(r"\d+", "0", shown.replace(",", ""))


@pytest.mark.slow
def test_the_commands_of_the_readme_run_on_a_small_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.random(3000), "b": rng.choice(["left", "right"], 3000)})
    rows.assign(label=rows["a"] > 0.5).to_parquet("rows.parquet")
    rows.to_parquet("new-rows.parquet")
    lines = [line for kind, text in blocks_of(README) if kind == "bash" for line in text.splitlines()]

    for command in (line for line in lines if line.startswith("fitwithin ")):
        run_command(command, "")

    assert len(pd.read_parquet("predictions.parquet")) == 3000
    assert Path("report.html").exists()
