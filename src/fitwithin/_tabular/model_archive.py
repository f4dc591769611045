"""Models with their cards: archives, one zip file with a pipeline by skops or pickle, and checkpoints of a training."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import skops.io
from sklearn.pipeline import Pipeline

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file import dump_model, load_model, open_archive
from fitwithin._session.checkpoint_folder import (
    STATE_FILE,
    CheckpointContent,
    CheckpointPath,
    load_skops_file,
    read_checkpoint,
)
from fitwithin._tabular.columns import FeatureColumn, column_kind
from fitwithin._tabular.features import EncodedFeatures
from fitwithin._tabular.files.output_file import atomic_output
from fitwithin._tabular.model_card import ModelCard

_CARD_ENTRY = "fitwithin.json"
"""Entry of the archive with the model card."""


_PICKLE_ENTRY = "model.pickle"
"""Entry with the pipeline, if it is stored by pickle."""


_CARD_FILE, _ENCODER_FILE = "card.json", "encoder.skops"
"""Files that a checkpoint of the command line has besides."""


_UNDER_WAY = "not ended: under way, killed or failed"
"""Stop reason of a fit that has not ended."""


_HINT = "Use a file that fitwithin train wrote."


_DAMAGED_HINT = "Copy it again, or train the model again."


def write_archive(
    path: Path, pipeline: Any, card: ModelCard, *, force: bool = False, as_pickle: bool = False
) -> ModelCard:
    """Write a pipeline and its card to one file, completely or not at all.

    Parameters
    ----------
    path : Path
        File to write.
    pipeline : Pipeline
        Fitted.
    card : ModelCard
        Its description.
    force : bool, default=False
        Whether an existing file may be replaced.
    as_pickle : bool, default=False
        Whether to store the pipeline by pickle, for learners that skops can't store.

    Returns
    -------
    ModelCard
        The card, with the types that must be trusted by name to open the file.

    Raises
    ------
    NotStorable
        If skops can't store the pipeline.
    UserInputError
        If the file can't be written.
    """
    with atomic_output(path, force=force) as temporary:
        if as_pickle:
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_PICKLE_ENTRY, cloudpickle.dumps(pipeline))
        else:
            card = replace(card, trust=dump_model(pipeline, temporary))
        with zipfile.ZipFile(temporary, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CARD_ENTRY, card.to_json())
    return card


def read_card(path: Path) -> ModelCard:
    """Read the model card of an archive or a checkpoint; runs nothing in it.

    Raises
    ------
    UserInputError
        If it was not written by fitwithin, or is damaged.
    """
    if path.is_dir():
        return _read_checkpoint_card(path)
    with _name_file(path, "is not a model file", _HINT), open_archive(path) as archive:
        return ModelCard.from_json(archive.read(_CARD_ENTRY))


def read_pipeline(path: Path, trusted_types: Collection[str] = (), *, unsafe_pickle: bool = False) -> Any:
    """Load the pipeline of an archive or a checkpoint if all of its types are trusted.

    Parameters
    ----------
    path : Path
        File to read.
    trusted_types : collection of str
        Types to trust in addition to fitwithin's own list.
    unsafe_pickle : bool, default=False
        Whether a pickle may be opened, which can run any program.

    Raises
    ------
    UserInputError
        If it holds other types or no model, or can't be read.
    """
    if path.is_dir():
        return _read_checkpoint_pipeline(path, trusted_types)
    with _name_file(path, "can't be opened", _DAMAGED_HINT), open_archive(path) as archive:
        if _PICKLE_ENTRY not in archive.namelist():
            return load_model(path, trusted_types)
        if not unsafe_pickle:
            raise UserInputError(
                "It holds a pickle, which can run any program when it is opened.",
                "If you trust its source, add --unsafe-pickle.",
            )
        return pickle.loads(archive.read(_PICKLE_ENTRY))


@contextmanager
def _name_file(path: Path, failure: str, hint: str) -> Iterator[None]:
    """Name the file in each error."""
    try:
        yield
    except UserInputError as error:
        raise UserInputError(f"{path} was not used. {error.sentence}", error.hint) from error
    except Exception as error:  # zipfile raises many types, and a pickle any.
        raise UserInputError(f"{path} {failure}: {error}.", hint) from error


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
    attachments = {_CARD_FILE: card.to_json().encode("utf-8")}
    if not isinstance(features.encoder, str):
        attachments[_ENCODER_FILE] = skops.io.dumps(features.encoder, compression=zipfile.ZIP_DEFLATED)
    return CheckpointPath(path, attachments)


def _read_checkpoint_card(path: Path) -> ModelCard:
    content = read_checkpoint(path)
    with _name_file(path, "is damaged", _DAMAGED_HINT):
        is_attached = _CARD_FILE in content.attachments
        card = ModelCard.from_json((path / _CARD_FILE).read_bytes()) if is_attached else _make_card(content)
        record = content.state.model_record
        training = {**card.training, **_describe_training(path, content)}
        card = replace(card, training=training, trust=() if record is None else record.trust)
        return ModelCard.from_json(card.to_json())


def _read_checkpoint_pipeline(path: Path, trusted_types: Collection[str]) -> Pipeline:
    content = read_checkpoint(path, trusted_types)
    if content.state.model is None:
        raise UserInputError(
            f"The checkpoint {path} holds no model: none is stored yet, or skops can't store this learner.",
            "Let the fit go on until its first model is stored, or use the model file of its end.",
        )
    encoder = load_skops_file(path / _ENCODER_FILE) if _ENCODER_FILE in content.attachments else "passthrough"
    return Pipeline([("encode", encoder), ("learn", content.state.model)])


def _make_card(content: CheckpointContent) -> ModelCard:
    """Return the card of a checkpoint that was written from Python."""
    facts = {name: value for name, value in content.facts.items() if name != "time_limit"}
    types = [(str(name), _find_arrow_type(dtype)) for name, dtype in facts.pop("columns")]
    columns = tuple(FeatureColumn(name, column_kind(type_) or "text", str(type_)) for name, type_ in types)
    target_type = str(_find_arrow_type(facts.pop("target_type")))
    return ModelCard(target="y", target_type=target_type, encoding="none", columns=columns, **facts)


def _find_arrow_type(dtype: object) -> pa.DataType:
    """Return arrow's type for a type of NumPy or of a frame; text if it has none."""
    try:
        # Polars has names such as Float64; in others, such as <U4, the case matters.
        name = str(dtype)
        return pa.from_numpy_dtype(np.dtype(name.lower() if name[:1].isupper() else name))
    except (TypeError, ValueError, SyntaxError, pa.ArrowException):
        return pa.string()


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
