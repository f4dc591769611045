"""The simulations by name, and the run that writes their tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from fitwithin.viz._style import require_matplotlib
from fitwithin_paper.theory.agnostic_theorem import simulate_agnostic_theorem
from fitwithin_paper.theory.bad_example import simulate_bad_example
from fitwithin_paper.theory.figure_style import save_figure
from fitwithin_paper.theory.figures import (
    draw_agnostic_theorem,
    draw_bad_example,
    draw_theorem_1,
    draw_threshold_theorem,
)
from fitwithin_paper.theory.record_tables import make_console_table, write_records_csv
from fitwithin_paper.theory.theorem_1 import simulate_theorem_1
from fitwithin_paper.theory.threshold_theorem import simulate_threshold_theorem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class _Simulation:
    """The heading of a simulation's printed table, and the functions that simulate and draw."""

    heading: str
    simulate: Callable[[np.random.Generator], Any]
    draw: Callable[[Any], Mapping[str, Figure]]


_SIMULATIONS = {
    "bad-example": _Simulation(
        "The bad example: how often the best classifier is found", simulate_bad_example, draw_bad_example
    ),
    "theorem-1": _Simulation("Theorem 1: time of TCTBase over that of TBatch", simulate_theorem_1, draw_theorem_1),
    "agnostic": _Simulation(
        "The agnostic theorem: error beyond the best, and its bound", simulate_agnostic_theorem, draw_agnostic_theorem
    ),
    "thresholds": _Simulation(
        "Threshold learning: log2 of the time against √log2(1/ε), and as a power law",
        simulate_threshold_theorem,
        draw_threshold_theorem,
    ),
}


SIMULATIONS: tuple[str, ...] = tuple(_SIMULATIONS)


@dataclass(frozen=True)
class SimulationResult:
    """Records and files of one simulation.

    Parameters
    ----------
    name : str
        One of `SIMULATIONS`.
    tables : dict
        The records, frozen dataclasses, by the name of their CSV file.
    files : list of pathlib.Path
        The written files: CSV, SVG and PNG.
    """

    name: str
    tables: Mapping[str, Sequence[Any]]
    files: Sequence[Path]


def run_simulations(
    folder: Path, *, seed: int = 0, names: tuple[str, ...] = SIMULATIONS, console: Console | None = None
) -> list[SimulationResult]:
    """Simulate the paper's theory, and write tables and figures.

    Parameters
    ----------
    folder : pathlib.Path
        Folder for the files; it is created if it does not exist.
    seed : int, default=0
        Seed of all randomness. A simulation's numbers do not depend on which others run.
    names : tuple of str, default=SIMULATIONS
        The simulations to run.
    console : rich.console.Console, optional
        Console for the tables; standard output by default.

    Returns
    -------
    list of SimulationResult
        One for each simulation, in the order of `names`.

    Raises
    ------
    ValueError
        If a name is unknown.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rich.console import Console
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_simulations(pathlib.Path(folder), names=("agnostic",), console=Console(quiet=True))
    >>> [file.name for file in results[0].files]
    ['agnostic.csv', 'agnostic_nearest.csv', 'agnostic.svg', 'agnostic.png']
    """
    _validate_names(names)
    require_matplotlib()
    console = Console() if console is None else console
    folder.mkdir(parents=True, exist_ok=True)
    # Each simulation has its own random stream, so its numbers do not depend on the others.
    seeds = dict(zip(SIMULATIONS, np.random.SeedSequence(seed).spawn(len(SIMULATIONS)), strict=True))
    return [_run_simulation(name, folder, np.random.default_rng(seeds[name]), console) for name in names]


def _validate_names(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in SIMULATIONS]
    if unknown:
        raise ValueError(
            f"Got the unknown simulation {', '.join(map(repr, unknown))}; "
            f"expected one or more of {', '.join(SIMULATIONS)}."
        )


def _run_simulation(name: str, folder: Path, rng: np.random.Generator, console: Console) -> SimulationResult:
    simulation = _SIMULATIONS[name]
    result = simulation.simulate(rng)
    tables = result.tables()
    files = [write_records_csv(records, folder / f"{table}.csv") for table, records in tables.items()]
    for figure_name, figure in simulation.draw(result).items():
        files += save_figure(figure, folder, figure_name)
    console.print(make_console_table(result.summary(), simulation.heading))
    console.print(f"Written to {folder}: {', '.join(file.name for file in files)}\n", highlight=False)
    return SimulationResult(name, tables, files)
