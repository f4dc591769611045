"""Fits that stop early, when a stop signal says so."""

from fitwithin.backends._early_stopping.base import (
    EarlyStoppingFit,
    StopSignal,
    find_early_stopping,
    knows_steps,
    make_stop_signal,
    register_early_stopping,
)

__all__ = [
    "EarlyStoppingFit",
    "StopSignal",
    "find_early_stopping",
    "knows_steps",
    "make_stop_signal",
    "register_early_stopping",
]
