"""From a file to a model, under a limit: what the command line does between its options and its tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.environment import Environment, library_versions
from fitwithin._core.exceptions import UserInputError
from fitwithin._presets import BOOSTERS
from fitwithin._regressor import TimeConstrainedRegressor
from fitwithin._tabular.columns import Column, frame_of, sort_out
from fitwithin._tabular.encoding import Encoding, column_encoder, matrix_encoder
from fitwithin._tabular.files import DataFile, Part
from fitwithin._tabular.learner_checks import refuse_other_columns
from fitwithin._tabular.model_card import About
from fitwithin._tabular.target_column import Goal, as_trained

NAMELESS = "X does not have valid feature names"
"""What LightGBM before 4.7 warns of when it is given a matrix, although it was trained with one."""


@dataclass(frozen=True, eq=False)
class Understood:
    """What a file holds, as far as a model is concerned.

    Parameters
    ----------
    part : Part
        The rows that have a label.
    goal : Goal
        What is to be learned.
    columns : list of Column
        What it is to be learned from; empty if that is a matrix without names.
    left_out : dict
        Columns that are not used, and why.
    """

    part: Part
    goal: Goal
    columns: list[Column]
    left_out: Mapping[str, str]

    @property
    def rows(self) -> int:
        """How many rows have a label."""
        return len(self.part)

    @property
    def without_label(self) -> int:
        """How many have none."""
        return int(np.count_nonzero(~self.goal.present))

    @property
    def missing(self) -> dict[str, int]:
        """How many values are missing, by the kinds of columns that there are."""
        counts: dict[str, int] = {column.kind: 0 for column in self.columns}
        for column in self.columns:
            counts[column.kind] += self.part.table[column.name].null_count
        return counts


def understand(part: Part, goal: Goal) -> Understood:
    """Which rows and columns of a file can be learned from.

    Raises
    ------
    UserInputError
        If there are none.
    """
    part = with_label(part, goal.present)
    table = part.table.drop_columns([goal.name])
    if part.matrix is not None:
        return Understood(part, goal, [], dict.fromkeys(table.column_names, "not among the features"))
    columns, left_out = sort_out(table)
    if not columns:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:5])
        raise UserInputError(
            f"There is no column beside {goal.name!r} to learn from{f' ({reasons})' if reasons else ''}.",
            "Is --target the right column?",
        )
    return Understood(part, goal, columns, left_out)


def with_label(part: Part, present: Any) -> Part:
    """The rows that are present."""
    if present.all():
        return part
    return Part(part.table.filter(pa.array(present)), None if part.matrix is None else part.matrix[present])


def encoding_for(learner: Any) -> Encoding:
    """What a learner is good with: gaps and numbers of words if it takes gaps, one-hot columns if not.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> encoding_for(LogisticRegression()), encoding_for(DecisionTreeClassifier())
    ('one-hot', 'ordinal')
    """
    library = type(learner).__module__.partition(".")[0]
    if library in BOOSTERS:
        # Not all of their versions say so.
        return "ordinal"
    takes_gaps = hasattr(learner, "__sklearn_tags__") and get_tags(learner).input_tags.allow_nan
    inner = getattr(learner, "estimator", None)
    return "ordinal" if takes_gaps or (inner is not None and encoding_for(inner) == "ordinal") else "one-hot"


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows as a learner is given them.

    Parameters
    ----------
    X : numpy.ndarray or scipy.sparse.csr_matrix
        The features.
    encoder : ColumnTransformer, Pipeline or "passthrough"
        What made them, fitted.
    columns : list of Column
        What it was made for.
    """

    X: Any
    encoder: Any
    columns: list[Column]

    @classmethod
    def of(cls, understood: Understood, encoding: Encoding) -> Encoded:
        """Learn from all rows how to encode them, and do so."""
        part, columns = understood.part, understood.columns
        if part.matrix is not None:
            encoder = matrix_encoder(part.matrix, encoding)
            X = part.matrix if encoder == "passthrough" else encoder.fit_transform(part.matrix)
            return cls(X, encoder, [])
        encoder = column_encoder(columns, encoding)
        return cls(encoder.fit_transform(frame_of(part.table, columns)), encoder, columns)

    def more(self, part: Part) -> Any:
        """Other rows, encoded in the same way."""
        X = features_of(part, self.columns, self.X.shape[1])
        return X if isinstance(self.encoder, str) else self.encoder.transform(X)


