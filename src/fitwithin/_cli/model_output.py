"""The model file of a training: written even if its path fails, since training the model took the whole time limit."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class WrittenModel:
    """A model file that was written.

    Parameters
    ----------
    path : Path
        The file.
    card : ModelCard
        Its card, with the types that must be trusted by name.
    is_pickle : bool
        Whether the model is stored by pickle.
    """

    path: Path
    card: ModelCard
    is_pickle: bool


def write_model(pipeline: Any, card: ModelCard, options: TrainOptions) -> WrittenModel:
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
    """
    with _ignore_first_interrupt():
        try:
            return _write_to(options.out, pipeline, card, options)
        except UserInputError as error:
            folder = Path(tempfile.mkdtemp(prefix="fitwithin-"))
            written = _write_to(folder / options.out.name, pipeline, card, options)
            fail(
                error.sentence,
                code=EXIT_FAILED,
                hint=f"The model is not lost: move {written.path} to where you want it.",
            )


def _write_to(path: Path, pipeline: Any, card: ModelCard, options: TrainOptions) -> WrittenModel:
    try:
        full_card = write_archive(path, pipeline, card, force=options.force, as_pickle=options.use_pickle)
        return WrittenModel(path, full_card, options.use_pickle)
    except NotStorable as error:
        path = path.with_suffix(".pickle")
        print_note(f"skops can't store this learner ({error}), so it is stored by pickle.")
        full_card = write_archive(path, pipeline, card, force=options.force, as_pickle=True)
        return WrittenModel(path, full_card, is_pickle=True)


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
