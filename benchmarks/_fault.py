"""A fault: what is done, what is expected, and a function that does it and looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Trial = Callable[[Path], "FaultOutcome"]
"""Makes a fault happen, with a folder for its files."""


@dataclass(frozen=True)
class FaultOutcome:
    """Result of one trial.

    Parameters
    ----------
    held : bool
        Whether what was expected came true.
    figure : str
        What was measured or seen.
    """

    held: bool
    figure: str


@dataclass(frozen=True)
class FaultCase:
    """One thing that can go wrong.

    Parameters
    ----------
    topic : str
        What it is about: the process, the deadline, the door, the process_state, memory, checkpoints.
    name : str
        What is done.
    expected : str
        What should come of it.
    trial : callable
        Does it, in a fresh interpreter.
    once : bool, default=False
        Whether one trial is enough, because it takes minutes and does it many times.
    """

    topic: str
    name: str
    expected: str
    trial: Trial
    once: bool = False


class FaultCases:
    """The cases of one topic, listed by a decorator."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.cases: list[FaultCase] = []

    def add(self, name: str, expected: str, *, once: bool = False) -> Callable[[Trial], Trial]:
        """Add the decorated function as a case."""

        def add_trial(trial: Trial) -> Trial:
            self.cases.append(FaultCase(self.topic, name, expected, trial, once))
            return trial

        return add_trial
