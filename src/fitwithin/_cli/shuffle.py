"""fitwithin shuffle."""

from __future__ import annotations

import json as json_
import time
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress

from fitwithin._cli.console import print_line
from fitwithin._cli.errors import EXIT_STOPPED, fail, report_errors
from fitwithin._cli.options import DebugOption, JsonOption
from fitwithin._core.install_command import require_libraries


def shuffle(
    source: str = typer.Argument(
        metavar="SOURCE",
        show_default=False,
        help="A parquet or Arrow file, a folder of them, or a pattern such as 'rows/*.parquet'.",
    ),
    out: Path = typer.Option(metavar="FOLDER", show_default=False, help="The folder to write."),
    seed: int | None = typer.Option(
        None, min=0, max=2**32 - 1, help="Seed of the order; the same seed gives the same order."
    ),
    force: bool = typer.Option(False, "--force", help="Replace another shuffled copy in the folder."),
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Copy rows to a folder in random order, for data that you train on often.

    Training on the copy begins at once, because its first rows are a random sample. The source may be larger than
    memory. While the command runs, the folder needs room for two copies of the source, and for one afterwards. After a
    kill or Ctrl-C, the same command resumes.

    Example: fitwithin shuffle 'rows/*.parquet' --out shuffled
    """
    with report_errors(debug=debug):
        require_libraries("This command", "filelock", "pandas", "pyarrow")
        from fitwithin._tabular.shuffle import shuffle_data_set

        start = time.monotonic()
        try:
            with Progress(console=Console(stderr=True), transient=True) as progress:
                task = progress.add_task("Shuffling", total=1000)
                result = shuffle_data_set(
                    source,
                    out,
                    seed=seed,
                    force=force,
                    on_progress=lambda done, total: progress.update(task, completed=done, total=total),
                )
        except KeyboardInterrupt:
            fail("Interrupted. The same command resumes it.", code=EXIT_STOPPED)
        if json:
            typer.echo(json_.dumps({"rows": result.n_rows, "files": len(result.files), "folder": str(out)}))
            return
        console = Console(highlight=False)
        seconds = time.monotonic() - start
        print_line(console, f"{result.n_rows:,} rows are in {out} in random order, after {seconds:.1f} s. Next:")
        print_line(console, f"  fitwithin train {out} --target COLUMN")
