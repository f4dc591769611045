"""Features of rows: as a model file's pipeline takes them, and encoded as the learner takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import FeatureColumn, to_frame
from fitwithin._tabular.encoding import Encoding, make_column_encoder, make_matrix_encoder
from fitwithin._tabular.feature_blocks import FeatureBlocks
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.training_table import TrainingTable


@dataclass(frozen=True, eq=False)
class EncodedFeatures:
    """The training rows as the learner takes them.

    Parameters
    ----------
    X : numpy.ndarray, scipy.sparse.csr_matrix or FeatureBlocks
        The features.
    encoder : ColumnTransformer, Pipeline or "passthrough"
        The fitted encoder.
    columns : list of FeatureColumn
        The encoder's input; empty for a matrix without column names.
    """

    X: Any
    encoder: Any
    columns: list[FeatureColumn]

    def transform(self, chunk: TableChunk) -> Any:
        """Encode other rows in the same way."""
        X = extract_features(chunk, self.columns, self.X.shape[1])
        return X if isinstance(self.encoder, str) else self.encoder.transform(X)


def encode_features(table: TrainingTable, encoding: Encoding) -> EncodedFeatures:
    """Fit an encoder on the rows of a table, and encode them; rows in blocks are encoded while they are read."""
    chunk, columns = table.chunk, table.columns
    if chunk.matrix is not None:
        encoder = make_matrix_encoder(chunk.matrix, encoding)
        X = chunk.matrix if encoder == "passthrough" else encoder.fit_transform(chunk.matrix)
        return EncodedFeatures(X, encoder, [])
    encoder = make_column_encoder(columns, encoding, dense=table.blocks is not None)
    X = encoder.fit_transform(to_frame(chunk.table, columns))
    if table.blocks is not None:
        shape, has_gaps = (table.n_rows, X.shape[1]), bool(table.n_unlabeled_rows)
        X = FeatureBlocks(table.blocks, encoder, columns, table.target, shape, X.dtype, has_gaps=has_gaps)
    return EncodedFeatures(X, encoder, columns)


def extract_features(chunk: TableChunk, columns: Sequence[FeatureColumn], n_features: int) -> Any:
    """Return the features of rows as the pipeline in a model file takes them.

    Raises
    ------
    UserInputError
        If they do not have the shape of the training rows.
    """
    has_names = chunk.matrix is None
    if has_names != bool(columns):
        kinds = ("named columns", "a matrix without names")
        found, trained = kinds if has_names else kinds[::-1]
        raise UserInputError(
            f"The file holds {found}, but the model was trained on {trained}.",
            "Use a file of the same kind as in training.",
        )
    if has_names:
        return to_frame(chunk.table, columns)
    X = chunk.matrix
    if hasattr(X, "tocsr"):
        # Sparse rows end with their last value, and the model has no weight for a feature that training never saw.
        X.resize((X.shape[0], n_features))
    elif X.shape[1] != n_features:
        raise UserInputError(
            f"The rows have {X.shape[1]} features, but the model takes {n_features}.",
            "Use the same features as in training.",
        )
    return X


def column_types(columns: Sequence[FeatureColumn]) -> dict[str, pa.DataType]:
    """Return the types to read the columns as, from files that do not store types."""
    return {column.name: column.arrow_type for column in columns}
