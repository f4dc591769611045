"""Start interpreters that run a part of this package, give them the state of the program, and clean up after them."""

from __future__ import annotations

import atexit
import contextlib
import glob
import importlib
import os
import pickle
import pickletools
import re
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Generic, Protocol, TypeVar, cast

import cloudpickle
import numpy as np
import psutil
import sklearn

from fitwithin._core.exceptions import NoTemporaryFolder

OPENMP_VARIABLES = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How OpenMP threads wait: long spins cost time beside busy processes, no spins on idle cores; benchmarks/openmp.py."""

MARK_VARIABLE = "FITWITHIN_MARK"
"""Environment variable with a random text that tells descendants of one process from all others."""

IDLE_SECONDS = 30.0
"""Seconds that an idle process waits for the next session before it ends itself."""

_FLAGS = {"ignore_environment": "E", "no_user_site": "s", "no_site": "S", "safe_path": "P", "dont_write_bytecode": "B"}
"""Attributes of `sys.flags`, and the options that set them; `-I` sets the first, the second and the fourth."""

OWN_VARIABLES = ("JOBLIB_TEMP_FOLDER", "TMPDIR", MARK_VARIABLE, *OPENMP_VARIABLES)
"""Variables that the learner's process keeps instead of taking over the parent's."""

PROCESS_POLL_SECONDS = 1.0
"""Seconds between two looks at the parent, and at a fork server that owes an answer. A fork may outlive the parent."""

EXIT_STATUS_SECONDS = 1.0
"""Seconds to wait for the exit status of a process that closed its connection."""


def module_search_path() -> list[str]:
    """Return the folders that modules are imported from."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def import_modules(search_path: list[str], modules: list[str]) -> None:
    """Look for modules in these directories from now on, and import some."""
    sys.path[:] = search_path
    for module in modules:
        # A module that fails here fails again in the learner's process, which reports it to the user.
        with contextlib.suppress(Exception):
            importlib.import_module(module)


