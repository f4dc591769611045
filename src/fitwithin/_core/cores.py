"""Cores that this process may use, and how several learners share them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import joblib
from threadpoolctl import ThreadpoolController

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
"""Variables by which libraries that are loaded from now on choose their number of threads."""


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

    def bind_process(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Bind this process, and what it starts, to the cores; return the variables that limit its threads.

        Parameters
        ----------
        environment : dict of str
            The program's environment variables. A smaller number of threads there stays.
        """
        if self.cores:
            # A core may have been taken from the program since its cores were listed; the learner then runs anywhere.
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self.cores)
        variables = {}
        for name in _THREAD_VARIABLES:
            chosen = environment.get(name, "")
            limit = int(chosen) if chosen.isdigit() and int(chosen) > 0 else self.n_threads
            variables[name] = str(min(self.n_threads, limit))
        return variables

    def limit_threads(self) -> None:
        """Limit the threads of the libraries that are loaded, as far as they would start more; it takes some 5 ms."""
        controller = ThreadpoolController()
        limits = {library["prefix"]: min(self.n_threads, library["num_threads"]) for library in controller.info()}
        controller.limit(limits=limits)


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
    # macOS has no affinity.
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return divide_cores(tuple(cores), count_cores(), n_jobs)


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
