"""Data files: formats that are read, whole or in chunks of bounded size, and the output files."""

from fitwithin._tabular.files.data_file import DataFile, TableChunk
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.files.output_file import (
    atomic_output,
    predictions_format,
    validate_output_path,
    write_predictions,
)
from fitwithin._tabular.files.reader import full_suffix, open_data_file

__all__ = [
    "DataFile",
    "DataSetFiles",
    "TableChunk",
    "atomic_output",
    "full_suffix",
    "open_data_file",
    "predictions_format",
    "validate_output_path",
    "write_predictions",
]
