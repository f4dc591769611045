"""Model archives: one zip file with a pipeline (by skops or pickle) and its model card; checkpoints are read too."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import format_install_command
from fitwithin._core.model_file import UntrustedTypes, dump_model, load_model, open_archive
from fitwithin._core.preset_table import BOOSTERS
from fitwithin._tabular.checkpoint_file import read_checkpoint_card, read_checkpoint_pipeline
from fitwithin._tabular.files import atomic_output
from fitwithin._tabular.model_card import ModelCard

_CARD_ENTRY = "fitwithin.json"
"""Entry of the archive with the model card."""


_SKOPS_ENTRY = "schema.json"
"""Entry that every skops file has."""


_PICKLE_ENTRY = "model.pickle"
"""Entry with the pipeline, if it is stored by pickle."""


_HINT = "Use a file that fitwithin train wrote."


def write_archive(
    path: Path, pipeline: Any, card: ModelCard, *, force: bool = False, as_pickle: bool = False
) -> ModelCard:
    """Write a pipeline and its card to one file, completely or not at all.

    Parameters
    ----------
    path : Path
        File to write.
    pipeline : Pipeline
        Fitted.
    card : ModelCard
        Its description.
    force : bool, default=False
        Whether an existing file may be replaced.
    as_pickle : bool, default=False
        Whether to store the pipeline by pickle, for learners that skops can't store.

    Returns
    -------
    ModelCard
        The card, with the types that must be trusted by name to open the file.

    Raises
    ------
    NotStorable
        If skops can't store the pipeline.
    UserInputError
        If the file can't be written.
    """
    with atomic_output(path, force=force) as temporary:
        if as_pickle:
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_PICKLE_ENTRY, cloudpickle.dumps(pipeline))
        else:
            card = replace(card, trust=dump_model(pipeline, temporary))
        with zipfile.ZipFile(temporary, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CARD_ENTRY, card.to_json())
    return card


def read_card(path: Path) -> ModelCard:
    """Read the model card of an archive; runs nothing in it.

    Raises
    ------
    UserInputError
        If the file is not an archive of fitwithin.
    """
    if path.is_dir():
        return read_checkpoint_card(path)
    with _open_archive(path) as archive, _name_file(path, "is not a model file", _HINT):
        return ModelCard.from_json(archive.read(_CARD_ENTRY))


def read_pipeline(path: Path, trusted_types: Collection[str] = (), *, unsafe_pickle: bool = False) -> Any:
    """Load the pipeline of an archive if all of its types are trusted.

    Parameters
    ----------
    path : Path
        File to read.
    trusted_types : collection of str
        Types to trust in addition to fitwithin's own list.
    unsafe_pickle : bool, default=False
        Whether a pickle may be opened, which can run any program.

    Raises
    ------
    UserInputError
        If the file holds other types, or can't be read.
    """
    if path.is_dir():
        return read_checkpoint_pipeline(path, list(trusted_types))
    with _open_archive(path) as archive:
        is_pickle = _PICKLE_ENTRY in archive.namelist()
        if is_pickle and not unsafe_pickle:
            raise UserInputError(
                f"{path} holds a pickle, which can run any program when it is opened.",
                "If you trust its source, add --unsafe-pickle.",
            )
        with _name_file(path, "can't be opened", "Copy it again, or train the model again."):
            try:
                return pickle.loads(archive.read(_PICKLE_ENTRY)) if is_pickle else load_model(path, trusted_types)
            except UntrustedTypes as error:
                names, options = ", ".join(error.names), " ".join(f"--trust {name}" for name in error.names)
                raise UserInputError(
                    f"It asks for {names}, which the list of trusted types does not have.",
                    f"If that is a learner of your own, add {options}",
                ) from error
            except ModuleNotFoundError as error:
                raise _missing_module(error) from error


@contextmanager
def _name_file(path: Path, failure: str, hint: str) -> Iterator[None]:
    """Name the file in each error."""
    try:
        yield
    except UserInputError as error:
        raise UserInputError(f"{path} was not used. {error.sentence}", error.hint) from error
    except Exception as error:  # zipfile raises many types, and a pickle any.
        raise UserInputError(f"{path} {failure}: {error}.", hint) from error


def _open_archive(path: Path) -> zipfile.ZipFile:
    if not path.is_file():
        raise UserInputError(f"There is no model file {path}.", "Create one: fitwithin train DATA --target COLUMN")
    with _name_file(path, "is not a model file", _HINT):
        archive = open_archive(path)
    names = set(archive.namelist())
    if _CARD_ENTRY not in names or not names & {_SKOPS_ENTRY, _PICKLE_ENTRY}:
        archive.close()
        raise UserInputError(f"{path} is not a model file of fitwithin.", _HINT)
    return archive


def _missing_module(error: ModuleNotFoundError) -> UserInputError:
    library = (error.name or "").partition(".")[0]
    if library in BOOSTERS:
        return UserInputError(f"It needs {library}, which is not installed.", format_install_command("boosters"))
    return UserInputError(
        f"It needs the module {error.name!r}, which can't be found.",
        "Run the command where that module can be imported.",
    )
