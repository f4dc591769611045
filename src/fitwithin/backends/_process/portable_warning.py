"""Warnings of a learner, on their way to a process that may lack its library."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any
from warnings import WarningMessage

import cloudpickle


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
