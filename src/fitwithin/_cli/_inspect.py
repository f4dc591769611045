"""fitwithin inspect."""

from __future__ import annotations

import typer
from rich.console import Console

from ._failing import explained, require
from ._options import Debug, Json, Model


def inspect(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Show what a model file holds; nothing of it is run.

    Example: fitwithin inspect model.skops
    """
    with explained(debug=debug):
        require("pandas", "pyarrow", "skops")
        from .._model_file import read_about
        from ._shown import show_model

        about = read_about(model)
        if json:
            typer.echo(about.to_json())
        else:
            show_model(Console(highlight=False), str(model), about)
