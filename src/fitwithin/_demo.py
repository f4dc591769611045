"""The demonstration."""

from __future__ import annotations


def run_demo(seconds: float) -> None:
    """Run."""
