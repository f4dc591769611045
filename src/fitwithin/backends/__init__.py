"""Backends: where the learner runs."""

from fitwithin.backends._base import Backend, Examined, KeptModel, Scored, Seat, Task, Taught
from fitwithin.backends._early_stopping import Patience, Stopping, register_stopping
from fitwithin.backends._inline import Inline
from fitwithin.backends._process.backend import Process

__all__ = [
    "Backend",
    "Examined",
    "Inline",
    "KeptModel",
    "Patience",
    "Process",
    "Scored",
    "Seat",
    "Stopping",
    "Task",
    "Taught",
    "register_stopping",
]
