"""The application: all commands together."""

from __future__ import annotations

import io
import sys

import typer

from fitwithin._cli.demo import demo
from fitwithin._cli.inspect import inspect
from fitwithin._cli.predict import predict
from fitwithin._cli.shuffle import shuffle
from fitwithin._cli.study import study
from fitwithin._cli.theory import theory
from fitwithin._cli.train import train

app = typer.Typer(no_args_is_help=True)


app.command()(train)


app.command()(predict)


app.command()(inspect)


app.command()(shuffle)


app.command()(demo)


app.command()(theory)


app.add_typer(study, name="study")


@app.callback()
def configure_output() -> None:
    """Train a model within a time limit, and predict with it.

    Examples: fitwithin demo; fitwithin train rows.parquet --target label --time-limit 15m
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal can't show must not stop a command.
            stream.reconfigure(errors="replace")
