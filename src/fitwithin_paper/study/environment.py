"""The machine and the library versions behind the results of a study."""

from __future__ import annotations

import os
import platform
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


def describe_environment() -> dict[str, Any]:
    """Return the time, the machine, the versions of installed libraries and the load average."""
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {
            "cpu": _processor_name(),
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
        },
        "versions": {name: found for name in _LIBRARIES if (found := _installed_version(name))},
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
    }


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
