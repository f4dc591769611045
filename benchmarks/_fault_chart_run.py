"""Start one job under one tool, watch it, and say when it returned, with what, and what it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from _peak_memory import read_memory
from _resource_leaks import ResourceSnapshot, find_leaks

HARD_STOP_FACTOR = 3.0
"""A job that has not returned after this multiple of its limit is ended, and counts as "over 3 x"."""

_WORKER = Path(__file__).with_name("_fault_chart_worker.py")
_WORD = "fault_chart "
_SAMPLE_SECONDS = 0.1
# Seconds for the interpreter and the imports, and for the program to end once it is told to.
_START_SECONDS = 180.0
_EXIT_SECONDS = 5.0
# Seconds after the end of the program until which something may still be there.
_CLEANUP_SECONDS = 1.0


@dataclass(frozen=True)
class FaultRun:
    """Result of one job under one tool.

    Parameters
    ----------
    tool, job : str
        A key of `WAYS`, and one of `JOBS`.
    limit, seconds : float
        The limit, and seconds from the call until it returned, the program died, or it was ended by us.
    ended : str
        "returned", "died" or "hard stop".
    error : str
        Exception that the tool raised.
    accuracy, rows, since : float, int, float or None
        Of the model, its rows, and the second of the fit at which it was there, where they are known.
    peak_memory, memory_left : int
        Bytes of the program and its processes at most, and a second after the return, beyond those before the fit.
    left, left_after_exit : tuple of str
        What was left a second after the return, and a second after the end of the program.
    """

    tool: str
    job: str
    limit: float
    seconds: float
    ended: str
    error: str = ""
    accuracy: float | None = None
    rows: int | None = None
    since: float | None = None
    peak_memory: int = 0
    memory_left: int = 0
    left: tuple[str, ...] = ()
    left_after_exit: tuple[str, ...] = ()
    killed_for_memory: bool = False


class WatchedProgram:
    """A program with one job, its processes and what it says."""

    def __init__(self, command: Sequence[str]) -> None:
        self.started = time.perf_counter()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        self.moments: dict[str, float] = {}
        self.said: dict[str, Any] = {}
        self.memory = self.peak = self.first_memory = 0
        self._lines: queue.Queue[tuple[float, str]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self._lines.put((time.perf_counter(), line))

    def look(self) -> None:
        """Wait a moment, take note of what the program said, and measure its memory."""
        with contextlib.suppress(queue.Empty):
            moment, line = self._lines.get(timeout=_SAMPLE_SECONDS)
            if line.startswith(_WORD):
                fields = json.loads(line.removeprefix(_WORD))
                self.moments[fields.pop("event")] = moment
                self.said |= fields
        self.memory = sum(read_memory(process.pid).own for process in self.processes())
        self.first_memory = self.first_memory if "begins" in self.moments else self.memory
        self.peak = max(self.peak, self.memory)

    def processes(self) -> list[psutil.Process]:
        """Return the program and all that it started."""
        try:
            return [(own := psutil.Process(self.process.pid)), *own.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill_largest(self) -> None:
        """End the process with the most memory, as the system does where memory runs out."""
        largest = max(self.processes(), key=lambda process: read_memory(process.pid).own, default=None)
        if largest is not None:
            _kill(largest)

    def kill(self) -> None:
        """End everything."""
        for process in self.processes():
            _kill(process)
        self.process.wait()

    def close(self) -> None:
        """Wait until its output has ended, which every process that it started may hold open."""
        self._reader.join(_EXIT_SECONDS)


def _kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)


def run_job(python: str, tool: str, settings: dict[str, Any]) -> FaultRun:
    """Run one job under one tool.

    Parameters
    ----------
    python : str
        Interpreter that has the tool.
    tool : str
        A key of `WAYS`.
    settings : dict
        The other arguments of the worker's `main`.
    """
    limit = settings["limit"]
    command = [python, "-W", "ignore", str(_WORKER), json.dumps({"tool": tool, **settings})]
    by_program = tool == "timeout(1)"
    before = ResourceSnapshot.take()
    program = WatchedProgram(["timeout", f"{limit}", *command] if by_program else command)
    killed_for_memory, ended = False, ""
    while not ended:
        program.look()
        # The limit of timeout(1) begins with the program, imports included.
        begins = program.started if by_program else program.moments.get("begins")
        if not killed_for_memory and program.memory > settings["max_bytes"]:
            program.kill_largest()
            killed_for_memory = True
        if "result" in program.moments:
            ended = "returned"
        elif program.process.poll() is not None:
            ended = "died"
        elif time.perf_counter() - (begins or program.started + _START_SECONDS) > HARD_STOP_FACTOR * limit:
            ended = "hard stop"
    seconds = program.said.get("seconds", time.perf_counter() - (begins or program.started))
    program.look()
    left = tuple(program.said.get("left", ()))
    memory_left = max(0, program.memory - program.first_memory) if ended == "returned" else 0
    after = _end_program(program, before)
    return FaultRun(
        tool,
        settings["job"],
        limit,
        seconds,
        ended,
        **{name: program.said[name] for name in ("error", "accuracy", "rows", "since") if name in program.said},
        peak_memory=max(0, program.peak - program.first_memory),
        memory_left=memory_left,
        left=_without_descriptors(left),
        left_after_exit=after,
        killed_for_memory=killed_for_memory,
    )


def _end_program(program: WatchedProgram, before: ResourceSnapshot) -> tuple[str, ...]:
    """Let the program end, or end it; return what is left then, and end that too."""
    said: list[str] = []
    left: tuple[str, ...]
    assert program.process.stdin is not None
    with contextlib.suppress(OSError):
        program.process.stdin.close()
    if "result" in program.moments:
        try:
            program.process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            said.append(f"the program did not end within {_EXIT_SECONDS:g} s")
    # What a hard stop ends was not left behind by the tool, but it would have been there for ever.
    program.kill()
    left, ended = (), time.perf_counter()
    while time.perf_counter() - ended < _CLEANUP_SECONDS:
        _reap_orphans()
        if not (left := _without_descriptors(find_leaks(before))):
            break
        time.sleep(_SAMPLE_SECONDS)
    for process in psutil.Process().children(recursive=True):
        _kill(process)
    program.close()
    return (*said, *left)


def _reap_orphans() -> None:
    """Take note of the ends of processes that this one has adopted, as the first process of the system does."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _without_descriptors(left: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in left if not one.endswith("descriptors"))
