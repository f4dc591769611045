"""From a table in a file to a model: what its columns hold, how they are encoded, what is learned, what came of it."""

from fitwithin._tabular.columns import KINDS
from fitwithin._tabular.encoding import SAYS, Encoding
from fitwithin._tabular.learner_checks import refuse_misfits, refuse_other_columns, refuse_unfit_score
from fitwithin._tabular.model_card import About
from fitwithin._tabular.target_column import Task, in_file, read_goal
from fitwithin._tabular.training import (
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
