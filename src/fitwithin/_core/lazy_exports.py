"""Names that a package exports, imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def make_getattr(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` (PEP 562), which imports a name and keeps it in the package.

    Parameters
    ----------
    package : str
        Name of the package.
    modules : mapping of str to str
        For each name, the module that has it; the module of a submodule's name is the submodule.

    Examples
    --------
    >>> make_getattr("fitwithin", {"Round": "fitwithin._core.rounds"})("Round").__name__
    'Round'
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        module = import_module(modules[name])
        value = module if modules[name] == f"{package}.{name}" else getattr(module, name)
        setattr(import_module(package), name, value)
        return value

    return find
