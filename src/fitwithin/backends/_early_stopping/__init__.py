"""Fits that stop early, when a stop signal says so, and the learners that are known."""

from fitwithin.backends._early_stopping.registry import (
    EarlyStoppingFit,
    find_early_stopping,
    find_traits,
    knows_steps,
    register_early_stopping,
)
from fitwithin.backends._early_stopping.stop_signal import StopSignal, make_stop_signal

__all__ = [
    "EarlyStoppingFit",
    "StopSignal",
    "find_early_stopping",
    "find_traits",
    "knows_steps",
    "make_stop_signal",
    "register_early_stopping",
]
