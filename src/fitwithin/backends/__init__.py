"""Backends decide where the learner runs: in a process that can be killed, in this process, or on a cluster."""

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import FitLimits
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin.backends._base import (
    Backend,
    ExamReport,
    FitReport,
    FitSettings,
    PendingDump,
    Runner,
    SavedModel,
    ScoreReport,
)
from fitwithin.backends._dask.backend import Dask
from fitwithin.backends._early_stopping.registry import EarlyStoppingFit, register_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal
from fitwithin.backends._inline import Inline
from fitwithin.backends._process.backend import Process

__all__ = [
    "Backend",
    "Dask",
    "EarlyStoppingFit",
    "ExamReport",
    "FitLimits",
    "FitReport",
    "FitSettings",
    "Inline",
    "LabeledRows",
    "LearnerDied",
    "LearnerRaised",
    "OutOfMemory",
    "OutOfTime",
    "PendingDump",
    "Pool",
    "Process",
    "Runner",
    "SavedModel",
    "ScoreReport",
    "StopSignal",
    "register_early_stopping",
]
