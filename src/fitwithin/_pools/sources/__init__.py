"""Data sets outside memory as blocks of rows: pyarrow data sets, files, and polars lazy frames."""

from fitwithin._pools.sources.blocks import Blocks, LabeledBlocks
from fitwithin._pools.sources.in_memory import split_frame, split_validation_frame
from fitwithin._pools.sources.opening import is_data_set, open_blocks, open_source
from fitwithin._pools.sources.reading import predict_blocks, read_score_arguments

__all__ = [
    "Blocks",
    "LabeledBlocks",
    "is_data_set",
    "open_blocks",
    "open_source",
    "predict_blocks",
    "read_score_arguments",
    "split_frame",
    "split_validation_frame",
]