def features_of(part: Part, columns: Sequence[Column], width: int) -> Any:
    """The features of join_names rows, as the pipeline in a model file takes them.

    Raises
    ------
    UserInputError
        If they are of another shape than those in training.
    """
    if part.matrix is None:
        if not columns:
            raise UserInputError(
                "The model was trained on a matrix without names, and this file has columns with names.",
                "Use a file of the same kind as in training.",
            )
        return frame_of(part.table, columns)
    if columns:
        raise UserInputError(
            "The model was trained on columns with names, and this file holds a matrix without them.",
            "Use a file of the same kind as in training.",
        )
    X = part.matrix
    if hasattr(X, "tocsr"):
        # Sparse rows end with their last value; a feature that training never saw has no meaning.
        X.resize((X.shape[0], width))
    elif X.shape[1] != width:
        raise UserInputError(
            f"The rows have {X.shape[1]} features, and the model takes {width}.", "Use the same features."
        )
    return X


def fitted(learner: Any, encoded: Encoded, goal: Goal, **settings: Any) -> tuple[Any, list[str]]:
    """The best model by the deadline, and what was warned of meanwhile.

    Parameters
    ----------
    learner : estimator
        What to train.
    encoded : Encoded
        The rows.
    goal : Goal
        What is to be learned.
    **settings : dict
        The other parameters of the estimators of this package: limit, teacher, scoring, seed.
    """
    kind = TimeConstrainedRegressor if goal.is_regression else TimeConstrainedClassifier
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", NAMELESS)
        model = kind(learner, **settings).fit(encoded.X, goal.y)
    return model, first_lines(caught)


def rows_to_test(encoded: Encoded, goal: Goal, file: DataFile) -> tuple[Any, Any]:
    """Features and labels of another file, read before the clock starts: what is wrong with it is known then.

    Raises
    ------
    UserInputError
        If the file has other columns, or no labels.
    """
    refuse_other_columns(encoded.columns, file)
    from_file = file.read(types_of(encoded.columns) | _goal_type(goal) if encoded.columns else None)
    part = with_label(from_file, from_file.table[goal.name].is_valid().to_numpy().astype(bool))
    if not len(part):
        raise UserInputError(f"{file.path} has no row with a value of {goal.name!r}.", "Is it the right file?")
    y = as_trained(goal.name, part.table[goal.name], goal.type, regression=goal.is_regression)
    return encoded.more(part), y


def types_of(columns: Sequence[Column]) -> dict[str, pa.DataType]:
    """What to read the columns as, from files that do not say what they hold."""
    return {column.name: column.arrow for column in columns}


def _goal_type(goal: Goal) -> dict[str, pa.DataType]:
    return {goal.name: pa.float64() if goal.is_regression else pa.string()}


def stored_pipeline(model: Any, encoded: Encoded) -> Pipeline:
    """Encoder and learner together: an ordinary pipeline of scikit-learn, which takes the columns as they are."""
    return Pipeline([("encode", encoded.encoder), ("learn", model.best_estimator_)])


def about(model: Any, encoded: Encoded, understood: Understood, **more: Any) -> About:
    """What there is to know about a model.

    Parameters
    ----------
    model : TimeConstrainedClassifier or TimeConstrainedRegressor
        Fitted.
    encoded : Encoded
        What it was fitted with.
    understood : Understood
        Where that came from.
    **more : dict
        Other fields of `About`; `training` is added to what the model says of it.
    """
    goal, machine = understood.goal, Environment.current()
    estimate = model.score_estimate_
    if estimate is not None and not np.isfinite(estimate).all():
        estimate = None
    training = {
        "date": machine.date,
        "rows": understood.rows,
        "rows_without_label": understood.without_label,
        "rows_taught": model.n_rows_taught_,
        "estimate": None if estimate is None else dict(zip(("value", "low", "high"), estimate, strict=True)),
        "time_used": model.time_used_,
        "stop_reason": model.stop_reason_,
        "left_out": dict(understood.left_out),
        "rounds": [asdict(round_) for round_ in model.history_],
        **more.pop("training"),
    }
    return About(
        task=goal.task,
        target=goal.name,
        target_type=goal.type,
        classes=[] if goal.is_regression else model.classes_.tolist(),
        columns=tuple(encoded.columns),
        features=encoded.X.shape[1],
        training=training,
        versions={"python": machine.python, **machine.libraries, **library_versions(model.best_estimator_)},
        **more,
    )


def first_lines(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What was warned of, each once, without what comes after its first line."""
    return list(dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught))
