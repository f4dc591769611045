"""Bind one of several learners to its share of the cores; the learner's own parameters are untouched."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import psutil
from threadpoolctl import ThreadpoolController

from fitwithin._core.cores import CoreShare

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
"""Variables by which libraries that are loaded from now on choose their number of threads."""


def bind_to_cores(share: CoreShare, environment: Mapping[str, str]) -> dict[str, str]:
    """Bind this process, and what it starts, to cores; return the variables that limit its threads.

    Parameters
    ----------
    share : CoreShare
        The cores.
    environment : dict of str
        The program's environment variables. A smaller number of threads there stays.
    """
    process: Any = psutil.Process()
    if share.cores and hasattr(process, "cpu_affinity"):
        # A core may have been taken from the program since its cores were listed; the learner then runs anywhere.
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            process.cpu_affinity(list(share.cores))
    return {name: str(_smaller(share.n_threads, environment.get(name))) for name in _THREAD_VARIABLES}


def limit_threads(share: CoreShare) -> None:
    """Limit the threads of the libraries that are loaded, as far as they would start more; it takes some 5 ms."""
    controller = ThreadpoolController()
    threads = {library["prefix"]: library["num_threads"] for library in controller.info()}
    controller.limit(limits={prefix: min(share.n_threads, n_threads) for prefix, n_threads in threads.items()})


def _smaller(n_threads: int, chosen: str | None) -> int:
    return min(n_threads, int(chosen)) if chosen is not None and chosen.isdigit() and int(chosen) > 0 else n_threads
