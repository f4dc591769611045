"""Models that a learner's process saved, and those that another process writes to a skops file."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import WarningMessage

import cloudpickle

from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._inline import FinishedDump
from fitwithin.backends._model_runner import reissue_warnings
from fitwithin.backends._process.connection import Channel, ErrorReply, Request, WorkerConnection
from fitwithin.backends._process.shared_memory import SharedFile, load_pickle

_LOAD_SECONDS = 0.01
"""Seconds to load the smallest model."""

_LOAD_FACTOR = 1.5
"""Seconds to reserve for loading a model, for each second that it took in a clean process; on the safe side."""

_SECONDS_PER_BYTE = 3e-9
"""Seconds to load a byte, if no model of some size was loaded: 100 trees of 1.6 GiB, which are copied, took 4.7 s."""

_MIN_MEASURED_BYTES = 100_000
"""Size of a model from which on its seconds for each byte tell those of larger ones."""

_MAX_CHECKED_BYTES = 32 << 20
"""Models up to this size are always loaded in a clean process first, which takes at most some 0.1 s."""

_MAX_UNCHECKED_BODY_BYTES = 4 << 20
"""Size without arrays up to which a larger model is not: unpickling holds the interpreter up to 30 ns for each byte."""

_SAFE_LIBRARIES = {"numpy", "scipy", "sklearn", *sys.stdlib_module_names}
"""Libraries whose types any process with the same libraries can load."""


def predict_load_seconds(seconds: float) -> float:
    """Predict the seconds that loading a model takes here, from those that it took in a clean process."""
    return _LOAD_SECONDS + _LOAD_FACTOR * seconds


class Loader:
    """The process that loads models before the program does: it never trains, and may crash or be killed."""

    def __init__(self, start_worker: Callable[[], WorkerConnection]) -> None:
        self._start_worker = start_worker
        self.worker: WorkerConnection | None = None
        self._is_ready = False
        self._import_seconds = 0.0
        # Of the models that were loaded: their types, and the bytes and seconds of the largest.
        self._kinds: set[str] = set()
        self._n_bytes, self._seconds = 0, 0.0

    def must_check(self, kinds: set[str], n_bytes: int, body_bytes: int) -> bool:
        """Whether a clean process must load a model before the program does; see `PickledObject`."""
        if n_bytes <= _MAX_CHECKED_BYTES or body_bytes > _MAX_UNCHECKED_BODY_BYTES:
            return True
        return any(kind.partition(".")[0] not in _SAFE_LIBRARIES for kind in kinds - self._kinds)

    def observe(self, kinds: set[str], n_bytes: int, seconds: float) -> None:
        self._kinds |= kinds
        if n_bytes >= max(self._n_bytes, _MIN_MEASURED_BYTES):
            self._n_bytes, self._seconds = n_bytes, seconds

    def predict(self, n_bytes: int) -> float:
        return n_bytes * (self._seconds / self._n_bytes if self._n_bytes else _SECONDS_PER_BYTE)

    def start(self) -> WorkerConnection:
        """Start the process unless it runs, and have it import what the learner needs."""
        if self.worker is None:
            self.worker, self._is_ready = self._start_worker(), False
            self.worker.post(Request("import_learner"))
        return self.worker

    def check(self, file: SharedFile, kinds: set[str], body_bytes: int) -> float:
        """Return the seconds that the program will take to load a model, which is loaded here if it `must_check`.

        Raise LearnerRaised or LearnerDied if the process cannot load it, and TimeoutError if not in time.
        """
        seconds = self.predict(file.n_bytes)
        if self.must_check(kinds, file.n_bytes, body_bytes):
            try:
                seconds = self._load(file)
            except LearnerDied as death:
                self.end()
                raise LearnerDied(f"its model cannot be loaded in a clean process: {death}") from None
            self.observe(kinds, file.n_bytes, seconds)
        return predict_load_seconds(self._import_seconds + seconds)

    def _load(self, file: SharedFile) -> float:
        """Return the seconds that loading a model took, without imports."""
        worker = self.start()
        if not self._is_ready:
            worker.ask(None)
            self._is_ready = True
        seconds, modules = worker.ask(Request("load"), [file])
        if modules:
            first_seconds = seconds
            seconds, _ = worker.ask(Request("load"), [file])
            if not modules <= sys.modules.keys():
                # The program will import them too when it loads a model at last.
                self._import_seconds += max(0.0, first_seconds - seconds)
        return float(seconds)

    def end(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.end()


class ProcessDump:
    """A saved model that another process writes to a skops file; its reply comes from the channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def wait(self, seconds: float) -> bool:
        try:
            return self._channel.poll(seconds)
        except (EOFError, OSError):
            return True

    def result(self) -> tuple[str, ...]:
        try:
            reply: tuple[str, ...] | ErrorReply = self._channel.receive()
        except (EOFError, OSError):
            raise LearnerDied("the process that wrote the model has ended") from None
        if isinstance(reply, ErrorReply):
            raise reply.to_exception()
        return reply


@dataclass(frozen=True)
class PortableWarning:
    """A warning of the learner, its class by name: unpickling it could import a library, which takes long, or fails."""

    text: str
    categories: tuple[tuple[str, str], ...]  # module and name of its class, and of those that this one derives from
    filename: str
    lineno: int
    pickled_category: bytes  # the class, if it has no name in its module, because a function of the user defined it

    @classmethod
    def from_message(cls, message: WarningMessage) -> PortableWarning:
        categories = tuple((kind.__module__, kind.__qualname__) for kind in message.category.__mro__)
        is_named = _find_class(*categories[0]) is message.category
        pickled = b"" if is_named else cloudpickle.dumps(message.category)
        return cls(str(message.message), categories, message.filename, message.lineno, pickled)

    def to_message(self) -> WarningMessage:
        """Return the warning, with the first of its classes that is loaded in this process."""
        if self.pickled_category:
            category = pickle.loads(self.pickled_category)
        else:
            found = (_find_class(*names) for names in self.categories)
            category = next(kind for kind in found if isinstance(kind, type) and issubclass(kind, Warning))
        return WarningMessage(self.text, category, self.filename, self.lineno)


def _find_class(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


@dataclass(frozen=True, eq=False)
class ProcessModel:
    """A model that a learner's process saved to a shared file."""

    file: SharedFile
    save_seconds: float
    load_seconds: float
    warnings: list[PortableWarning]
    n_bytes: int
    # Has another process write it to a skops file, while its session lasts; by default this one does.
    begin_dump: Callable[[SharedFile, Path], ProcessDump] | None = None

    @property
    def dumps_in_background(self) -> bool:
        return self.begin_dump is not None

    def load(self) -> Any:
        model = load_pickle(self.file.fd)
        reissue_warnings([warning.to_message() for warning in self.warnings])
        return model

    def dump(self, path: Path) -> ProcessDump | FinishedDump:
        if self.begin_dump is None:
            return FinishedDump(load_pickle(self.file.fd), path)
        return self.begin_dump(self.file, path)

    def discard(self) -> None:
        self.file.close()
