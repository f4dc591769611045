"""fitwithin predict."""

from __future__ import annotations

import json as json_
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fitwithin._cli.console import print_line, print_warnings
from fitwithin._cli.early_checks import validate_data_exists, validate_model_exists
from fitwithin._cli.errors import report_errors, require_libraries
from fitwithin._cli.options import (
    DebugOption,
    ForceOption,
    JsonOption,
    ModelArgument,
    TrustOption,
    UnsafePickleOption,
    add_working_directory_to_path,
)
from fitwithin._core.exceptions import UserInputError

if TYPE_CHECKING:
    import pyarrow as pa

    from fitwithin._tabular.files import DataFile, TableChunk
    from fitwithin._tabular.model_card import ModelCard


def predict(
    model: ModelArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Rows with the columns of the training file: a file, a folder or a pattern.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write; ends in .parquet, .csv or .feather.")
    ] = Path("predictions.parquet"),
    proba: Annotated[
        bool, typer.Option("--proba", help="Also write a column probability_<class> for every class.")
    ] = False,
    trust: TrustOption = None,
    unsafe_pickle: UnsafePickleOption = False,
    force: ForceOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Predict for the rows of a file, which may be larger than memory.

    Example: fitwithin predict model.skops new-rows.parquet --out predictions.parquet --proba
    """
    with report_errors(debug=debug):
        require_libraries("pandas", "pyarrow", "skops")
        validate_model_exists(model)
        validate_data_exists(data)
        from fitwithin._tabular.files import open_data_file, predictions_format, validate_output_path
        from fitwithin._tabular.learner_checks import validate_columns
        from fitwithin._tabular.model_archive import read_card

        predictions_format(out)
        validate_output_path(out, force=force)
        card = read_card(model)
        file = open_data_file(data)
        validate_columns(card.columns, file)
        pipeline = _load_pipeline(model, trust or [], unsafe_pickle=unsafe_pickle)
        n_rows = _write_predictions(file, out, card, _make_predictor(pipeline, card, proba=proba), force=force)
        if json:
            typer.echo(json_.dumps({"predictions": str(out), "rows": n_rows}))
        else:
            print_line(Console(highlight=False), f"{n_rows:,} predictions are in {out}.")


def _load_pipeline(model: Path, trusted_types: list[str], *, unsafe_pickle: bool) -> Any:
    from fitwithin._tabular.model_archive import read_pipeline

    if trusted_types or unsafe_pickle:
        # The module of a user's own learner may be in the working directory, as in training.
        add_working_directory_to_path()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline = read_pipeline(model, trusted_types, unsafe_pickle=unsafe_pickle)
    print_warnings(caught)
    return pipeline


def _write_predictions(
    file: DataFile, out: Path, card: ModelCard, predict_chunk: Callable[[TableChunk], pa.Table], *, force: bool
) -> int:
    """Write the predictions for all rows of a file, and return the number of rows."""
    from fitwithin._tabular.features import column_types
    from fitwithin._tabular.files import open_predictions_writer

    n_rows = 0
    with open_predictions_writer(out, force=force) as write:
        for chunk in file.read_chunks(column_types(card.columns) if card.columns else None):
            if len(chunk):
                write(predict_chunk(chunk))
                n_rows += len(chunk)
    return n_rows


def _make_predictor(pipeline: Any, card: ModelCard, *, proba: bool) -> Callable[[TableChunk], pa.Table]:
    """Return a function that predicts for a chunk of rows."""
    import pyarrow as pa

    from fitwithin._tabular.features import extract_features
    from fitwithin._tabular.target_column import predictions_to_arrow
    from fitwithin._tabular.training import FEATURE_NAMES_WARNING

    if proba and not (card.classes and hasattr(pipeline, "predict_proba")):
        raise UserInputError(
            f"The model ({card.learner}) gives no probabilities.",
            "Leave out --proba, or train with another learner, such as --learner logistic-regression."
            if card.classes
            else "It predicts values: leave out --proba.",
        )
    # A regression predicts fractions even if its target was whole numbers.
    prediction_type = card.target_type if card.classes else "double"

    def predict_chunk(chunk: TableChunk) -> pa.Table:
        X = extract_features(chunk, card.columns, card.features)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", FEATURE_NAMES_WARNING)
            columns = {"prediction": predictions_to_arrow(pipeline.predict(X), prediction_type)}
            if proba:
                columns |= _probability_columns(pipeline, X, card.classes)
        return pa.table(columns)

    return predict_chunk


def _probability_columns(pipeline: Any, X: Any, classes: list[Any]) -> dict[str, Any]:
    """Return a column for each class; 0 for a class that was not among the training rows."""
    import numpy as np

    from fitwithin._core.target import expand_to_classes

    probabilities = expand_to_classes(pipeline.predict_proba(X), pipeline.classes_, np.asarray(classes), absent=0.0)
    columns = np.asarray(probabilities, np.float64).T
    return {f"probability_{label}": column for label, column in zip(classes, columns, strict=True)}
