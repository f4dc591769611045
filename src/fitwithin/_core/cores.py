"""Cores that this process may use, and how several learners share them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral

import joblib


@dataclass(frozen=True)
class CoreShare:
    """The part of the cores that one of several learners gets.

    Parameters
    ----------
    cores : tuple of int
        Numbers of the cores that it runs on; empty where the system does not bind processes to cores.
    n_threads : int
        Threads that its libraries start by default.
    """

    cores: tuple[int, ...]
    n_threads: int


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of learners that run at the same time.

    Parameters
    ----------
    n_jobs : int or None
        None means 1. -1 means one for each core that this process may use, -2 one less, and so on, as in joblib.

    Raises
    ------
    ValueError
        If `n_jobs` is 0 or no integer.

    Examples
    --------
    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    >>> count_jobs(-1) == count_cores()
    True
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None, a positive number of learners, or a negative one (-1: as many as cores); "
            f"got {n_jobs!r}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, count_cores() + 1 + int(n_jobs))


def count_cores() -> int:
    """Return the cores that this process may use: by its affinity, and by the CPU quota of its container."""
    return int(joblib.cpu_count())


def count_threads(n_jobs: int) -> int:
    """Return the threads of each of `n_jobs` learners that run at the same time; -1, for every core, if it is one.

    Examples
    --------
    >>> count_threads(1), count_threads(10_000)
    (-1, 1)
    """
    return -1 if n_jobs == 1 else max(1, count_cores() // n_jobs)


def share_cores(n_jobs: int) -> tuple[CoreShare, ...]:
    """Divide the cores of this process among learners, as evenly as possible.

    The shares do not overlap unless there are more learners than cores. A container's quota limits the threads of a
    share, and not its cores: the cores of a quota are not known by number.

    Examples
    --------
    >>> len(share_cores(3))
    3
    """
    return divide_cores(_list_cores(), count_cores(), n_jobs)


def divide_cores(cores: tuple[int, ...], n_usable: int, n_jobs: int) -> tuple[CoreShare, ...]:
    """Divide these cores; the process may use `n_usable` of them at a time.

    Examples
    --------
    >>> divide_cores((0, 1, 2, 3, 4), 5, 2)
    (CoreShare(cores=(0, 2, 4), n_threads=3), CoreShare(cores=(1, 3), n_threads=2))
    >>> divide_cores((0, 1), 2, 3)[2]
    CoreShare(cores=(0,), n_threads=1)
    """
    shares = []
    for number in range(n_jobs):
        own = cores[number::n_jobs] or tuple(cores[number % len(cores)] for _ in cores[:1])
        shares.append(CoreShare(own, max(1, n_usable // n_jobs + (number < n_usable % n_jobs))))
    return tuple(shares)


def _list_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process may run on; none where the system does not tell."""
    # macOS has no affinity.
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
