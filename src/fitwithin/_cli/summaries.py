"""Console summaries of a training file, a training and a model card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from fitwithin._cli.console import print_line, sanitize_line
from fitwithin._core.exceptions import join_names
from fitwithin._tabular.encoding import ENCODING_DESCRIPTIONS
from fitwithin._tabular.model_card import ModelCard
from fitwithin._tabular.target_column import TargetColumn
from fitwithin._tabular.training_table import TrainingTable
from fitwithin.viz._facts import list_facts

_MORE_TIME = 4
"""Times the limit, of the forecast after a training."""


def print_training_table(
    console: Console, path: str, table: TrainingTable, encoding: str, seconds_reading: float
) -> None:
    """Print what the training will use of a file, before it begins."""
    matrix = table.chunk.matrix
    n_columns = len(table.columns) if matrix is None else matrix.shape[1]
    columns = "1 feature column" if n_columns == 1 else f"{n_columns:,} feature columns"
    done = "read and encoded" if table.blocks is None else "looked at"
    print_line(console, f"{path}: {table.target.n_rows:,} rows, {columns}; {done} in {seconds_reading:.1f} s")
    if matrix is None:
        console.print(_columns_table(table, encoding))
    else:
        form = "sparse" if hasattr(matrix, "tocsr") else "dense"
        print_line(console, f"A {form} matrix ({matrix.dtype}): {ENCODING_DESCRIPTIONS[encoding]['number']}.")
    for name, reason in table.left_out.items():
        print_line(console, f"Left out: {name} ({reason})")
    if table.target.n_missing:
        print_line(console, f"Left out: {table.target.n_missing:,} rows without a value of {table.target.name}")
    print_line(console, _describe_target(table.target))


def _columns_table(table: TrainingTable, encoding: str) -> Table:
    shown = Table("columns", Column("count", justify="right"), Column("missing values", justify="right"), "encoding")
    for kind, description in ENCODING_DESCRIPTIONS[encoding].items():
        names = [column.name for column in table.columns if column.kind == kind]
        if names:
            # An estimate if the chunk is a sample.
            n_missing = sum(table.chunk.table[name].null_count for name in names)
            missing_share = n_missing / max(len(names) * len(table.chunk), 1)
            listed = f"{kind}: {join_names(names)}"
            cells = listed, str(len(names)), f"{missing_share:.1%}", description
            shown.add_row(*(Text(sanitize_line(cell)) for cell in cells))
    return shown


def _describe_target(target: TargetColumn) -> str:
    counts = target.counts
    if counts is None:
        return (
            f"Target: {target.name}, values from {target.values.min():g} to {target.values.max():g} "
            "(--task classification treats them as classes)"
        )
    by_frequency = np.argsort(-counts, kind="stable")
    shares = [f"{target.values[i]} ({counts[i] / counts.sum():.1%})" for i in by_frequency]
    hint = " (--task regression treats them as values)" if target.values.dtype.kind in "iuf" else ""
    return f"Target: {target.name}, {len(counts):,} classes: {join_names(shares)}{hint}"


def print_training_result(console: Console, card: ModelCard) -> None:
    """Print the learner, rows, score and time of a training."""
    learner = {} if "search" in card.training else {"learner": f"{card.learner}, teacher {card.teacher}"}
    console.print(_key_value_table(learner | list_facts(card.training, card.scoring)))


def _key_value_table(lines: Mapping[str, object]) -> Table:
    shown = Table(show_header=False)
    for name, value in lines.items():
        shown.add_row(Text(sanitize_line(name)), Text(sanitize_line(value)))
    return shown


def describe_forecast(estimator: Any, scoring: str) -> str:
    """Return one line about what four times the time would buy."""
    try:
        forecast = estimator.forecast([_MORE_TIME * estimator.time_limit_])[0]
    except ValueError:
        # No fit of the learner has ended.
        return "More time: no forecast, since the costs of the learner are unknown."
    if forecast.rows <= estimator.n_rows_trained_:
        return f"More time: with {forecast.time_limit:g} s, no more rows are expected."
    score = ""
    if forecast.score is not None:
        score = f", {scoring} {forecast.score:.4f} [{forecast.low:.4f}, {forecast.high:.4f}] (90 %)"
    return (
        f"More time: with {forecast.time_limit:g} s, {forecast.rows:,} rows{score}; "
        f"every row takes {forecast.seconds_every_row:.1f} s."
    )


def print_model_card(console: Console, path: str, card: ModelCard) -> None:
    """Print the card of a model file."""
    training = card.training
    columns = [f"{column.name} ({column.type})" for column in card.columns]
    needed = f"{len(columns)} columns: {join_names(columns)}"
    kind = "a checkpoint of a model" if training.get("checkpoint") else "a model"
    print_line(console, f"{path}: {kind} for {card.task}, trained {training.get('date', 'at an unknown time')}")
    lines = {
        "target": f"{card.target} ({card.target_type})",
        "classes": join_names(card.classes) if card.classes else "none: it predicts values",
        "features": needed if card.columns else f"a matrix of {card.features} columns",
        "encoding": card.encoding,
        "types to trust": ", ".join(card.trust) or "none",
        "versions": ", ".join(f"{library} {version}" for library, version in card.versions.items()),
    }
    console.print(_key_value_table(lines))
    print_training_result(console, card)
