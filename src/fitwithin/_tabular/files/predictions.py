"""Prediction files, written chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.output_file import atomic_output

_WRITERS: Mapping[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": pq.ParquetWriter,
    ".feather": pa.ipc.new_file,
    ".csv": arrow_csv.CSVWriter,
}


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


@contextmanager
def open_predictions_writer(path: Path, *, force: bool) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that writes a chunk of predictions; the file appears when all are written.

    Raises
    ------
    UserInputError
        If there are no rows, or the file can't be written.
    """
    writer: Any = None
    with atomic_output(path, force=force) as temporary:

        def write(predictions: pa.Table) -> None:
            nonlocal writer
            if writer is None:
                writer = _WRITERS[predictions_format(path)](str(temporary), predictions.schema)
            writer.write_table(predictions)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise UserInputError("The file has no rows to predict.", "Is it the right file?")
