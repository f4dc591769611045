"""A model that was brought from the cluster to the program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from fitwithin.backends._inline import FinishedDump
from fitwithin.backends._model_runner import reissue_warnings
from fitwithin.backends._process.protocol import PortableWarning
from fitwithin.backends._process.shared_memory import SharedFile, load_pickle


@dataclass(frozen=True, eq=False)
class DaskModel:
    """A model in the program's own memory, not unpickled yet.

    Parameters
    ----------
    file : SharedFile
        Holds it.
    save_seconds, load_seconds : float
        Seconds that saving took, and those that loading is expected to take.
    n_bytes : int
        Size of the file.
    warnings : list of PortableWarning
        Warnings of its fit.
    """

    dumps_in_background: ClassVar[bool] = False

    file: SharedFile
    save_seconds: float
    load_seconds: float
    n_bytes: int
    warnings: list[PortableWarning]

    def load(self) -> Any:
        """Return the fitted learner."""
        model = load_pickle(self.file.fd)
        reissue_warnings([warning.to_message() for warning in self.warnings])
        return model

    def dump(self, path: Path) -> FinishedDump:
        """Write the model to a skops file."""
        return FinishedDump.of(load_pickle(self.file.fd), path)

    def discard(self) -> None:
        """Release its memory."""
        self.file.close()
