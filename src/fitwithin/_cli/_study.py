"""fitwithin study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ._failing import USAGE, fail

study = typer.Typer(invoke_without_command=True, subcommand_metavar="[report]")

Out = Annotated[Path, typer.Option(help="The folder of the results.")]


@study.callback()
def run(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(envvar="FITWITHIN_DATA", help="A folder of parquet files, or a file of your own.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column with the class, in a file of your own.")] = None,
    out: Out = Path("study"),
    datasets: Annotated[str, typer.Option(help="Names with commas; the paper's twenty by default.")] = "",
    learners: Annotated[str, typer.Option(help="Names with commas; the paper's five by default.")] = "",
    teachers: Annotated[str, typer.Option(help="Names with commas; the paper's by default.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-3 or 0,5.")] = "0-3",
    full_runs: Annotated[int, typer.Option(min=1, help="Trainings on all rows, whose mean is the time limit.")] = 4,
    min_seconds: Annotated[float, typer.Option(min=0.0, help="Pairs with a shorter time limit are dropped.")] = 10.0,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Leave rows out until a full training takes about so long."),
    ] = None,
    scale: Annotated[float, typer.Option(min=0.001, max=1.0, help="The share of all rows and seconds to use.")] = 1.0,
    test_rows: Annotated[int | None, typer.Option(min=10, help="Test rows at most.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Where data sets are kept that were fetched or generated.")] = None,
    online: Annotated[bool, typer.Option(help="Whether OpenML may be asked.")] = True,
) -> None:
    """Do the paper's study again; go on where it was left.

    Examples: fitwithin study --data my-folder --scale 0.05;
    fitwithin study --data my.parquet --target y --learners lightgbm --min-seconds 3;
    fitwithin study report --out study
    """
    if context.invoked_subcommand is not None:
        return
    tools = _tools()
    try:
        find, names = tools.sources(data, target, _names(datasets), cache=cache, online=online)
        plan = tools.Plan(
            datasets=names,
            learners=_names(learners) or tools.LEARNERS,
            teachers=_names(teachers) or tools.PAPER_TEACHERS,
            seeds=_numbers(seeds),
            full_runs=full_runs,
            min_seconds=min_seconds,
            seconds=seconds,
            scale=scale,
            test_rows=test_rows,
        )
    except (ImportError, ValueError) as error:
        fail(str(error), code=USAGE)
    console = Console()
    tools.Study(plan, find, _results(tools, out), console).run()
    console.print(f"Done. Now: fitwithin study report --out {out}")


@study.command()
def report(out: Out = Path("study")) -> None:
    """Write the tables and figures of a study as CSV, SVG, PNG and one page of HTML.

    Example: fitwithin study report --out study
    """
    tools = _tools()
    try:
        page = tools.write_report(_results(tools, out).lines, out)
    except (ImportError, ValueError) as error:
        fail(str(error), code=USAGE)
    typer.echo(f"Open {page} in a browser.")


def _results(tools: Any, out: Path) -> Any:
    results = tools.Results(out / "results.jsonl")
    for trouble in results.set_aside:
        typer.echo(str(trouble), err=True)
    return results


def _tools() -> Any:
    """The study itself, which needs more packages than the rest."""
    try:
        from .. import _study
    except ImportError as error:
        fail(f"The study needs more packages ({error.name} is missing): pip install 'fitwithin[study]'", code=USAGE)
    return _study


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    """Seeds off the command line."""
    numbers: list[int] = []
    for part in _names(text):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
        numbers += range(int(first), int(last or first) + 1)
    if not numbers:
        raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
    return tuple(dict.fromkeys(numbers))
