"""A new interpreter that runs a part of this package."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How threads of OpenMP wait: those that spin for long cost seconds beside other busy processes, those that sleep at
once are several times slower on idle cores. See benchmarks/openmp.py."""


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
        env=dict(os.environ) if "OMP_WAIT_POLICY" in os.environ else {**WAITING, **os.environ},
    )
    # Nobody calls us when an idle process ends by itself, and without a wait it would stay as a zombie.
    threading.Thread(target=process.wait, name="fitwithin-reaper", daemon=True).start()
    return process
