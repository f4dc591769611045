"""The teachers that have a name, for the parameter `teacher` and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fitwithin.teachers._auto import Auto
from fitwithin.teachers._base import Teacher
from fitwithin.teachers._double import Double
from fitwithin.teachers._full import Full
from fitwithin.teachers._osct import OSCT
from fitwithin.teachers._sgd import SGD
from fitwithin.teachers._tct import TCT
from fitwithin.teachers._tct_active import TCTActive

TEACHERS: Mapping[str, Callable[[], Teacher]] = {
    "auto": Auto,
    "tct": TCT,
    "double": Double,
    "osct": OSCT,
    "tct_al": TCTActive,
    "sgd": SGD,
    "full": Full,
}
"""Constructors of the teachers, by name."""
