"""Data sets outside memory as blocks of rows: pyarrow data sets, files, and polars lazy frames."""

from fitwithin._pools.sources.blocks import Blocks, LabeledBlocks
from fitwithin._pools.sources.in_memory import split_frame
from fitwithin._pools.sources.opening import is_data_set, open_blocks, open_source

__all__ = ["Blocks", "LabeledBlocks", "is_data_set", "open_blocks", "open_source", "split_frame"]
