"""The installed modules that a learner needs, to import them ahead of it."""

from __future__ import annotations

import pickletools
import site
import sys
import sysconfig
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any


def find_modules(pickled_learner: bytes) -> list[str]:
    """Return the installed modules that a pickled learner needs and that are loaded here.

    Modules of the user's own may change between two fits, so each learner's process imports them
    anew. Most of what they import in turn is installed, and is worth importing ahead.

    Examples
    --------
    >>> import pickle
    >>> from sklearn.naive_bayes import GaussianNB
    >>> find_modules(pickle.dumps(GaussianNB()))
    ['sklearn.naive_bayes']
    """
    named = {argument for _, argument, _ in pickletools.genops(pickled_learner) if isinstance(argument, str)}
    loaded = {name: sys.modules[name] for name in sorted(named & sys.modules.keys())}
    needed = dict.fromkeys(name for name, module in loaded.items() if _is_installed(module))
    for module in loaded.values():
        if not _is_installed(module):
            for value in list(_globals_of(module).values()):
                name = _module_of(value)
                if name in sys.modules and _is_installed(sys.modules[name]):
                    needed[name] = None
    return list(needed)


def _module_of(value: Any) -> str:
    """Return the module of a global; for an object, that of its class.

    Nothing is asked of an object itself: its attributes may be lazy, and start anything.
    """
    kind = type(value)
    if kind is ModuleType:
        return str(value.__name__)
    if kind in (FunctionType, BuiltinFunctionType):
        return str(value.__module__)
    if issubclass(kind, type):
        return str(type.__getattribute__(value, "__module__"))
    return str(kind.__module__)


def _globals_of(module: ModuleType) -> dict[str, Any]:
    """Return the globals of a module; one that loads itself when it is first used is left alone."""
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


def _is_installed(module: ModuleType) -> bool:
    file = _globals_of(module).get("__file__")
    return isinstance(file, str) and file.startswith(_INSTALL_PREFIXES)


def _find_install_folders() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    # Debian keeps what its packages install in a folder that sysconfig does not name.
    paths.update(getattr(site, "getsitepackages", list)())
    paths.add(getattr(site, "getusersitepackages", str)())
    return tuple(path for path in paths if path)


_INSTALL_PREFIXES = _find_install_folders()
"""Folders of installed modules, which do not change while this process runs."""
