"""From a table in a file to a trained model: columns, encoding, training, model card."""

from fitwithin._tabular.block_training import SampledTable, encode_blocks, read_sampled_table
from fitwithin._tabular.checkpoint_file import attach_encoder
from fitwithin._tabular.columns import COLUMN_KINDS
from fitwithin._tabular.encoding import ENCODING_DESCRIPTIONS, Encoding, choose_encoding_for_all
from fitwithin._tabular.features import EncodedFeatures, column_types, encode_features, extract_features
from fitwithin._tabular.learner_checks import validate_columns, validate_learner, validate_scoring
from fitwithin._tabular.model_card import ModelCard
from fitwithin._tabular.search_summary import describe_search
from fitwithin._tabular.target_column import TaskType, predictions_to_arrow, read_target_column
from fitwithin._tabular.training import (
    FEATURE_NAMES_WARNING,
    build_pipeline,
    fit_model,
    make_initial_card,
    make_model_card,
    read_test_rows,
)
from fitwithin._tabular.training_table import TrainingTable, make_training_table

__all__ = [
    "COLUMN_KINDS",
    "ENCODING_DESCRIPTIONS",
    "FEATURE_NAMES_WARNING",
    "EncodedFeatures",
    "Encoding",
    "ModelCard",
    "SampledTable",
    "TaskType",
    "TrainingTable",
    "attach_encoder",
    "build_pipeline",
    "choose_encoding_for_all",
    "column_types",
    "describe_search",
    "encode_blocks",
    "encode_features",
    "extract_features",
    "fit_model",
    "make_initial_card",
    "make_model_card",
    "make_training_table",
    "predictions_to_arrow",
    "read_sampled_table",
    "read_target_column",
    "read_test_rows",
    "validate_columns",
    "validate_learner",
    "validate_scoring",
]
