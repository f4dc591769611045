"""The model file of a training: written even if its path fails, since training the model took the whole time limit."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from fitwithin._cli.console import print_note
from fitwithin._cli.errors import EXIT_FAILED, fail
from fitwithin._cli.train_options import TrainOptions
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file import NotStorable
from fitwithin._tabular.model_archive import write_archive
from fitwithin._tabular.model_card import ModelCard


def write_model(pipeline: Any, card: ModelCard, options: TrainOptions) -> tuple[Path, ModelCard, bool]:
    """Write a model to --out, by pickle if skops can't store it.

    If that path can't be written any more, write it to a temporary folder and let the command fail.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted.
    card : ModelCard
        Its card.
    options : TrainOptions
        The path, and whether to replace a file or to use pickle.

    Returns
    -------
    tuple
        The file, its card with the types that must be trusted by name, and whether it holds a pickle.
    """
    with _ignore_first_interrupt():
        try:
            return _write_to(options.out, pipeline, card, options)
        except UserInputError as error:
            folder = Path(tempfile.mkdtemp(prefix="fitwithin-"))
            path, *_ = _write_to(folder / options.out.name, pipeline, card, options)
            fail(error.sentence, code=EXIT_FAILED, hint=f"The model is not lost: move {path} to where you want it.")


def _write_to(path: Path, pipeline: Any, card: ModelCard, options: TrainOptions) -> tuple[Path, ModelCard, bool]:
    try:
        full_card = write_archive(path, pipeline, card, force=options.force, as_pickle=options.unsafe_pickle)
        return path, full_card, options.unsafe_pickle
    except NotStorable as error:
        path = path.with_suffix(".pickle")
        print_note(f"skops can't store this learner ({error}), so it is stored by pickle.")
        full_card = write_archive(path, pipeline, card, force=options.force, as_pickle=True)
        return path, full_card, True


@contextmanager
def _ignore_first_interrupt() -> Iterator[None]:
    """Answer the first Ctrl-C with a message, since only writing is left to do; obey the second."""

    def warn(*_: object) -> None:
        typer.echo("The model is being written; press Ctrl-C again to discard it.", err=True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, warn)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
