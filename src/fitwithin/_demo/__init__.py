"""The demonstration: a made-up pump, and three ways to learn what ails it."""

from ._comparing import run_demo

__all__ = ["run_demo"]
