"""Data files: formats that are read, whole or in chunks of bounded size, and the output files."""

from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.files.output_file import atomic_output, validate_output_path
from fitwithin._tabular.files.predictions import open_predictions_writer, predictions_format
from fitwithin._tabular.files.reader import full_suffix, open_data_file
from fitwithin._tabular.files.table_chunk import TableChunk

__all__ = [
    "DataFile",
    "DataSetFiles",
    "TableChunk",
    "atomic_output",
    "full_suffix",
    "open_data_file",
    "open_predictions_writer",
    "predictions_format",
    "validate_output_path",
]
