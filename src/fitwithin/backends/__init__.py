"""Backends: where the learner runs."""

from ._base import Backend, Examined, KeptModel, Scored, Seat, Task, Taught
from ._inline import Inline
from ._process import Process

__all__ = ["Backend", "Examined", "Inline", "KeptModel", "Process", "Scored", "Seat", "Task", "Taught"]
