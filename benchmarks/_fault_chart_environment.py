"""Environments of tools that cannot be installed beside this project."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CACHE = Path.home() / ".cache" / "fitwithin-benchmarks"
"""Folder of the environments; they are made once."""

# AutoGluon needs pandas below 3.
PACKAGES: Mapping[str, Sequence[str]] = {
    "AutoGluon": ("autogluon.tabular[lightgbm]", "pandas<3", "psutil"),
    "Optuna, timeout": ("optuna", "lightgbm", "scikit-learn", "psutil"),
}
"""Packages of each tool that has an environment of its own."""

_MODULES = {"AutoGluon": "autogluon.tabular", "Optuna, timeout": "optuna", "FLAML": "flaml.automl"}


def find_python(tool: str, cache: Path, *, make: bool) -> str | None:
    """Return the interpreter of a tool, made if it is asked for; None, with a message, where there is none."""
    python = sys.executable
    if tool in PACKAGES:
        python = str(cache / tool.split(",")[0].lower() / "bin" / "python")
        if make and not Path(python).exists():
            folder = Path(python).parents[1]
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[tool]], check=True)
    if _can_import(python, _MODULES.get(tool)):
        return python
    option = f"; pass --{tool.split(',')[0].lower()} to install it below {cache}" if tool in PACKAGES else ""
    print(f"skipped {tool}: it is not installed{option}", flush=True)
    return None


def _can_import(python: str, module: str | None) -> bool:
    if not Path(python).exists():
        return False
    program = f"import {module or 'lightgbm'}"
    return subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0
