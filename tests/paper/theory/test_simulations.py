"""Tables and figures of `fitwithin theory`."""

import csv
import io
import sys
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from fitwithin_paper.theory import SIMULATIONS, run_simulations
from fitwithin_paper.theory import simulations as simulations_module
from fitwithin_paper.theory.record_tables import make_console_table, write_records_csv

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run every simulation once, the slow ones with fewer attempts; return folder, results and printed text."""
    pytest.importorskip("matplotlib")
    folder, console = tmp_path_factory.mktemp("theory") / "new" / "folder", Console(file=io.StringIO(), width=80)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("bad-example", "theorem-1"):
            simulation = simulations_module._SIMULATIONS[name]
            patch.setitem(
                simulations_module._SIMULATIONS,
                name,
                replace(simulation, simulate=partial(simulation.simulate, n_attempts=30)),
            )
        return folder, run_simulations(folder, seed=3, console=console), console.file.getvalue()


def test_every_simulation_writes_tables_and_figures(run):
    folder, results, _ = run

    assert tuple(result.name for result in results) == SIMULATIONS
    for result in results:
        assert {file.suffix for file in result.files} == {".csv", ".svg", ".png"}
        assert {file.stem for file in result.files if file.suffix == ".csv"} == set(result.tables)
    assert sorted(folder.iterdir()) == sorted(file for result in results for file in result.files)


def test_the_tables_hold_the_records(run):
    _, results, _ = run

    for result in results:
        for file in result.files:
            if file.suffix == ".csv":
                records = result.tables[file.stem]
                heading, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
                assert heading == [field.name for field in fields(records[0])]
                assert len(rows) == len(records) > 0


def test_every_simulation_prints_a_table_that_fits_a_terminal(run):
    *_, printed = run

    for heading in ("The bad example", "Theorem 1", "The agnostic theorem", "Threshold learning"):
        assert heading in printed
    assert "…" not in printed


def test_the_same_seed_writes_the_same_bytes_whichever_simulations_run(run, tmp_path):
    folder, *_ = run

    for result in run_simulations(tmp_path, seed=3, names=("agnostic",), console=Console(quiet=True)):
        for file in result.files:
            assert file.read_bytes() == (folder / file.name).read_bytes()


def test_another_seed_writes_other_numbers_and_leaves_matplotlibs_settings_alone(run, tmp_path):
    folder, *_ = run
    mpl = pytest.importorskip("matplotlib")
    before = dict(mpl.rcParams)

    run_simulations(tmp_path, seed=4, names=("agnostic",), console=Console(quiet=True))

    assert (tmp_path / "agnostic.csv").read_text() != (folder / "agnostic.csv").read_text()
    assert dict(mpl.rcParams) == before


def test_an_unknown_simulation_is_rejected_before_anything_is_written(tmp_path):
    with pytest.raises(
        ValueError, match=r"'theorem-9'; expected one or more of bad-example, theorem-1, agnostic, thresholds"
    ):
        run_simulations(tmp_path / "out", names=("agnostic", "theorem-9"))

    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ImportError, match=r"pip install 'fitwithin\[plots\]'"):
        run_simulations(tmp_path / "out")

    assert not (tmp_path / "out").exists()


@dataclass(frozen=True)
class Tide:
    place: str
    high_water: float


def test_a_table_takes_its_headings_from_the_record(tmp_path):
    tides = [Tide("Brest, north", 6.123456789), Tide("Kiel", 0.5)]

    path = write_records_csv(tides, tmp_path / "tides.csv")
    console = Console(file=io.StringIO(), width=60)
    console.print(make_console_table(tides, "Tides"))

    assert path.read_bytes() == b'place,high_water\n"Brest, north",6.12346\nKiel,0.5\n'
    assert "high water" in console.file.getvalue()
    assert "6.12 " in console.file.getvalue()


@pytest.mark.parametrize(
    "make", [lambda path: write_records_csv([], path), lambda path: make_console_table([], "empty")]
)
def test_a_table_without_records_is_rejected(make, tmp_path):
    with pytest.raises(ValueError, match="at least one record"):
        make(tmp_path / "empty.csv")


def test_the_numbers_in_the_documentation_are_those_of_the_tables():
    """A comment above each table of docs/theory.md names its CSV file; each row is a row of the file."""
    lines = iter((DOCS / "theory.md").read_text(encoding="utf-8").splitlines())
    checked = 0
    for text in lines:
        if text.startswith("<!-- table: "):
            heading = cells(next(lines))
            next(lines)
            rows = list(csv.DictReader((DOCS / "theory" / text.split()[2]).read_text(encoding="utf-8").splitlines()))
            while (row := next(lines)).startswith("|"):
                shown = dict(zip(heading, cells(row), strict=True))
                assert any(all(agrees(value, each[name]) for name, value in shown.items()) for each in rows), shown
                checked += 1
    assert checked > 20


def cells(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def agrees(shown, stored):
    """Return whether the texts are equal, or the numbers to the digits shown."""
    try:
        number, exact = float(shown.rstrip("%")) / (100 if shown.endswith("%") else 1), float(stored)
    except ValueError:
        return shown == stored
    digits = len(shown.rstrip("%").partition(".")[2]) + (2 if shown.endswith("%") else 0)
    return abs(number - exact) <= 0.5000001 * 10.0**-digits
