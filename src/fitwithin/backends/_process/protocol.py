"""The messages between the parent, the fork server and the learner's process."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any
from warnings import WarningMessage

import cloudpickle

from fitwithin._core.cores import CoreShare
from fitwithin.backends._process.process_state import ProcessState
from fitwithin.backends._process.row_reader import RowLayout

MAX_CONTROL_BYTES = 1 << 20
"""Largest message on the fork server's control socket, which carries one packet a message."""


# The parent and a worker: the learner's process, or the one that loads each saved model once to check it.


@dataclass(frozen=True, eq=False)
class WorkerSetup:
    """First message to a worker.

    Parameters
    ----------
    pickled_learner : bytes
        The unfitted learner and its `FitSettings`, pickled.
    layout : RowLayout
        How to read the shared rows.
    process_state : ProcessState
        The parent's global settings.
    seed : int or None
        Seed of the global random state, set before the learner is unpickled.
    core_share : CoreShare or None, default=None
        The cores of one of several learners; None for a single one, which may use all.
    """

    pickled_learner: bytes
    layout: RowLayout
    process_state: ProcessState
    seed: int | None
    core_share: CoreShare | None = None


@dataclass(frozen=True, eq=False)
class Request:
    """Call a method of the `Worker`. Reply: what it returns. Descriptors of files come with the message.

    Parameters
    ----------
    method : str
        Name of the method.
    arguments : tuple, default=()
        Its arguments.
    exams : tuple of Request, default=()
        Requests to carry out after a fit, with a reply each, unless the learner gave up.
    """

    method: str
    arguments: tuple[Any, ...] = ()
    exams: tuple[Request, ...] = ()


@dataclass(frozen=True, eq=False)
class Reply:
    """Result of a request."""

    value: Any


@dataclass(frozen=True, eq=False)
class ErrorReply:
    """The exception that a request ended in; `pickled_error` is empty if it cannot be pickled."""

    pickled_error: bytes
    text: str
    traceback: str

    def to_exception(self) -> BaseException:
        """Return the learner's exception, or a RuntimeError with its text if it could not be pickled."""
        try:
            error = pickle.loads(self.pickled_error)
        except Exception:
            return RuntimeError(self.text)
        return error if isinstance(error, BaseException) else RuntimeError(self.text)


# The parent and a spawned worker.


@dataclass(frozen=True, eq=False)
class BeginSession:
    """Serve a session with a folder for temporary files; the descriptors of the shared rows come with the message."""

    setup: WorkerSetup
    folder: str
    n_files: int


# The parent and the fork server, which answers every command. A spawned worker may get `import_modules` too.


@dataclass(frozen=True)
class Command:
    """Call a method of the `ForkServer`; descriptors that come with the message are further arguments.

    Parameters
    ----------
    method : str
        Name of the method.
    arguments : tuple, default=()
        Its arguments.
    """

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The fork server has started, or has carried out a command.

    Parameters
    ----------
    pid : int or None, default=None
        The worker that was forked.
    folder : str, default=""
        The workers' temporary folder, to remove it if the server is killed.
    error : str, default=""
        Why the command failed; empty if it did not.
    """

    pid: int | None = None
    folder: str = ""
    error: str = ""


@dataclass(frozen=True)
class WorkerEnded:
    """A worker ended, by itself (`exited`, exit code) or by a signal (its number)."""

    pid: int
    exited: bool
    status: int


@dataclass(frozen=True)
class PortableWarning:
    """A warning of the learner, its class by name: unpickling it could import a library, which takes long, or fails.

    Parameters
    ----------
    text : str
        What it says.
    categories : tuple of (str, str)
        Module and name of its class, and of the classes that this one derives from.
    filename, lineno
        Where it was given.
    pickled_category : bytes, default=b""
        The class, if it has no name in its module: it was defined in a function of the user's program.
    """

    text: str
    categories: tuple[tuple[str, str], ...]
    filename: str
    lineno: int
    pickled_category: bytes = b""

    @classmethod
    def from_message(cls, message: WarningMessage) -> PortableWarning:
        """Return a warning that was caught."""
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
