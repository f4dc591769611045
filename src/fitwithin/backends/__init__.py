"""Backends: where the learner runs."""

from .._stopping import Patience, Stopping, register_stopping
from ._base import Backend, Examined, KeptModel, Scored, Seat, Task, Taught
from ._inline import Inline
from ._process import Process

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
