"""On what a figure was measured."""

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

_LIBRARIES = (
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
    """What a figure depends on besides the code.

    Parameters
    ----------
    date : str
        When it was looked at, in UTC.
    processor, cores, memory_gb : str, int, float
        What it is.
    kernel, python : str
        Of the system and of the interpreter.
    libraries : dict
        Versions of the packages that matter.
    load : tuple of float
        Load average over 1, 5 and 15 minutes; empty where the system does not tell.
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
    def here(cls) -> Environment:
        """The machine that this runs on, now."""
        return cls(
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            processor=_processor(),
            cores=os.cpu_count() or 0,
            memory_gb=round(psutil.virtual_memory().total / 2**30, 1),
            kernel=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            libraries={name: found for name in _LIBRARIES if (found := _version(name))},
            load=os.getloadavg() if hasattr(os, "getloadavg") else (),
        )

    def __str__(self) -> str:
        libraries = ", ".join(f"{name} {found}" for name, found in self.libraries.items())
        load = " ".join(f"{value:.2f}" for value in self.load)
        return (
            f"{self.date}; {self.cores} cores ({self.processor}), {self.memory_gb:g} GB, {self.kernel}, "
            f"Python {self.python}; {libraries}; load average before {load}"
        )


def library_versions(model: Any) -> dict[str, str]:
    """Versions of the libraries that a model and its parts come from, apart from scikit-learn's own.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> library_versions(GaussianNB())
    {}
    """
    parts = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    packages = {type(part).__module__.partition(".")[0] for part in (model, *parts)}
    names = sorted(packages - {"builtins", "numpy", "sklearn", "__main__"})
    # Of the module, not of what was installed: that may have another name, such as xgboost-cpu.
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    return {name: str(version) for name, version in found.items() if version is not None}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
