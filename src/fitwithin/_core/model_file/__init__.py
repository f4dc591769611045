"""Models in skops files, opened as a stranger's: the types that a file may hold, its sizes, and its indices.

skops is an optional dependency: import this package only where a file is written or read.
"""

from fitwithin._core.exceptions import NotStorable
from fitwithin._core.model_file.skops_file import UntrustedTypes, dump_model, load_model
from fitwithin._core.model_file.trusted_types import TRUSTED_TYPES

__all__ = ["TRUSTED_TYPES", "NotStorable", "UntrustedTypes", "dump_model", "load_model"]
