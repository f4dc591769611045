"""The application: all commands together."""

from __future__ import annotations

import contextlib
import io
import sys
from importlib.metadata import PackageNotFoundError, distribution

import typer

from fitwithin._cli.demo import demo
from fitwithin._cli.inspect import inspect
from fitwithin._cli.predict import predict
from fitwithin._cli.shuffle import shuffle
from fitwithin._cli.train import train

_ENTRY_POINT_GROUP = "fitwithin.commands"

app = typer.Typer(no_args_is_help=True)
for command in (train, predict, inspect, shuffle, demo):
    app.command()(command)


# Commands of other packages in this distribution, if it is installed; to search all distributions would take long.
with contextlib.suppress(PackageNotFoundError):
    for entry_point in distribution("fitwithin").entry_points.select(group=_ENTRY_POINT_GROUP):
        # A package that is left out of an installation has no commands.
        with contextlib.suppress(ModuleNotFoundError):
            loaded = entry_point.load()
            if isinstance(loaded, typer.Typer):
                app.add_typer(loaded, name=entry_point.name)
            else:
                app.command(entry_point.name)(loaded)


@app.callback()
def configure_output() -> None:
    """Train a model within a time limit, and predict with it.

    Examples: fitwithin demo; fitwithin train rows.parquet --target label --time-limit 15m
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal can't show must not stop a command.
            stream.reconfigure(errors="replace")
