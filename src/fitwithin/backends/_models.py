"""A fitted learner in a shared file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from warnings import WarningMessage

from ._files import SharedFile
from ._pickles import load
from ._pupil import repeat


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model that a learner's process left in a shared file."""

    file: SharedFile
    store: float
    load: float
    warnings: list[WarningMessage]

    def bring(self) -> Any:
        """The fitted learner, in this process."""
        model = load(self.file.fd)
        repeat(self.warnings)
        return model

    def discard(self) -> None:
        """Let go of the file."""
        self.file.close()


def expected_load(pickling: float, size: int) -> float:
    """Seconds that reading a model of so many bytes back will take, from what pickling it took."""
    return 0.01 + 1.5 * pickling + size / 1e9
