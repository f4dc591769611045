"""fitwithin inspect."""

from __future__ import annotations

import typer
from rich.console import Console

from fitwithin._cli.errors import explained, require
from fitwithin._cli.options import Debug, Json, Model


def inspect(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Show what a model file holds; nothing of it is run.

    Example: fitwithin inspect model.skops
    """
    with explained(debug=debug):
        require("pandas", "pyarrow", "skops")
        from fitwithin._cli.tables import show_model
        from fitwithin._tabular.model_file import read_about

        about = read_about(model)
        if json:
            typer.echo(about.to_json())
        else:
            show_model(Console(highlight=False), str(model), about)
