"""A model that was fitted by an earlier call, as a `SavedModel` of this one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from fitwithin.backends._inline import FinishedDump


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in this process.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    dumps_in_background: ClassVar[bool] = False
    n_bytes: ClassVar[int | None] = None

    model: Any
    save_seconds: float = 0.0
    load_seconds: float = 0.0

    def load(self) -> Any:
        """Return the model."""
        return self.model

    def dump(self, path: Path) -> FinishedDump:
        """Write the model to a skops file."""
        return FinishedDump.of(self.model, path)

    def discard(self) -> None:
        """Do nothing: there is nothing to release."""
