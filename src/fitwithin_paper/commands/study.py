"""The commands `fitwithin study` and `fitwithin study report`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fitwithin_paper.commands.errors import EXIT_FAILED, EXIT_STOPPED, fail, report_usage_errors, report_write_errors
from fitwithin_paper.install_command import INSTALL_COMMAND

study = typer.Typer(invoke_without_command=True, subcommand_metavar="[report]")


_RESULTS_FILE = "results.jsonl"


_DEFAULT_FOLDER = Path("study")


DataOption = Annotated[
    Path | None, typer.Option(envvar="FITWITHIN_DATA", help="A folder of parquet files, or a single file.")
]


SecondsOption = Annotated[
    float | None, typer.Option(min=0.1, help="Leave rows out, so that a fit on the rest takes about this many seconds.")
]


@study.callback()
def run(
    context: typer.Context,
    data: DataOption = None,
    target: Annotated[str | None, typer.Option(help="The column with the classes.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = _DEFAULT_FOLDER,
    datasets: Annotated[str, typer.Option(help="Names separated by commas; the paper's twenty by default.")] = "",
    learners: Annotated[str, typer.Option(help="Names separated by commas; the paper's five by default.")] = "",
    teachers: Annotated[str, typer.Option(help="Names separated by commas; the paper's by default.")] = "",
    seeds: Annotated[str, typer.Option(help="Numbers such as 0-3 or 0,5.")] = "0-3",
    full_runs: Annotated[int, typer.Option(min=1, help="Fits on every row; their mean time is the time limit.")] = 4,
    min_seconds: Annotated[float, typer.Option(min=0.0, help="Skip pairs with a shorter time limit.")] = 10.0,
    max_seconds: Annotated[float | None, typer.Option(min=0.1, help="Skip pairs with a longer one.")] = None,
    seconds: SecondsOption = None,
    scale: Annotated[float, typer.Option(min=0.001, max=1.0, help="The share of all rows and seconds to use.")] = 1.0,
    test_rows: Annotated[int | None, typer.Option(min=10, help="Use at most this many test rows.")] = None,
    cache: Annotated[Path | None, typer.Option(help="The folder for fetched and generated data sets.")] = None,
    online: Annotated[bool, typer.Option(help="Whether to fetch data sets from OpenML.")] = True,
) -> None:
    """Repeat the experiments of the paper "Time-Constrained Learning", or resume them.

    Examples: fitwithin study --data my-folder --scale 0.05;
    fitwithin study --data my.parquet --target y --learners lightgbm --min-seconds 3;
    fitwithin study report --out study
    """
    if context.invoked_subcommand is not None:
        return
    package = _import_study()
    with report_usage_errors():
        load_dataset, names = package.select_datasets(data, target, _split_names(datasets), cache=cache, online=online)
        plan = package.StudyList(
            datasets=names,
            learners=_split_names(learners) or package.PAPER_LEARNERS,
            teachers=_split_names(teachers) or package.PAPER_TEACHERS,
            seeds=_parse_seeds(seeds),
            full_runs=full_runs,
            min_seconds=min_seconds,
            max_seconds=max_seconds,
            seconds=seconds,
            scale=scale,
            test_rows=test_rows,
        )
    with report_write_errors(out):
        _run_plan(package, plan, load_dataset, out)


def _run_plan(package: Any, plan: Any, load_dataset: Any, out: Path) -> None:
    """Run a plan while holding the lock of its results."""
    console, file = Console(), out / _RESULTS_FILE
    try:
        with package.lock_results(file):
            results = package.ResultLog(file)
            _print_warnings(results.rejected)
            has_data = package.Study(plan, load_dataset, results, console).run()
    except KeyboardInterrupt:
        # Read the file again: the last run may have been written just before the signal.
        n_runs = sum(line["kind"] == "run" for line in package.read_result_lines(file)[0])
        kept = f"{n_runs} {'run is' if n_runs == 1 else 'runs are'} kept in {file}"
        fail(f"Stopped; {kept}; the same command resumes.", code=EXIT_STOPPED)
    except (package.ResultLogLocked, package.SettingsMismatch) as error:
        fail(str(error))
    if not has_data:
        fail("No data set is available; nothing was run.", code=EXIT_FAILED)
    console.print(f"Done. Next: fitwithin study report --out {out}", markup=False, highlight=False, soft_wrap=True)


@study.command()
def report(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="The folder of the results.", show_default="study")] = None,
) -> None:
    """Write the tables and figures of a study as CSV, SVG, PNG and one HTML page.

    Example: fitwithin study report --out study
    """
    package = _import_study()
    if out is None:
        out = _DEFAULT_FOLDER if context.parent is None else Path(context.parent.params["out"])
    with report_usage_errors(), report_write_errors(out):
        lines, rejected = package.read_result_lines(out / _RESULTS_FILE)
        _print_warnings(rejected)
        page = package.write_study_report(lines, out)
    typer.echo(f"Open {page} in a browser.")


def _print_warnings(messages: Iterable[object]) -> None:
    for message in messages:
        typer.echo(str(message), err=True)


def _import_study() -> Any:
    """Import the study, which needs more packages than the other commands."""
    try:
        from fitwithin_paper import study as study_package
    except ImportError as error:
        fail(f"The study needs {error.name}, which is not installed.", hint=INSTALL_COMMAND)
    return study_package


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a text such as 0-3 or 0,5."""
    seeds: list[int] = []
    for part in _split_names(text):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise ValueError(f"--seeds must be numbers such as 0-3 or 0,5; got {text!r}.")
    return tuple(dict.fromkeys(seeds))
