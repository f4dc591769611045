"""Predictions in a file, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.output_file import written_beside


def _feather(path: str, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(path, schema)


_WRITERS: Mapping[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": pq.ParquetWriter,
    ".feather": _feather,
    ".csv": arrow_csv.CSVWriter,
}


def answer_format(path: Path) -> str:
    """The ending that says how predictions are written.

    Raises
    ------
    UserInputError
        If it is none of the known ones.

    Examples
    --------
    >>> answer_format(Path("answers.csv"))
    '.csv'
    """
    ending = path.suffix.lower()
    if ending not in _WRITERS:
        raise UserInputError(
            f"Predictions can't be written to a file called {path.name}.", f"It may end in {', '.join(_WRITERS)}."
        )
    return ending


@contextmanager
def answers_written_to(path: Path, *, force: bool) -> Iterator[Callable[[pa.Table], None]]:
    """What to call with each part of the answers; the file is there when all of them are.

    Raises
    ------
    UserInputError
        If there is nothing to write, or no place to write it to.
    """
    writer: Any = None
    with written_beside(path, force=force) as beside:

        def write(answers: pa.Table) -> None:
            nonlocal writer
            if writer is None:
                writer = _WRITERS[answer_format(path)](str(beside), answers.schema)
            writer.write_table(answers)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise UserInputError("There are no rows to predict for.", "Is it the right file?")
