"""A new interpreter that runs a part of this package."""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def search_path() -> list[str]:
    """Where this process looks for modules."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def launch(module: str, *arguments: object, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter, with a pipe to its standard input."""
    program = (
        f"import sys; sys.path[:] = {search_path()!r}; from {__package__}.{module} import main; main(*{arguments!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        pass_fds=pass_fds,
        start_new_session=True,
        # Threads of OpenMP that wait must not spin: beside other busy processes that costs seconds.
        env={"OMP_WAIT_POLICY": "passive", **os.environ},
    )
    # Nobody calls us when an idle process ends by itself, and without a wait it would stay as a zombie.
    threading.Thread(target=process.wait, name="fitwithin-reaper", daemon=True).start()
    return process
