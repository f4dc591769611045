"""Models in skops files, opened as a stranger's: the types that a file may hold, and the size that it unpacks to.

skops is an optional dependency: import this package only where a file is written or read.
"""

from fitwithin._core.exceptions import NotStorable
from fitwithin._core.model_file.skops_file import UntrustedTypes, dump_model, load_model, open_archive

__all__ = ["NotStorable", "UntrustedTypes", "dump_model", "load_model", "open_archive"]