def start_interpreter(module: str, connection: socket.socket, mark: str = "") -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter, which takes the socket; see `MARK_VARIABLE`."""
    program = (
        f"import sys; sys.path[:] = {module_search_path()!r}; "
        f"from {__package__}.{module} import main; main({connection.fileno()}, {IDLE_SECONDS})"
    )
    with connection:
        if not sys.executable:
            raise RuntimeError(
                f"Got sys.executable={sys.executable!r}; expected the path of Python, to start the learner's process. "
                "Set sys.executable, which programs that embed Python leave empty, or use backend='inline'."
            )
        process = subprocess.Popen(
            [sys.executable, *interpreter_flags(), "-c", program],
            stdin=subprocess.DEVNULL,
            pass_fds=(connection.fileno(),),
            start_new_session=True,
            env={**({} if "OMP_WAIT_POLICY" in os.environ else OPENMP_VARIABLES), **os.environ, MARK_VARIABLE: mark},
        )
    # An idle process may end by itself at any time; without a wait it would stay as a zombie.
    threading.Thread(target=process.wait, name="fitwithin-reaper", daemon=True).start()
    return process


def interpreter_flags() -> list[str]:
    """Return the options of this interpreter that decide where modules come from and how they run."""
    flags = [f"-{option}" for name, option in _FLAGS.items() if getattr(sys.flags, name)]
    return [*flags, *(["-O"] * sys.flags.optimize), *(["-X", "utf8"] if sys.flags.utf8_mode else [])]


def make_temporary_folder(pid: int) -> str:
    """Create a folder for the temporary files of a session, named after the program; raise NoTemporaryFolder."""
    try:
        return tempfile.mkdtemp(prefix=f"fitwithin-{pid}-")
    except OSError as error:
        raise NoTemporaryFolder(error) from error


class ProcessHandle(Protocol):
    """A process that waits for the next session."""

    @property
    def alive(self) -> bool: ...
    def close(self) -> None: ...


Handle = TypeVar("Handle", bound=ProcessHandle)


class ProcessCache(Generic[Handle]):
    """Keep one idle process for the next session."""

    def __init__(self, start: Callable[[], Handle]) -> None:
        self._start = start
        # A list needs no lock, which a fork could find taken.
        self._idle: list[Handle] = []
        atexit.register(self.clear)
        if hasattr(os, "register_at_fork"):
            # A fork of this process must not talk to its parent's idle process.
            os.register_at_fork(after_in_child=self._idle.clear)

    def take(self) -> Handle:
        """Return the idle process, or start one."""
        with contextlib.suppress(IndexError):
            while not (handle := self._idle.pop()).alive:
                handle.close()
            return handle
        return self._start()

    def give_back(self, handle: Handle) -> None:
        """Keep the process for the next `take`; end it if there is an idle one already."""
        if not self._idle and handle.alive:
            self._idle.append(handle)
        else:
            handle.close()

    def clear(self) -> None:
        """End the idle process."""
        while self._idle:
            self._idle.pop().close()


def kill_group(pid: int) -> None:
    """Kill the process group of a process, if it is there."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def kill_descendants(pid: int) -> None:
    """Kill everything that a process started, in any session, but not the process itself."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def remove_loky_semaphores(pid: int) -> None:
    """Remove the named semaphores that loky leaves behind when its process is killed; their names hold the pid."""
    for semaphore in glob.glob(f"/dev/shm/sem.loky-{pid}-*"):
        with contextlib.suppress(OSError):
            os.unlink(semaphore)


@dataclass(frozen=True, eq=False)
class ProcessState:
    """Global settings of a program that a learner may depend on; set before each lesson, which may change them."""

    search_path: list[str]
    folder: str | None  # the working directory; None if it was deleted
    environment: dict[str, str]
    pickled_filters: bytes
    sklearn_config: dict[str, Any]
    numpy_errors: dict[str, Any]  # the program's callback stays behind, and the learner warns instead of calling it
    recursion_limit: int
    umask: int | None  # None where it cannot be read without changing it

    @classmethod
    def current(cls) -> ProcessState:
        return cls(
            search_path=module_search_path(),
            folder=_find_working_folder(),
            environment=dict(os.environ),
            pickled_filters=_pickle_warning_filters(),
            sklearn_config=sklearn.get_config(),
            numpy_errors={kind: "warn" if mode in ("call", "log") else mode for kind, mode in np.geterr().items()},
            recursion_limit=sys.getrecursionlimit(),
            umask=_read_umask(),
        )

    def apply(self, own_variables: Mapping[str, str]) -> None:
        """Make them those of this process, except for some variables of its own; see `OWN_VARIABLES`."""
        sys.path[:] = self.search_path
        try:
            os.chdir(self.folder or tempfile.gettempdir())
        except OSError:
            # The parent's folder was deleted during the fit.
            os.chdir(tempfile.gettempdir())
        os.environ.clear()
        os.environ.update({**self.environment, **own_variables})
        warnings.resetwarnings()
        cast(list[Any], warnings.filters)[:] = pickle.loads(self.pickled_filters)
        sklearn.set_config(**self.sklearn_config)
        np.seterr(**self.numpy_errors)
        sys.setrecursionlimit(self.recursion_limit)
        if self.umask is not None:
            os.umask(self.umask)


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
        return bytes(cloudpickle.dumps(list(warnings.filters)))
    except Exception:  # a filter's category may be a class that cannot be pickled
        return pickle.dumps([])


def _read_umask() -> int | None:
    # The call that returns the mask also sets it, which other threads could see.
    with contextlib.suppress(OSError):
        if found := re.search(r"^Umask:\s*(\d+)$", Path("/proc/self/status").read_text(), re.MULTILINE):
            return int(found[1], 8)
    return None


def find_modules(pickled_learner: bytes) -> list[str]:
    """Return the installed modules that a pickled learner needs, or a module of the user's, which may change later."""
    named = {argument for _, argument, _ in pickletools.genops(pickled_learner) if isinstance(argument, str)}
    needed: dict[str, None] = {}
    for name in sorted(named & sys.modules.keys()):
        if not _is_installed(name):
            modules = map(_module_of, list(_globals_of(sys.modules[name]).values()))
            needed |= dict.fromkeys(filter(_is_installed, modules))
        else:
            needed[name] = None
    return list(needed)


def _module_of(value: Any) -> str:
    """Return the module of a global, or of its class: the attributes of an object may be lazy, and start anything."""
    kind = type(value)
    if kind is ModuleType:
        return str(value.__name__)
    if kind in (FunctionType, BuiltinFunctionType):
        return str(value.__module__)
    if issubclass(kind, type):
        return str(type.__getattribute__(value, "__module__"))
    return str(kind.__module__)


def _globals_of(module: ModuleType) -> Any:
    # A module that loads itself when it is first used is left alone.
    return object.__getattribute__(module, "__dict__")


def _is_installed(name: str) -> bool:
    file = _globals_of(sys.modules[name]).get("__file__") if name in sys.modules else None
    return isinstance(file, str) and file.startswith(_INSTALL_PREFIXES)


_INSTALL_PREFIXES = (
    # This package, which an editable installation leaves where its source is.
    os.path.join(Path(__file__).parents[2], ""),
    *filter(None, map(sysconfig.get_path, ("purelib", "platlib", "stdlib", "platstdlib"))),
    # Debian keeps what its packages install in a folder that sysconfig does not name.
    *site.getsitepackages(),
    site.getusersitepackages(),
)
"""Folders of installed modules, which do not change while this process runs."""
