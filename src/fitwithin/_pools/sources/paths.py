"""Paths of parquet and Arrow files: which files they name, and the data set of them."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError, suggest_path
from fitwithin._pools.sources.column_types import ColumnSurvey, widen_codes
from fitwithin._pools.sources.dataset_blocks import OPENING_THREADS, DatasetBlocks
from fitwithin._pools.sources.read_errors import translate_read_errors

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}
"""Endings of the names of files, with pyarrow's name of the format."""

MARKER_NAME = "_shuffled.json"
"""Name of the file. Readers of data sets skip names that begin with an underscore."""

STATE_NAME = "_shuffle_state.json"
"""Name of the file that is there instead until the folder is complete."""

AnyPath = str | os.PathLike[str]


def open_paths(paths: AnyPath | Sequence[AnyPath], **options: Any) -> DatasetBlocks:
    """Return the rows of one or more files, folders or patterns.

    Parameters
    ----------
    paths : str, path-like or sequence of them
        Files, folders, patterns such as ``rows/*.parquet``, or addresses such as ``s3://bucket/rows``.
    **options : dict
        Parameters of `DatasetBlocks`.

    Raises
    ------
    UserInputError
        If there are no such files, or their columns differ.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    texts = [os.fspath(path) for path in given]
    if len(texts) == 1 and "://" in texts[0]:
        return _open_address(texts[0], options)
    with translate_read_errors(texts[0]):
        folder = Path(texts[0]) if len(texts) == 1 and Path(texts[0]).is_dir() else None
        marker = None if folder is None else read_marker(folder)
        dataset = make_dataset([file for text in texts for file in find_files(text)], folder)
        if marker is not None:
            # The marker and the first row tell what all rows hold.
            options |= {"survey": ColumnSurvey(set(marker.with_nulls)), "is_shuffled": True}
            categorical = [column.name for column in dataset.schema if pa.types.is_dictionary(column.type)]
            options["survey"].add(dataset.head(1, columns=categorical))
    return DatasetBlocks(dataset, **options)


def find_files(text: str) -> list[Path]:
    """Return the files of one path or pattern, sorted.

    Raises
    ------
    UserInputError
        If there are none, one cannot be read, or the name of one does not tell its format.
    """
    path = Path(text)
    with translate_read_errors(text):
        if path.is_dir():
            return _list_folder(path)
        if path.exists():
            return [_require_known_ending(path)]
    if not glob.has_magic(text):
        raise UserInputError(f"There is no file or folder {text}.", suggest_path(path))
    files = [file for name in sorted(glob.glob(text, recursive=True), key=Path) for file in find_files(name)]
    if not files:
        raise UserInputError(f"No file matches {text}.", "Check the folder, and the ending of the names.")
    return files


def make_dataset(files: Sequence[Path], folder: Path | None = None) -> ds.Dataset:
    """Return the data set of files that have the same columns.

    Parameters
    ----------
    files : sequence of Path
        Parquet files, or Arrow files.
    folder : Path, optional
        The folder that all are in. Subfolders such as ``year=2026`` are columns.

    Raises
    ------
    UserInputError
        If the files have different formats or columns.
    """
    formats = {FORMATS[file.suffix.lower()]: file for file in reversed(files)}
    if len(formats) > 1:
        one, other = formats.values()
        raise UserInputError(
            f"{one} and {other} have different formats.", "Name files of one format, such as 'rows/*.parquet'."
        )
    options: dict[str, Any] = {}
    if folder is not None:
        options = {"partitioning": "hive", "partition_base_dir": str(folder)}
    with translate_read_errors(str(files[0])):
        dataset = ds.dataset([str(file) for file in files], format=next(iter(formats)), **options)
    fragments = list(dataset.get_fragments())
    schema = find_common_schema(files, fragments)
    # Folders such as year=2026 add columns to those of the files.
    added = [column for column in dataset.schema if column.name not in schema.names]
    shared = pa.schema([*schema, *added], metadata=schema.metadata)
    return ds.FileSystemDataset(fragments, shared, dataset.format, dataset.filesystem)


def find_common_schema(files: Sequence[Path], fragments: Sequence[Any]) -> pa.Schema:
    """Return the columns that all files have.

    A column without any value in one file may have the type null there.

    Raises
    ------
    UserInputError
        If a file has other columns, or other types; names the file and the column.
    """
    with ThreadPoolExecutor(OPENING_THREADS) as threads:
        shared, *others = threads.map(_read_schema, files, fragments)
    for file, schema in zip(files[1:], others, strict=True):
        _compare_names(files[0], shared, file, schema)
        try:
            shared = pa.unify_schemas([shared, schema])
        except pa.ArrowException as error:
            reason = str(error).removeprefix("Unable to merge: ")
            raise UserInputError(
                f"{file} has other types than {files[0]}: {reason}.",
                "All files must have the same types; write one of them again.",
            ) from error
    return shared


def _compare_names(first_file: Path, first: pa.Schema, file: Path, schema: pa.Schema) -> None:
    missing = [f"no column {name!r}, which {first_file} has" for name in first.names if name not in schema.names]
    added = [f"a column {name!r}, which {first_file} does not have" for name in schema.names if name not in first.names]
    if missing or added:
        raise UserInputError(f"{file} has {(missing + added)[0]}.", "All files must have the same columns.")


def _read_schema(file: Path, fragment: Any) -> pa.Schema:
    with translate_read_errors(str(file)):
        schema = fragment.physical_schema
    return pa.schema([column.with_type(widen_codes(column.type)) for column in schema], metadata=schema.metadata)


def _list_folder(folder: Path) -> list[Path]:
    found = []
    for subfolder, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        visible = [Path(subfolder, name) for name in names if not name.startswith(("_", "."))]
        found += [file for file in visible if file.suffix.lower() in FORMATS]
    broken = next((file for file in found if not file.is_file()), None)
    if broken is not None:
        raise UserInputError(f"{broken} is no file, or a link to one that is not there.", "Remove it.")
    if not found:
        raise UserInputError(
            f"The folder {folder} has no files that end in {', '.join(FORMATS)}.", "Is it the right folder?"
        )
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _require_known_ending(path: Path) -> Path:
    if path.suffix.lower() not in FORMATS:
        raise UserInputError(
            f"The name {path.name} does not tell the format of the file.", f"Known endings: {', '.join(FORMATS)}."
        )
    return path


def _open_address(address: str, options: dict[str, Any]) -> DatasetBlocks:
    ending = Path(address).suffix.lower()
    with translate_read_errors(address):
        dataset = ds.dataset(address, format=FORMATS.get(ending, "parquet"), partitioning="hive")
    return DatasetBlocks(dataset, **options)


@dataclass(frozen=True)
class ShuffledMarker:
    """What `fitwithin shuffle` notes about its output.

    Parameters
    ----------
    files : list of str
        Names of the files in the folder, in the order in which to read them.
    n_rows : int
        Rows in all of them.
    with_nulls : list of str
        Columns with missing values.
    """

    files: list[str]
    n_rows: int
    with_nulls: list[str]

    def write(self, folder: Path) -> None:
        """Write the marker to a folder."""
        with atomic_write(folder / MARKER_NAME) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def read_marker(folder: Path) -> ShuffledMarker | None:
    """Return the marker of a folder; None if there is none.

    Raises
    ------
    UserInputError
        If it is damaged, a file that it names is gone, or the copy is not finished.
    """
    path = folder / MARKER_NAME
    if (folder / STATE_NAME).is_file():
        raise UserInputError(
            f"{folder} is an unfinished shuffled copy.", "Run the same fitwithin shuffle again; it goes on."
        )
    if not path.is_file():
        return None
    try:
        marker = ShuffledMarker(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserInputError(f"{path} is damaged: {error}.", "Make the shuffled copy again.") from error
    missing = next((name for name in marker.files if not (folder / name).is_file()), None)
    if missing is not None:
        raise UserInputError(
            f"The shuffled copy {folder} has lost its file {missing}.", "Make the shuffled copy again."
        )
    return marker
