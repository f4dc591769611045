"""Errors of the libraries that read data sets, in users' words."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from zipfile import BadZipFile

from fitwithin._core.exceptions import FitwithinError, UserInputError, shorten_reason


@contextmanager
def translate_read_errors(path: object) -> Iterator[None]:
    """Raise a `UserInputError` that names the file for every error of a reader."""
    import pyarrow as pa

    # Errors of truncated files and of files of another format have no common base.
    kinds = (OSError, EOFError, KeyError, ValueError, NotImplementedError, pa.ArrowException, BadZipFile, zlib.error)
    with _translate(kinds, f"{path} can't be read", "Is it complete, and does its ending match its format?"):
        try:
            yield
        except FileNotFoundError as error:
            raise UserInputError(f"{path} is gone.", "It must stay where it is until all rows were read.") from error
        except PermissionError as error:
            advice = f"Change the permissions of {error.filename or 'it'}, or leave it out."
            raise UserInputError(f"{path} can't be read: {error.strerror}.", advice) from error


def translate_query_errors() -> AbstractContextManager[None]:
    """Raise a `UserInputError` for every error of a polars query."""
    import polars as pl

    kinds = (OSError, ValueError, pl.exceptions.PolarsError)
    return _translate(kinds, "The query of the lazy frame failed", "Does its collect() work?")


def translate_write_errors(folder: object) -> AbstractContextManager[None]:
    """Raise a `UserInputError` that names the folder if it can't be written to."""
    return _translate((OSError,), f"The folder {folder} can't be written to", "Make room in it, or name another one.")


def translate_spool_errors(folder: object) -> AbstractContextManager[None]:
    """Raise a `UserInputError` that names the folder of the spool if it can't be written to."""
    advice = "Make room in it, or pass another folder: backend=fitwithin.backends.Process(spool=FOLDER)."
    return _translate((OSError,), f"The spool folder {folder} cannot be used", advice)


@contextmanager
def _translate(kinds: tuple[type[Exception], ...], problem: str, advice: str) -> Iterator[None]:
    try:
        yield
    except FitwithinError:
        raise
    except kinds as error:
        reason = getattr(error, "strerror", None) or shorten_reason(error)
        raise UserInputError(f"{problem}: {reason}.", advice) from error
