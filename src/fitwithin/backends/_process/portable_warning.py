"""Warnings of a learner, on their way to a process that may lack its library."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from warnings import WarningMessage


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
    """

    text: str
    categories: tuple[tuple[str, str], ...]
    filename: str
    lineno: int

    @classmethod
    def from_message(cls, message: WarningMessage) -> PortableWarning:
        """Return a warning that was caught."""
        categories = tuple((kind.__module__, kind.__qualname__) for kind in message.category.__mro__)
        return cls(str(message.message), categories, message.filename, message.lineno)

    def to_message(self) -> WarningMessage:
        """Return the warning, with the first of its classes that is loaded in this process."""
        found = (getattr(sys.modules.get(module), name, None) for module, name in self.categories)
        category = next(kind for kind in found if isinstance(kind, type) and issubclass(kind, Warning))
        return WarningMessage(self.text, category, self.filename, self.lineno)
