"""A model that was fitted by an earlier call, as a `SavedModel` of this one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in this process.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    model: Any
    save_seconds: float = 0.0
    load_seconds: float = 0.0

    def load(self) -> Any:
        """Return the model."""
        return self.model

    def dump(self, path: Path) -> tuple[str, ...]:
        """Write the model to a skops file."""
        from fitwithin._core.model_file import dump_model

        return dump_model(self.model, path)

    def discard(self) -> None:
        """Do nothing: there is nothing to release."""
