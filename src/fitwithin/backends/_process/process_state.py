"""What a learner's process takes over from the program: its settings, and the modules to import."""

from __future__ import annotations

import os
import pickle
import pickletools
import re
import site
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import cloudpickle
import numpy as np
import sklearn

from fitwithin.backends._process.subprocesses import MARK_VARIABLE, OPENMP_VARIABLES, module_search_path

# Variables that the learner's process keeps instead of taking over the parent's.
_OWN_VARIABLES = ("JOBLIB_TEMP_FOLDER", "TMPDIR", MARK_VARIABLE, *OPENMP_VARIABLES)


@dataclass(frozen=True, eq=False)
class ProcessState:
    """The global settings of a program that a learner may depend on.

    The learner's process may have started before they changed, and a lesson may change them, so they are set anew
    before each lesson.

    Parameters
    ----------
    search_path : list of str
        `sys.path`.
    folder : str or None
        The working directory; None if it was deleted.
    environment : dict of str
        The environment variables.
    pickled_filters : bytes
        The warning filters, pickled.
    sklearn_config : dict
        `sklearn.get_config()`.
    numpy_errors : dict
        `numpy.geterr()`; the program's callback stays behind, and the learner warns instead of calling it.
    recursion_limit : int
        `sys.getrecursionlimit()`.
    umask : int or None
        The mask of permissions for new files; None where it cannot be read without changing it.

    Examples
    --------
    >>> import numpy as np
    >>> with np.errstate(all="ignore"):
    ...     process_state = ProcessState.current()
    >>> process_state.numpy_errors["divide"]
    'ignore'
    """

    search_path: list[str]
    folder: str | None
    environment: dict[str, str]
    pickled_filters: bytes
    sklearn_config: dict[str, Any]
    numpy_errors: dict[str, Any]
    recursion_limit: int
    umask: int | None

    @classmethod
    def current(cls) -> ProcessState:
        """Return those of this process, and of this thread."""
        return cls(
            search_path=module_search_path(),
            folder=_find_working_folder(),
            environment=dict(os.environ),
            pickled_filters=_pickle_warning_filters(),
            sklearn_config=sklearn.get_config(),
            numpy_errors={kind: _without_callback(mode) for kind, mode in np.geterr().items()},
            recursion_limit=sys.getrecursionlimit(),
            umask=_read_umask(),
        )

    def apply(self, own_variables: Mapping[str, str]) -> None:
        """Make them those of this process, except for some variables of its own; see `find_own_variables`."""
        sys.path[:] = self.search_path
        self._change_folder()
        os.environ.clear()
        os.environ.update({**self.environment, **own_variables})
        warnings.resetwarnings()
        cast(list[Any], warnings.filters)[:] = pickle.loads(self.pickled_filters)
        sklearn.set_config(**self.sklearn_config)
        np.seterr(**self.numpy_errors)
        sys.setrecursionlimit(self.recursion_limit)
        if self.umask is not None:
            os.umask(self.umask)

    def _change_folder(self) -> None:
        try:
            os.chdir(self.folder or tempfile.gettempdir())
        except OSError:
            # The parent's folder was deleted during the fit.
            os.chdir(tempfile.gettempdir())


def find_own_variables() -> dict[str, str]:
    """Return the variables that a worker keeps, as they are before the learner can change them."""
    return {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}


def _without_callback(mode: Any) -> Any:
    return "warn" if mode in ("call", "log") else mode


def _find_working_folder() -> str | None:
    """Return the working directory; None, with a warning, if it was deleted."""
    try:
        return os.getcwd()
    except OSError as error:
        warnings.warn(
            f"The working folder of this program cannot be found ({error.strerror}); it was probably deleted. The "
            "learner runs in a temporary folder, and finds no file by a relative path. Change to another folder with "
            "os.chdir().",
            RuntimeWarning,
            stacklevel=5,
        )
        return None


def _pickle_warning_filters() -> bytes:
    try:
        body: bytes = cloudpickle.dumps(list(warnings.filters))
    except Exception:  # a filter's category may be a class that cannot be pickled
        return pickle.dumps([])
    return body


def _read_umask() -> int | None:
    # The call that returns the mask also sets it, which other threads could see.
    try:
        found = re.search(r"^Umask:\s*(\d+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1], 8)


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
    needed: dict[str, None] = {}
    for name in sorted(named & sys.modules.keys()):
        if not _is_installed(name):
            values = list(_globals_of(sys.modules[name]).values())
            needed |= dict.fromkeys(filter(_is_installed, map(_module_of, values)))
        else:
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


def _is_installed(name: str) -> bool:
    """Whether a module is loaded, and installed."""
    file = _globals_of(sys.modules[name]).get("__file__") if name in sys.modules else None
    return isinstance(file, str) and file.startswith(_INSTALL_PREFIXES)


def _find_install_folders() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    # Debian keeps what its packages install in a folder that sysconfig does not name.
    paths.update(getattr(site, "getsitepackages", list)())
    paths.add(getattr(site, "getusersitepackages", str)())
    return tuple(path for path in paths if path)


_INSTALL_PREFIXES = _find_install_folders()
"""Folders of installed modules, which do not change while this process runs."""
