"""Faults that end a process: the program, its helper, or both, by a signal in the middle of a fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from _fault import FaultCases, FaultOutcome

kills = FaultCases("killed")

# Seconds that processes and folders have to go away.
_CLEANUP_SECONDS = 10.0

# Trains for ever in another process; a thread may fork the program while it does.
_PROGRAM = """
import os, sys, threading, time
from _fault_cases import fit
from _fault_learners import Endless

file, start, forks = sys.argv[1:]
def fork():
    while not os.path.exists(file):
        time.sleep(0.01)
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
if forks == "forks":
    threading.Thread(target=fork).start()
fit(Endless(file, starts_process=True), seconds=600, start=start)
"""


class _Program:
    """A program in the middle of a fit, with a temporary folder of its own."""

    def __init__(self, folder: Path, start: str, *, forks: bool = False) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        file = folder / "training"
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TMPDIR": str(self.temporary),
        }
        arguments = [str(file), start, "forks" if forks else ""]
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", _PROGRAM, *arguments], env=environment)
        _wait_until(file.exists)
        children = psutil.Process(self.process.pid).children()
        if forks:
            _wait_until(lambda: any(map(_is_fork, psutil.Process(self.process.pid).children())))
            children = psutil.Process(self.process.pid).children()
        self.fork = next(filter(_is_fork, children), None)
        self.helpers = [child for child in children if not _is_fork(child)]
        self.others = [psutil.Process(int(pid)) for pid in file.read_text().split()]

    def kill(self) -> FaultOutcome:
        """Kill the program, and look what is left of the others."""
        self.process.kill()
        self.process.wait()
        return self.look()

    def look(self) -> FaultOutcome:
        """Wait for the others to end; return what is left."""
        start = time.monotonic()
        _wait_until(lambda: not self._left())
        seconds, left = time.monotonic() - start, self._left()
        for process in (*self.helpers, *self.others, *filter(None, [self.fork])):
            if _lives(process):
                process.kill()
        return FaultOutcome(not left, ", ".join(left) or f"nothing left after {seconds:.2f} s")

    def _left(self) -> list[str]:
        processes = {process.pid for process in (*self.helpers, *self.others) if _lives(process)}
        folders = os.listdir(self.temporary)
        return [*([f"{len(processes)} processes"] if processes else []), *folders]


def _is_fork(process: psutil.Process) -> bool:
    return "import main" not in " ".join(process.cmdline())


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _wait_until(condition: Callable[[], object], seconds: float = _CLEANUP_SECONDS * 3) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


@kills.add("SIGKILL to the program", "the helper, the learner, its children and folder are gone")
def _kill_program(folder: Path) -> FaultOutcome:
    return _Program(folder, "fork").kill()


@kills.add("SIGKILL to the program (spawned worker)", "worker, its processes and folder go too")
def _kill_program_spawn(folder: Path) -> FaultOutcome:
    return _Program(folder, "spawn").kill()


@kills.add(
    "SIGKILL to the program while a fork of it lives on",
    "the helper, the learner, its children and folder are gone",
)
def _kill_forked(folder: Path) -> FaultOutcome:
    return _Program(folder, "fork", forks=True).kill()


@kills.add("SIGKILL to the program while a fork of it lives on (spawned worker)", "the worker and its folder are gone")
def _kill_forked_spawn(folder: Path) -> FaultOutcome:
    return _Program(folder, "spawn", forks=True).kill()


@kills.add("SIGTERM to the program and its helper", "no process and no folder is left")
def _terminate_both(folder: Path) -> FaultOutcome:
    program = _Program(folder, "fork")
    for process in program.helpers:
        process.send_signal(signal.SIGTERM)
    program.process.terminate()
    program.process.wait()
    return program.look()


@kills.add("SIGKILL to the helper alone", "the learner and processes in sessions of their own go too")
def _kill_helper(folder: Path) -> FaultOutcome:
    program = _Program(folder, "fork")
    for process in program.helpers:
        process.kill()
    program.process.wait(_CLEANUP_SECONDS)
    return program.look()
