"""The demonstration: a made-up pump, and three ways to learn what ails it."""

from fitwithin._research.demo.comparing import run_demo

__all__ = ["run_demo"]
