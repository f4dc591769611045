"""fitwithin inspect."""

from __future__ import annotations

import typer
from rich.console import Console

from fitwithin._cli.errors import report_errors
from fitwithin._cli.options import DebugOption, JsonOption, ModelArgument
from fitwithin._core.install_command import require_libraries


def inspect(model: ModelArgument, json: JsonOption = False, debug: DebugOption = False) -> None:
    """Show what is in a model file or a checkpoint: learner, columns, score, versions. Nothing in the file is run.

    Example: fitwithin inspect model.skops
    """
    with report_errors(debug=debug):
        require_libraries("This command", "pandas", "pyarrow", "skops")
        from fitwithin._cli.summaries import print_model_card
        from fitwithin._tabular.model_archive import read_card

        card = read_card(model)
        if json:
            typer.echo(card.to_json())
        else:
            print_model_card(Console(highlight=False), str(model), card)
