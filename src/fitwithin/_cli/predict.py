"""fitwithin predict."""

from __future__ import annotations

import json as json_
from pathlib import Path

import typer
from rich.console import Console

from fitwithin._cli.console import print_line
from fitwithin._cli.errors import report_errors
from fitwithin._cli.options import DebugOption, ForceOption, JsonOption, ModelArgument, validate_data_exists
from fitwithin._core.install_command import require_libraries


def predict(
    model: ModelArgument,
    data: Path = typer.Argument(
        metavar="DATA",
        help="Rows with the columns of the training file: a file, a folder or a pattern.",
        show_default=False,
    ),
    out: Path = typer.Option(
        Path("predictions.parquet"), metavar="FILE", help="The file to write; ends in .parquet, .csv or .feather."
    ),
    proba: bool = typer.Option(False, "--proba", help="Also write a column probability_<class> for every class."),
    trust: list[str] = typer.Option(
        [], metavar="NAME", help="A type in the model file that you trust, for your own learner. Repeatable."
    ),
    unsafe_pickle: bool = typer.Option(
        False,
        "--unsafe-pickle",
        help="Open a model that is stored by pickle. A pickle can run any program when it is opened.",
    ),
    force: ForceOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Predict for the rows of a file, which may be larger than memory.

    Example: fitwithin predict model.skops new-rows.parquet --out predictions.parquet --proba
    """
    with report_errors(debug=debug):
        require_libraries("This command", "pandas", "pyarrow", "skops")
        validate_data_exists(data)
        from fitwithin._cli.predict_run import run_prediction

        n_rows = run_prediction(
            model, data, out, proba=proba, trusted_types=trust, unsafe_pickle=unsafe_pickle, force=force
        )
        if json:
            typer.echo(json_.dumps({"predictions": str(out), "rows": n_rows}))
        else:
            print_line(Console(highlight=False), f"{n_rows:,} predictions are in {out}.")
