"""Tracer of the fitwithin modules that a process runs; fit_modules.py installs it as sitecustomize.py.

Python imports sitecustomize at the start of every process, so the tracer also reaches helper processes. It
imports only the standard library, because it runs before anything else.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from types import FrameType

PACKAGE_VARIABLE = "FITWITHIN_TRACED_PACKAGE"
"""Environment variable with the folder of the package."""

OUTPUT_VARIABLE = "FITWITHIN_TRACE_OUTPUT"
"""Environment variable with the file for the names; a process that starts without it is not traced."""


def start_tracing(package: str, output: str) -> None:
    """Trace this thread, its future threads and its forks.

    The first time that a function of a package module runs, the module's file name is appended to the output.

    Parameters
    ----------
    package : str
        Folder of the package.
    output : str
        File for the names, relative to the package, one to a line. Several processes may append to it.
    """
    root = os.path.join(package, "")
    seen: set[str] = set()

    def note_module(frame: FrameType, _event: str, _arg: object) -> None:
        file = frame.f_code.co_filename
        if file in seen or not file.startswith(root) or _is_importing(frame, root):
            return
        seen.add(file)
        # A helper may outlive the benchmark and its temporary folder; its last names are then not needed.
        with contextlib.suppress(OSError), open(output, "a", encoding="utf-8") as names:
            names.write(f"{file.removeprefix(root)}\n")

    # Not setprofile: it also reports returns and calls of C functions, which makes imports several times slower.
    threading.settrace(note_module)
    sys.settrace(note_module)


def stop_tracing() -> None:
    """Stop tracing this thread and future threads."""
    sys.settrace(None)
    threading.settrace(None)


def _is_importing(frame: FrameType | None, root: str) -> bool:
    """Return whether the call belongs to the body of a package module that is being imported."""
    while frame is not None:
        code = frame.f_code
        is_module_body = code.co_name == "<module>" and code.co_filename.startswith(root)
        if is_module_body and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


if OUTPUT_VARIABLE in os.environ:
    start_tracing(os.environ[PACKAGE_VARIABLE], os.environ[OUTPUT_VARIABLE])
