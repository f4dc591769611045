"""fitwithin study."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fitwithin._cli.errors import FAILED, STOPPED, USAGE, fail, report_write_errors

study = typer.Typer(invoke_without_command=True, subcommand_metavar="[report]")


_RESULTS = "results.jsonl"


Data = Annotated[
    Path | None, typer.Option(envvar="FITWITHIN_DATA", help="A folder of parquet files, or a file of your own.")
]


Seconds = Annotated[
    float | None, typer.Option(min=0.1, help="Leave rows out until a full training takes about so long.")
]


@study.callback()
def run(
    context: typer.Context,
    data: Data = None,
    target: Annotated[str | None, typer.Option(help="The column with the class, in a file of your own.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("study"),
    datasets: Annotated[str, typer.Option(help="Names with commas; the paper's twenty by default.")] = "",
    learners: Annotated[str, typer.Option(help="Names with commas; the paper's five by default.")] = "",
    teachers: Annotated[str, typer.Option(help="Names with commas; the paper's by default.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-3 or 0,5.")] = "0-3",
    full_runs: Annotated[int, typer.Option(min=1, help="Trainings on all rows, whose mean is the time limit.")] = 4,
    min_seconds: Annotated[float, typer.Option(min=0.0, help="Pairs with a shorter time limit are dropped.")] = 10.0,
    seconds: Seconds = None,
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
    with report_write_errors(out):
        _carry_out(tools, plan, find, out)


def _carry_out(tools: Any, plan: Any, find: Any, out: Path) -> None:
    """Do what is left of a plan; the only one to do so in that folder."""
    console, file = Console(), out / _RESULTS
    try:
        with tools.only_writer(file):
            results = tools.Results(file)
            _tell(results.set_aside)
            had_any = tools.Study(plan, find, results, console).run()
    except KeyboardInterrupt:
        # Read again: the last run may have been written just before the signal came.
        runs = sum(line["kind"] == "run" for line in tools.read_lines(file)[0])
        kept = f"{runs} {'run is' if runs == 1 else 'runs are'} kept in {file}"
        fail(f"Stopped; {kept}; the same command goes on.", code=STOPPED)
    except (tools.AnotherWriter, tools.OtherSettings) as error:
        fail(str(error), code=USAGE)
    if not had_any:
        fail("None of the data sets was to be had: nothing was run.", code=FAILED)
    console.print(f"Done. Now: fitwithin study report --out {out}", markup=False, highlight=False, soft_wrap=True)


@study.command()
def report(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="The folder of the results.", show_default="study")] = None,
) -> None:
    """Write the tables and figures of a study as CSV, SVG, PNG and one page of HTML.

    Example: fitwithin study report --out study
    """
    tools = _tools()
    if out is None:
        assert context.parent is not None
        out = Path(context.parent.params["out"])
    try:
        with report_write_errors(out):
            lines, passed_over = tools.read_lines(out / _RESULTS)
            _tell(passed_over)
            page = tools.write_report(lines, out)
    except (ImportError, ValueError) as error:
        fail(str(error), code=USAGE)
    typer.echo(f"Open {page} in a browser.")


def _tell(troubles: Iterable[object]) -> None:
    for trouble in troubles:
        typer.echo(str(trouble), err=True)


def _tools() -> Any:
    """The study itself, which needs more packages than the rest."""
    try:
        from fitwithin._research import study as study_package
    except ImportError as error:
        fail(f"The study needs more packages ({error.name} is missing): pip install 'fitwithin[study]'", code=USAGE)
    return study_package


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    """Seeds off the command line."""
    numbers: list[int] = []
    for part in _names(text):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
        numbers += range(int(first), int(last or first) + 1)
    if not numbers:
        raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
    return tuple(dict.fromkeys(numbers))
