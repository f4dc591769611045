"""The predictions of a model file for the rows of a file, chunk by chunk."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._cli.console import warnings_as_notes
from fitwithin._cli.options import add_working_directory_to_path
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import expand_to_classes
from fitwithin._tabular.features import FEATURE_NAMES_WARNING, extract_features
from fitwithin._tabular.files.output_file import predictions_format, validate_output_path, write_predictions
from fitwithin._tabular.files.reader import open_data_file
from fitwithin._tabular.model_archive import read_card, read_pipeline
from fitwithin._tabular.model_card import ModelCard
from fitwithin._tabular.target_column import predictions_to_arrow


def run_prediction(
    model: Path, data: Path, out: Path, *, proba: bool, trusted_types: list[str], unsafe_pickle: bool, force: bool
) -> int:
    """Run fitwithin predict, and return the number of rows."""
    predictions_format(out)
    validate_output_path(out, force=force)
    card, file = read_card(model), open_data_file(data)
    types = {column.name: column.arrow_type for column in card.columns}
    file.require_columns(types)
    if trusted_types or unsafe_pickle:
        # The module of a user's own learner may be in the working directory, as in training.
        add_working_directory_to_path()
    with warnings_as_notes():
        pipeline = read_pipeline(model, trusted_types, unsafe_pickle=unsafe_pickle)
    if proba and not (card.classes and hasattr(pipeline, "predict_proba")):
        raise UserInputError(
            f"The model ({card.learner}) gives no probabilities.",
            "Leave out --proba, or train with another learner, such as --learner logistic-regression."
            if card.classes
            else "It predicts values: leave out --proba.",
        )
    chunks = file.read_chunks(types or None)
    features = (extract_features(chunk, card.columns, card.features) for chunk in chunks if len(chunk))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", FEATURE_NAMES_WARNING)
        return write_predictions(out, (_predict(pipeline, X, card, proba=proba) for X in features), force=force)


def _predict(pipeline: Any, X: Any, card: ModelCard, *, proba: bool) -> pa.Table:
    # A regression predicts fractions even if its target was whole numbers.
    prediction_type = card.target_type if card.classes else "double"
    columns = {"prediction": predictions_to_arrow(pipeline.predict(X), prediction_type)}
    return pa.table(columns | (_probability_columns(pipeline, X, card.classes) if proba else {}))


def _probability_columns(pipeline: Any, X: Any, classes: list[Any]) -> dict[str, Any]:
    """Return a column for each class; 0 for a class that was not among the training rows."""
    probabilities = expand_to_classes(pipeline.predict_proba(X), pipeline.classes_, np.asarray(classes), absent=0.0)
    columns = np.asarray(probabilities, np.float64).T
    return {f"probability_{label}": column for label, column in zip(classes, columns, strict=True)}
