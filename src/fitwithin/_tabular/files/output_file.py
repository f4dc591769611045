"""Output files, of predictions too: none is replaced without --force; paths are checked before the work begins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from fitwithin._core.atomic_write import atomic_write, temporary_sibling
from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.read_errors import translate_write_errors

_WRITERS: Mapping[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": pq.ParquetWriter,
    ".feather": pa.ipc.new_file,
    ".csv": arrow_csv.CSVWriter,
}


def validate_output_path(path: Path, *, force: bool) -> None:
    """Check before any work is done that a file can be written.

    Raises
    ------
    UserInputError
        If the file exists and may not be replaced, or its folder can't be written to.
    """
    if path.exists() and not path.is_file():
        raise UserInputError(f"{path} is not a regular file.", "Choose another name.")
    if not force:
        _refuse_existing_file(path)
    if not path.parent.is_dir():
        raise UserInputError(
            f"There is no folder {path.parent} to write {path.name} to.", f"Create it: mkdir -p {path.parent}"
        )
    with translate_write_errors(path.parent.resolve()):
        # Permissions alone are not enough: a disk may be read-only, and root may write almost anywhere.
        trial = temporary_sibling(path)
        trial.touch()
        trial.unlink()


def _refuse_existing_file(path: Path) -> None:
    if path.exists():
        raise UserInputError(f"{path} exists already.", "Choose another name, or replace it with --force.")


@contextmanager
def atomic_output(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a temporary path; on success it is renamed to the wanted one, otherwise it is deleted.

    Parameters
    ----------
    path : Path
        The wanted file.
    force : bool
        Whether it may be replaced.

    Raises
    ------
    UserInputError
        If it can't be written, or another program created it meanwhile.
    """
    temporary = path
    try:
        with atomic_write(path) as temporary:
            yield temporary
            if not force:
                _refuse_existing_file(path)
    except OSError as error:
        if error.filename not in (None, str(temporary), str(path)):
            # The error is about another file, which the caller reads.
            raise
        raise UserInputError(f"{path} can't be written: {error.strerror or error}.", "Choose another path.") from error


def predictions_format(path: Path) -> str:
    """Return the suffix that says how predictions are written.

    Raises
    ------
    UserInputError
        If it is unknown.

    Examples
    --------
    >>> predictions_format(Path("predictions.csv"))
    '.csv'
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise UserInputError(
            f"Predictions can't be written to a file called {path.name}.",
            f"Its name must end in {', '.join(_WRITERS)}.",
        )
    return suffix


def write_predictions(path: Path, chunks: Iterable[pa.Table], *, force: bool) -> int:
    """Write predictions chunk by chunk, and return their number; the file appears when all are written.

    Raises
    ------
    UserInputError
        If there are no rows, or the file can't be written.
    """
    remaining = iter(chunks)
    first = next(remaining, None)
    if first is None:
        raise UserInputError("The file has no rows to predict.", "Is it the right file?")
    with (
        atomic_output(path, force=force) as temporary,
        _WRITERS[predictions_format(path)](str(temporary), first.schema) as writer,
    ):
        n_rows = 0
        for chunk in itertools.chain([first], remaining):
            writer.write_table(chunk)
            n_rows += len(chunk)
    return n_rows
