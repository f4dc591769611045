"""Fits that can be asked to stop, and end with what they have."""

from fitwithin.backends._early_stopping.base import Patience, Stopping, register_stopping, stopping_fit

__all__ = ["Patience", "Stopping", "register_stopping", "stopping_fit"]
