"""From a table in a file to a model: what its columns hold, how they are encoded, what is learned, what came of it."""

from ._about import About
from ._columns import KINDS
from ._encoding import SAYS, Encoding
from ._goal import Task, in_file, read_goal
from ._misfits import refuse_misfits, refuse_other_columns, refuse_unfit_score
from ._training import (
    NAMELESS,
    Encoded,
    Understood,
    about,
    encoding_for,
    features_of,
    fitted,
    rows_to_test,
    stored_pipeline,
    types_of,
    understand,
)

__all__ = [
    "KINDS",
    "NAMELESS",
    "SAYS",
    "About",
    "Encoded",
    "Encoding",
    "Task",
    "Understood",
    "about",
    "encoding_for",
    "features_of",
    "fitted",
    "in_file",
    "read_goal",
    "refuse_misfits",
    "refuse_other_columns",
    "refuse_unfit_score",
    "rows_to_test",
    "stored_pipeline",
    "types_of",
    "understand",
]
