"""The machine and the library versions behind a measurement."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

_REPORTED_LIBRARIES = (
    "fitwithin",
    "numpy",
    "scipy",
    "scikit-learn",
    "lightgbm",
    "joblib",
    "pandas",
    "pyarrow",
    "skops",
    "psutil",
)


@dataclass(frozen=True)
class Environment:
    """The machine and the library versions behind a measurement.

    Parameters
    ----------
    date : str
        Date and time in UTC.
    processor : str
        Model name of the processor; may be empty.
    cores : int
        Number of logical cores.
    memory_gb : float
        Total memory in GiB.
    kernel : str
        Name and release of the operating system.
    python : str
        Version of Python.
    libraries : dict
        Versions of the installed packages that affect results, by name.
    load : tuple of float
        Load average over 1, 5 and 15 minutes; empty if the system has none.
    """

    date: str
    processor: str
    cores: int
    memory_gb: float
    kernel: str
    python: str
    libraries: dict[str, str]
    load: tuple[float, ...]

    @classmethod
    def current(cls) -> Environment:
        """Return the environment of this process."""
        return cls(
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            processor=_processor_name(),
            cores=os.cpu_count() or 0,
            memory_gb=round(psutil.virtual_memory().total / 2**30, 1),
            kernel=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            libraries={name: found for name in _REPORTED_LIBRARIES if (found := _installed_version(name))},
            load=os.getloadavg() if hasattr(os, "getloadavg") else (),
        )


def library_versions(model: Any) -> dict[str, str]:
    """Return the versions of the libraries that a model and its parts come from, except scikit-learn.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> library_versions(GaussianNB())
    {}
    """
    parts = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    packages = {type(part).__module__.partition(".")[0] for part in (model, *parts)}
    names = sorted(packages - {"builtins", "numpy", "sklearn", "__main__"})
    # The module has the version; the installed package may have another name, such as xgboost-cpu.
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    return {name: str(version) for name, version in found.items() if version is not None}


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
