"""Write a model to a skops file, and load it again after every check."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from fitwithin._core.exceptions import NotStorable, UserInputError
from fitwithin._core.model_file.archive_schema import read_types
from fitwithin._core.model_file.model_checks import find_invalid_types, validate_model
from fitwithin._core.model_file.trusted_types import TRUSTED_TYPES, TYPES_BY_LOADER

_FAST_COMPRESSION = 1
"""zlib level. A model is written while the user waits."""


_MAX_REASON_LENGTH = 200
"""Characters of an error of skops that are shown."""


class UntrustedTypes(Exception):
    """A file holds types that are not trusted.

    Parameters
    ----------
    names : list of str
        Full names of the types, sorted.
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def dump_model(model: Any, path: Path) -> tuple[str, ...]:
    """Write a model to a skops file, and load it again at once.

    skops stores some objects, such as a lambda, that it can't load.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : Path
        File to write; replaced if it exists.

    Returns
    -------
    tuple of str
        Types in the file that must be trusted by name to load it: they are not in `TRUSTED_TYPES`, or can't be checked.

    Raises
    ------
    NotStorable
        If skops can't write or load the model.
    """
    try:
        types = _dump_and_check(model, path)
        untrusted = _untrusted_names(types)
        untrusted |= find_invalid_types(_load(path, types, untrusted))
    except OSError:
        raise
    except Exception as error:  # skops raises many types, and a learner's attributes may raise anything.
        raise NotStorable(" ".join(str(error).split())[:_MAX_REASON_LENGTH]) from error
    return tuple(sorted(untrusted))


def _dump_and_check(model: Any, path: Path) -> FileTypes:
    """Write a model, compressed unless `load_model` would then take it for a zip bomb."""
    skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=_FAST_COMPRESSION)
    try:
        return read_types(path)
    except UserInputError:
        skops.io.dump(model, path, compression=zipfile.ZIP_STORED)
        return read_types(path)


def load_model(path: Path, trusted_types: Collection[str] = ()) -> Any:
    """Load a model from a skops file that may come from anybody.

    Sizes and types are checked before anything in the file is created, and indices before the model is returned.

    Parameters
    ----------
    path : Path
        File to read.
    trusted_types : collection of str
        Full names of types to trust in addition to `TRUSTED_TYPES`.

    Raises
    ------
    UntrustedTypes
        If the file holds other types; nothing in it is run.
    UserInputError
        If it would take more memory than its size explains, if an index in it is out of range, or if it is damaged.
    ModuleNotFoundError
        If a library that it needs is not installed.
    """
    types = read_types(path)
    untrusted = _untrusted_names(types) - set(trusted_types)
    if untrusted:
        raise UntrustedTypes(sorted(untrusted))
    model = _load(path, types, trusted_types)
    validate_model(model, trusted_types)
    return model


FileTypes = frozenset[tuple[str, str]]
"""Names of loaders, each with the full name of a type."""


def _untrusted_names(types: FileTypes) -> set[str]:
    return {name for loader, name in types if name not in TYPES_BY_LOADER.get(loader, ())}


def _load(path: Path, types: FileTypes, trusted_types: Collection[str]) -> Any:
    """Load a model whose types are trusted."""
    names = {name for _, name in types}
    try:
        # skops checks the types once more, by a list of its own and this one.
        return skops.io.load(path, trusted=sorted(names & {*TRUSTED_TYPES, *trusted_types}))
    except UntrustedTypesFoundException as error:
        raise UntrustedTypes(sorted(set(skops.io.get_untrusted_types(file=path)) - names)) from error
    except (ModuleNotFoundError, OSError, MemoryError):
        raise
    except Exception as error:  # A damaged or forged file may raise anything.
        raise UserInputError(
            f"It can't be loaded ({type(error).__name__}: {error}).", "Copy it again, or train the model again."
        ) from error
