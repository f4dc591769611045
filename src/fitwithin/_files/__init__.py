"""Tables of data in files: which formats are read, whole or in parts of constant size, and how answers are written."""

from ._answers import ANSWER_ENDINGS, answer_format, answers_written_to
from ._beside import refuse_existing, written_beside
from ._open import DataFile, open_data
from ._part import Part, join

__all__ = [
    "ANSWER_ENDINGS",
    "DataFile",
    "Part",
    "answer_format",
    "answers_written_to",
    "join",
    "open_data",
    "refuse_existing",
    "written_beside",
]
