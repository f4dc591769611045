"""Checkpoints of `fitwithin train` as model files: the encoder and the card that they need are attached to them."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file import NotStorable, dump_model
from fitwithin._session.checkpoint_folder import (
    STATE_FILE,
    CheckpointContent,
    CheckpointPath,
    load_skops_file,
    read_checkpoint,
)
from fitwithin._tabular.columns import FeatureColumn, arrow_type_name, column_kind
from fitwithin._tabular.features import EncodedFeatures
from fitwithin._tabular.model_card import ModelCard

_CARD, _ENCODER = "card.json", "encoder.skops"
"""Names of the attachments."""

_UNDER_WAY = "nothing: under way, killed or failed"
"""Stop reason of a fit that has not ended."""


def attach_encoder(path: Path, features: EncodedFeatures, card: ModelCard) -> CheckpointPath:
    """Return the path for the parameter `checkpoint`, with what `fitwithin predict` needs besides the model.

    Parameters
    ----------
    path : Path
        The checkpoint.
    features : EncodedFeatures
        The encoder of the training rows.
    card : ModelCard
        The card as far as it is known before the fit.
    """
    attachments = {_CARD: card.to_json().encode("utf-8")}
    if not isinstance(features.encoder, str):
        with tempfile.TemporaryDirectory(prefix="fitwithin-") as folder:
            encoder = Path(folder) / _ENCODER
            try:
                dump_model(features.encoder, encoder)
            except NotStorable as error:
                raise UserInputError(
                    f"The encoder of the columns can't be stored in a checkpoint: {error}.", "Leave out --checkpoint."
                ) from error
            attachments[_ENCODER] = encoder.read_bytes()
    return CheckpointPath(path, attachments)


def read_checkpoint_card(path: Path) -> ModelCard:
    """Return the card of the model in a checkpoint; runs nothing in it.

    Raises
    ------
    UserInputError
        If it is damaged, or was not written by fitwithin.
    """
    content = read_checkpoint(path)
    try:
        is_attached = _CARD in content.attachments
        card = ModelCard.from_json((path / _CARD).read_bytes()) if is_attached else _make_card(content)
        record = content.state.model_record
        trust = () if record is None else record.trust
        card = replace(card, training={**card.training, **_describe_training(path, content)}, trust=trust)
        return ModelCard.from_json(card.to_json())
    except UserInputError as error:
        raise UserInputError(f"{path} can't be used. {error.sentence}", error.hint) from error
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise UserInputError(f"{path} is damaged: {error}.", "Copy it again, or train the model again.") from error


def read_checkpoint_pipeline(path: Path, trusted_types: list[str]) -> Pipeline:
    """Load encoder and model of a checkpoint as one pipeline, if all of their types are trusted.

    Raises
    ------
    UserInputError
        If it holds no model or other types, or is damaged.
    """
    content = read_checkpoint(path, trusted_types)
    if content.state.model is None:
        raise UserInputError(
            f"The checkpoint {path} holds no model: none is stored yet, or skops can't store this learner.",
            "Let the fit go on until its first model is stored, or use the model file of its end.",
        )
    encoder = load_skops_file(path / _ENCODER) if _ENCODER in content.attachments else "passthrough"
    return Pipeline([("encode", encoder), ("learn", content.state.model)])


def _make_card(content: CheckpointContent) -> ModelCard:
    """Return the card of a checkpoint that was written from Python."""
    facts = {name: value for name, value in content.facts.items() if name != "time_limit"}
    columns = tuple(_make_column(str(name), str(dtype)) for name, dtype in facts["columns"])
    found = {"columns": columns, "target_type": _find_arrow_type(facts["target_type"])}
    return ModelCard(target="y", encoding="none", **facts | found)


def _make_column(name: str, dtype: str) -> FeatureColumn:
    type_ = _find_arrow_type(dtype)
    kind = column_kind(pa.string() if type_ == "string" else pa.type_for_alias(type_))
    return FeatureColumn(name, kind or "text", type_)


def _find_arrow_type(dtype: str) -> str:
    """Return arrow's name for a type of NumPy or of a frame; text if it has none."""
    # Polars has names such as Float64.
    name = dtype.lower() if dtype[:1].isupper() else dtype
    try:
        return arrow_type_name(pa.from_numpy_dtype(np.dtype(name)))
    except (TypeError, ValueError, SyntaxError, pa.ArrowException):
        return "string"


def _describe_training(path: Path, content: CheckpointContent) -> dict[str, Any]:
    state, record = content.state, content.state.model_record
    estimate = None if record is None else record.fresh_estimate
    return {
        "date": datetime.fromtimestamp((path / STATE_FILE).stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "checkpoint": True,
        "rows": len(state.marks),
        "rows_taught": 0 if record is None else record.n_rows,
        "estimate": None
        if estimate is None or not np.isfinite(estimate.low)
        else {"value": estimate.value, "low": estimate.low, "high": estimate.high},
        "time_used": state.seconds,
        "time_limit": content.facts["time_limit"],
        "stop_reason": state.stop_reason or _UNDER_WAY,
        "rounds": [asdict(finished) for finished in state.history],
    }
