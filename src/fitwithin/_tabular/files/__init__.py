"""Tables of data in files: which formats are read, whole or in parts of constant size, and how answers are written."""

from fitwithin._tabular.files.output_file import refuse_existing, written_beside
from fitwithin._tabular.files.predictions import answer_format, answers_written_to
from fitwithin._tabular.files.reader import DataFile, full_ending, open_data
from fitwithin._tabular.files.table_chunk import Part

__all__ = [
    "DataFile",
    "Part",
    "answer_format",
    "answers_written_to",
    "full_ending",
    "open_data",
    "refuse_existing",
    "written_beside",
]
