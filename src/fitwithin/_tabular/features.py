"""Features of rows: as a model file's pipeline takes them, and encoded as the learner takes them, whole or by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._tabular.columns import FeatureColumn, to_frame
from fitwithin._tabular.encoding import Encoding, make_column_encoder, make_matrix_encoder
from fitwithin._tabular.files.data_file import DataFile, TableChunk
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.target_column import TargetColumn
from fitwithin._tabular.training_table import TrainingTable

FEATURE_NAMES_WARNING = "X does not have valid feature names"
"""Start of a warning that LightGBM before 4.7 gives for a matrix even if it was trained on one."""

TARGET = "target"
"""Name of the target among the encoded columns, which have numbers for names."""


@dataclass(eq=False)
class FeatureBlocks:
    """Rows of files in blocks, encoded while they are read; the learner gets arrays. These are `Blocks`.

    Rows without a target value are left out wherever they are, so that the order of the others stays random.

    Parameters
    ----------
    blocks : Blocks
        The rows, with the types in the files.
    encoder : ColumnTransformer
        Fitted on a sample.
    columns : list of FeatureColumn
        Its input.
    target : TargetColumn
        The column to predict.
    n_features : int
        Columns of its output.
    dtype : dtype
        Type of its output.
    """

    blocks: Blocks
    encoder: Any
    columns: list[FeatureColumn]
    target: TargetColumn
    n_features: int
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        fields = [pa.field(str(number), pa.from_numpy_dtype(self.dtype)) for number in range(self.n_features)]
        labels = _to_arrow(self.target.convert(self.blocks.schema.empty_table()[self.target.name]))
        self.schema: pa.Schema = pa.schema([*fields, pa.field(TARGET, labels.type)])
        self.n_blocks = self.blocks.n_blocks
        self.is_shuffled = self.blocks.is_shuffled
        self.rests = self.blocks.rests
        self.to_frame: Callable[[pa.Table], Any] = to_matrix

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read these columns of one block, in this order."""
        has_features = any(name != TARGET for name in names)
        stored = [column.name for column in self.columns] if has_features else []
        chunk = TableChunk(self.blocks.read(number, [*stored, self.target.name])).normalize()
        table = chunk.drop_unlabeled(self.target.name).table
        columns = {TARGET: _to_arrow(self.target.convert(table[self.target.name]))}
        if has_features:
            X = self._encode(table)
            columns |= {str(place): pa.array(np.ascontiguousarray(X[:, place])) for place in range(X.shape[1])}
        return pa.table({name: columns[name] for name in names})

    def _encode(self, table: pa.Table) -> Array:
        X = self.encoder.transform(to_frame(table, self.columns))
        dense: Array = X.toarray() if hasattr(X, "toarray") else X
        return dense.astype(self.dtype, copy=False)

    def name_block(self, number: int) -> str:
        """Return the file that a block is in."""
        return self.blocks.name_block(number)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        encoded = ", ".join(column.name for column in self.columns)
        return {**self.blocks.describe(), "encoded columns": encoded}


def to_matrix(table: pa.Table) -> Array:
    """Return the columns of a table side by side in one array."""
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))


def _to_arrow(values: Array) -> pa.Array:
    return pa.array(values, pa.string()) if values.dtype.kind == "O" else pa.array(values)


@dataclass(frozen=True, eq=False)
class EncodedFeatures:
    """The training rows as the learner takes them.

    Parameters
    ----------
    table : TrainingTable
        The rows as they are in the file.
    X : numpy.ndarray, scipy.sparse.csr_matrix or FeatureBlocks
        The features.
    encoder : ColumnTransformer, Pipeline or "passthrough"
        The fitted encoder.
    n_features : int
        Columns of its output.
    """

    table: TrainingTable
    X: Any
    encoder: Any
    n_features: int

    def transform(self, chunk: TableChunk) -> Any:
        """Encode other rows in the same way."""
        X = extract_features(chunk, self.table.columns, self.n_features)
        return X if isinstance(self.encoder, str) else self.encoder.transform(X)

    def make_pipeline(self, model: Any) -> Pipeline:
        """Return encoder and fitted model as one scikit-learn pipeline that takes the columns of a file."""
        return Pipeline([("encode", self.encoder), ("learn", model)])


def encode_features(table: TrainingTable, encoding: Encoding) -> EncodedFeatures:
    """Fit an encoder on the rows of a table, and encode them; rows in blocks are encoded while they are read."""
    chunk, columns = table.chunk, table.columns
    if chunk.matrix is not None:
        encoder = make_matrix_encoder(chunk.matrix, encoding)
        X = chunk.matrix if encoder == "passthrough" else encoder.fit_transform(chunk.matrix)
        return EncodedFeatures(table, X, encoder, X.shape[1])
    encoder = make_column_encoder(columns, encoding, dense=table.blocks is not None)
    X = encoder.fit_transform(to_frame(chunk.table, columns))
    n_features = X.shape[1]
    if table.blocks is not None:
        X = FeatureBlocks(table.blocks, encoder, columns, table.target, n_features, X.dtype)
    return EncodedFeatures(table, X, encoder, n_features)


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


def read_test_rows(features: EncodedFeatures, file: DataFile) -> tuple[Any, Any]:
    """Read features and target of a test file; errors in it show before the clock starts.

    Raises
    ------
    UserInputError
        If the file lacks a column, or has no target values.
    """
    columns, target = features.table.columns, features.table.target
    types = {column.name: column.arrow_type for column in columns}
    file.require_columns(types)
    if isinstance(file, DataSetFiles) and file.in_blocks:
        stored = file.open([*types, target.name])
        X: Any = FeatureBlocks(stored, features.encoder, columns, target, features.n_features, features.X.dtype)
        y = np.concatenate([X.read(number, [TARGET])[TARGET].to_numpy() for number in range(X.n_blocks)] or [[]])
        X.schema = X.schema.remove(X.schema.get_field_index(TARGET))
    else:
        # The target is read as text or float, and converted below.
        types[target.name] = pa.float64() if target.is_regression else pa.string()
        chunk = file.read(types if columns else None)
        labeled = chunk.drop_unlabeled(target.name)
        y = target.convert(labeled.table[target.name])
        X = features.transform(labeled) if len(y) else None  # an encoder refuses no rows
    if not len(y):
        raise UserInputError(f"{file.path} has no row with a value of {target.name!r}.", "Is it the right file?")
    return X, y
