"""Models that a learner's process saved, and those that another process writes to a skops file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._model_runner import reissue_warnings
from fitwithin.backends._process.channel import Channel
from fitwithin.backends._process.portable_warning import PortableWarning
from fitwithin.backends._process.protocol import ErrorReply, Reply
from fitwithin.backends._process.shared_memory import SharedFile, load_pickle

_LOAD_SECONDS = 0.01
"""Seconds to load the smallest model."""

_LOAD_FACTOR = 1.5
"""Seconds to reserve for loading a model, for each second that it took in a clean process; on the safe side."""


def predict_load_seconds(seconds: float) -> float:
    """Predict the seconds that loading a model takes here, from those that it took in a clean process."""
    return _LOAD_SECONDS + _LOAD_FACTOR * seconds


class ProcessDump:
    """A saved model that another process writes to a skops file.

    Parameters
    ----------
    channel : Channel
        The reply comes from here.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._failure: LearnerDied | None = None

    def wait(self, seconds: float) -> bool:
        """Wait until the file is written, at most so long; return whether that is over, well or not."""
        try:
            return self._channel.poll(seconds)
        except (EOFError, OSError):
            self._failure = LearnerDied("the process that wrote the model has ended")
            return True

    def result(self) -> tuple[str, ...]:
        """Return the types in the file that are not on fitwithin's own list."""
        if self._failure is not None:
            raise self._failure
        reply: Reply | ErrorReply = self._channel.receive()
        if isinstance(reply, ErrorReply):
            raise reply.to_exception()
        types: tuple[str, ...] = reply.value
        return types


@dataclass(frozen=True, eq=False)
class ProcessModel:
    """A model that a learner's process saved to a shared file.

    Parameters
    ----------
    file : SharedFile
        The file.
    save_seconds, load_seconds : float
        Seconds that saving took, and those that loading is expected to take.
    warnings : list of PortableWarning
        Warnings of its fit.
    n_bytes : int
        Size of the file.
    begin_dump : callable
        Has another process write it to a skops file, while its session lasts.
    """

    dumps_in_background: ClassVar[bool] = True

    file: SharedFile
    save_seconds: float
    load_seconds: float
    warnings: list[PortableWarning]
    n_bytes: int
    begin_dump: Callable[[SharedFile, Path], ProcessDump]

    def load(self) -> Any:
        """Return the fitted learner in this process."""
        model = load_pickle(self.file.fd)
        reissue_warnings([warning.to_message() for warning in self.warnings])
        return model

    def dump(self, path: Path) -> ProcessDump:
        """Have the model written to a skops file by another process."""
        return self.begin_dump(self.file, path)

    def discard(self) -> None:
        """Close the file."""
        self.file.close()
