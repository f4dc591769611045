"""Which process the system ends first when memory runs out: the learner's, not the program."""

from __future__ import annotations

import contextlib

_FIRST_CHOICE = "1000"
"""Largest adjustment of the kernel. Less would not do: a program that holds much data has a high score of its own."""


def become_first_oom_choice() -> None:
    """Have Linux end this process, or one that it starts, before any other when memory runs out.

    It holds for the whole machine and for a memory group alike: the kernel chooses among the processes of the group
    that is full. Every process may do this to itself, and its children inherit it. Other systems have no such choice.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(_FIRST_CHOICE)
