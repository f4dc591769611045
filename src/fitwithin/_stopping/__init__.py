"""Fits that can be asked to stop, and end with what they have."""

from ._patience import Patience
from ._registry import Stopping, register_stopping, stopping_fit

__all__ = ["Patience", "Stopping", "register_stopping", "stopping_fit"]
