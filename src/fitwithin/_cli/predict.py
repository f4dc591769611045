"""fitwithin predict."""

from __future__ import annotations

import json as json_
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from fitwithin._cli.console import note
from fitwithin._cli.errors import explained, require
from fitwithin._cli.options import Debug, Force, Json, Model, Trust, UnsafePickle, look_here
from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.training import first_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from fitwithin._tabular import About
    from fitwithin._tabular.files import DataFile, Part


def predict(
    model: Model,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Rows, with the columns of the training.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Ends in .parquet, .csv or .feather.")] = Path(
        "predictions.parquet"
    ),
    proba: Annotated[
        bool, typer.Option("--proba", help="Write a column probability_<class> for every class too.")
    ] = False,
    trust: Trust = None,
    unsafe_pickle: UnsafePickle = False,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict for the rows of a file, join_names at a time, so that it may be larger than memory.

    Example: fitwithin predict model.skops new-rows.parquet --out predictions.parquet --proba
    """
    with explained(debug=debug):
        require("pandas", "pyarrow", "skops")
        from fitwithin._tabular import refuse_other_columns
        from fitwithin._tabular.files import answer_format, open_data, refuse_existing
        from fitwithin._tabular.model_file import read_about

        answer_format(out)
        refuse_existing(out, force=force)
        card = read_about(model)
        file = open_data(data)
        refuse_other_columns(card.columns, file)
        pipeline = _opened(model, trust or [], unsafe_pickle=unsafe_pickle)
        rows = _write(file, out, card, _answering(pipeline, card, proba=proba), force=force)
        if json:
            typer.echo(json_.dumps({"predictions": str(out), "rows": rows}))
        else:
            Console(highlight=False).print(f"{rows:,} predictions are in {out}.", markup=False, soft_wrap=True)


def _opened(model: Path, trust: list[str], *, unsafe_pickle: bool) -> Any:
    """The model in a file; what libraries warn of on the way is told in a line each."""
    from fitwithin._tabular.model_file import read_model

    if trust or unsafe_pickle:
        # A learner of the user's own is where it was when it was trained.
        look_here()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline = read_model(model, trust, unsafe_pickle=unsafe_pickle)
    for text in first_lines(caught):
        note(text)
    return pipeline


def _write(file: DataFile, out: Path, card: About, answer: Callable[[Part], pa.Table], *, force: bool) -> int:
    from fitwithin._tabular import types_of
    from fitwithin._tabular.files import answers_written_to

    rows = 0
    with answers_written_to(out, force=force) as write:
        for part in file.parts(types_of(card.columns) if card.columns else None):
            if len(part):
                write(answer(part))
                rows += len(part)
    return rows


def _answering(pipeline: Any, card: About, *, proba: bool) -> Callable[[Part], pa.Table]:
    """What gives the answers for join_names rows."""
    import pyarrow as pa

    from fitwithin._tabular import NAMELESS, features_of, in_file

    if proba and not (card.classes and hasattr(pipeline, "predict_proba")):
        raise UserInputError(
            f"The model ({card.learner}) gives no probabilities.",
            "Leave out --proba, or train with another learner, such as --learner logistic-regression."
            if card.classes
            else "It predicts values: leave out --proba.",
        )

    def answer(part: Part) -> pa.Table:
        X = features_of(part, card.columns, card.features)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", NAMELESS)
            # A prediction between two whole numbers is no mistake of a model for values.
            answers = {"prediction": in_file(pipeline.predict(X), card.target_type if card.classes else "double")}
            if proba:
                answers |= _probabilities(pipeline, X, card.classes)
        return pa.table(answers)

    return answer


def _probabilities(pipeline: Any, X: Any, classes: list[Any]) -> dict[str, Any]:
    """A column for each class; of one that the model was never taught the probability is 0."""
    found = dict(zip(pipeline.classes_.tolist(), pipeline.predict_proba(X).T, strict=True))
    nothing = np.zeros(X.shape[0])
    return {f"probability_{label}": np.asarray(found.get(label, nothing), np.float64) for label in classes}
