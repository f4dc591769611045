"""Demonstration: three ways to train on the data of a simulated pump, compared."""

from fitwithin._demo.teacher_comparison import run_demo

__all__ = ["run_demo"]
