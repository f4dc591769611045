"""A trained model gets into a file, whatever happens on the way: after all the time that it took it is not given up."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fitwithin._cli.console import note
from fitwithin._cli.errors import FAILED, fail
from fitwithin._cli.train_options import Order
from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular import About
from fitwithin._tabular.model_file import NotForSkops, write_model


@dataclass(frozen=True)
class Kept:
    """A model in a file.

    Parameters
    ----------
    path : Path
        Where it is.
    card : About
        What there is to know about it, with the types that must be trusted by name.
    by_pickle : bool
        Whether it takes pickle to open it.
    """

    path: Path
    card: About
    by_pickle: bool


def keep(model: Any, card: About, order: Order) -> Kept:
    """Store a model where it was ordered, by pickle if skops can't.

    If that place has become impossible, the model is stored among the temporary files, and the command fails.

    Parameters
    ----------
    model : Pipeline
        The model.
    card : About
        What there is to know about it.
    order : Order
        What the user wanted.
    """
    with _patient():
        try:
            return _stored(order.out, model, card, order)
        except UserInputError as error:
            folder = Path(tempfile.mkdtemp(prefix="fitwithin-"))
            kept = _stored(folder / order.out.name, model, card, order)
            fail(error.sentence, code=FAILED, hint=f"The model is not lost: move {kept.path} to where you want it.")


def _stored(path: Path, model: Any, card: About, order: Order) -> Kept:
    try:
        told = write_model(path, model, card, force=order.force, by_pickle=order.by_pickle)
        return Kept(path, told, order.by_pickle)
    except NotForSkops as error:
        path = path.with_suffix(".pickle")
        note(f"skops can't store this learner ({error}), so it is stored by pickle.")
        return Kept(path, write_model(path, model, card, force=order.force, by_pickle=True), by_pickle=True)


@contextmanager
def _patient() -> Iterator[None]:
    """A first Ctrl-C is answered with a sentence, since it came too late to shorten anything; a second one counts."""

    def wait(*_: object) -> None:
        typer.echo("The model is being written; Ctrl-C again gives it up.", err=True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
