"""Tables of data in files: which formats are read, whole or in parts of constant size, and how answers are written."""

from ._answers import answer_format, answers_written_to
from ._beside import refuse_existing, written_beside
from ._open import DataFile, full_ending, open_data
from ._part import Part

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
