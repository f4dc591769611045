"""The command's work: measure each part, then write its tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from fitwithin._research.theory.agnostic import measure_agnostic
from fitwithin._research.theory.bad_example import measure_bad_example
from fitwithin._research.theory.fallback import measure_fallback
from fitwithin._research.theory.picture_agnostic import draw_agnostic
from fitwithin._research.theory.picture_bad_example import draw_bad_example
from fitwithin._research.theory.picture_fallback import draw_fallback
from fitwithin._research.theory.picture_speedup import draw_speedup
from fitwithin._research.theory.pictures import save
from fitwithin._research.theory.speedup import measure_speedup
from fitwithin._research.theory.tables import rich_table, write_csv
from fitwithin.viz._style import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class _Part:
    """What is printed above a part's table, how it is measured and how it is drawn."""

    heading: str
    measure: Callable[[np.random.Generator], Any]
    draw: Callable[[Any], Mapping[str, Figure]]


_PARTS = {
    "bad-example": _Part(
        "The bad example: how often the best classifier is found", measure_bad_example, draw_bad_example
    ),
    "theorem-1": _Part("Theorem 1: time of TCTBase over that of TBatch", measure_fallback, draw_fallback),
    "agnostic": _Part("The agnostic theorem: error beyond the best, and its bound", measure_agnostic, draw_agnostic),
    "thresholds": _Part(
        "Threshold learning: log2 of the time against √log2(1/ε), and as a power law",
        measure_speedup,
        draw_speedup,
    ),
}


PARTS: tuple[str, ...] = tuple(_PARTS)


@dataclass(frozen=True)
class PartResult:
    """What came of one part.

    Parameters
    ----------
    name : str
        One of `PARTS`.
    tables : dict
        The records, frozen dataclasses, by the name of their CSV file.
    files : list of pathlib.Path
        What was written: CSV, SVG and PNG.
    """

    name: str
    tables: Mapping[str, Sequence[Any]]
    files: Sequence[Path]


def run_theory(
    folder: Path, *, seed: int = 0, parts: tuple[str, ...] = PARTS, console: Console | None = None
) -> list[PartResult]:
    """Simulate what the paper's theory says, and write each part as tables and pictures.

    Parameters
    ----------
    folder : pathlib.Path
        Where to write; it is made if it is not there.
    seed : int, default=0
        Of all chance. A part's figures do not depend on which other parts are run.
    parts : tuple of str, default=PARTS
        Which parts.
    console : rich.console.Console, optional
        Where to print; standard output by default.

    Returns
    -------
    list of PartResult
        One for each part, in the order of `parts`.

    Raises
    ------
    ValueError
        If a part is not known.
    ImportError
        Without matplotlib.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rich.console import Console
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_theory(pathlib.Path(folder), parts=("agnostic",), console=Console(quiet=True))
    >>> [file.name for file in results[0].files]
    ['agnostic.csv', 'agnostic_nearest.csv', 'agnostic.svg', 'agnostic.png']
    """
    _check_parts(parts)
    require_matplotlib()
    console = Console() if console is None else console
    folder.mkdir(parents=True, exist_ok=True)
    # Every part has its own stream by its place, whatever is asked for.
    seeds = dict(zip(PARTS, np.random.SeedSequence(seed).spawn(len(PARTS)), strict=True))
    return [_run_part(name, folder, np.random.default_rng(seeds[name]), console) for name in parts]


def _check_parts(parts: tuple[str, ...]) -> None:
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise ValueError(f"parts must be among {', '.join(PARTS)}; got {', '.join(map(repr, unknown))}.")


def _run_part(name: str, folder: Path, rng: np.random.Generator, console: Console) -> PartResult:
    part = _PARTS[name]
    measured = part.measure(rng)
    tables = measured.tables()
    files = [write_csv(records, folder / f"{table}.csv") for table, records in tables.items()]
    for picture, figure in part.draw(measured).items():
        files += save(figure, folder, picture)
    console.print(rich_table(measured.summary(), part.heading))
    console.print(f"Written to {folder}: {', '.join(file.name for file in files)}\n", highlight=False)
    return PartResult(name, tables, files)
