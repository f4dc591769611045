"""What git knows of the measured code; None where there is no checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[1]

PLANNING_PATHS = ("src/fitwithin/teachers", "src/fitwithin/backends")
"""Folders whose changes change what a benchmark measures."""


def current_commit() -> str | None:
    """Return the last commit that changed the package, with "+" if tracked files of it differ from that commit."""
    commit = _run("log", "-1", "--format=%h", "--abbrev=7", "--", "src")
    return commit and commit + ("+" if _run("status", "--porcelain", "--untracked-files=no", "src") else "")


def count_later_commits(commit: str) -> int | None:
    """Return how many commits after this one changed the teachers or the backends."""
    found = _run("rev-list", "--count", f"{commit.rstrip('+')}..HEAD", "--", *PLANNING_PATHS)
    return int(found) if found else None


def _run(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=_ROOT)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
