"""A program that loads model files in forks of itself, so that a crash is an answer like any other.

It reads a line of JSON for each file from standard input, and writes one with what happened.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

EXTRA_BYTES = 1 << 30
"""Address space that a fork may add: four times the memory that any file may take."""


MAX_SECONDS = 30
"""After this time a fork is ended by SIGALRM."""


class ModelFileReader:
    """Loads files in another process, and says what came of it."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def read(self, path, rows=()):
        """Load a file and predict some rows; returns how the fork ended, its message and the MB that it took."""
        self._process.stdin.write(json.dumps({"path": str(path), "rows": [list(row) for row in rows]}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _load_and_predict(request, answer):
    import numpy as np

    from fitwithin._core.exceptions import UserInputError
    from fitwithin._core.model_file import UntrustedTypes, load_model

    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_BYTES, used + EXTRA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(MAX_SECONDS)
    # A model may print, and standard output is for answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    outcome = "loaded", ""
    try:
        model = load_model(Path(request["path"]))
        if request["rows"]:
            model.predict(np.asarray(request["rows"]))
            outcome = "predicted", ""
    except (UserInputError, UntrustedTypes) as error:
        outcome = type(error).__name__, str(error)
    except Exception as error:
        outcome = "raised", f"{type(error).__name__}: {error}"
    os.write(answer, json.dumps(outcome).encode()[:60_000])


def _serve():
    import sklearn.linear_model  # noqa: F401  # imported once, and not in every fork
    import skops.io  # noqa: F401  # the same

    from fitwithin._core import model_file  # noqa: F401  # the same

    for line in sys.stdin:
        answer, into_answer = os.pipe()
        before = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                _load_and_predict(json.loads(line), into_answer)
            os._exit(0)
        os.close(into_answer)
        with os.fdopen(answer, "rb") as file:
            text = file.read()
        _, status, usage = os.wait4(pid, 0)
        outcome, message = json.loads(text) if text else ("died", f"status {os.waitstatus_to_exitcode(status)}")
        sys.stdout.write(
            json.dumps({"outcome": outcome, "message": message, "mb": (usage.ru_maxrss - before) / 1024}) + "\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
