"""Count the modules of fitwithin that one fit runs, in the caller's process and in the learner's processes.

The fit is that of the default classifier on 20,000 rows, with a limit of 8 s. A module counts if one of its
functions ran during the fit; importing it does not count.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fitwithin

_TRACER = Path(__file__).with_name("_module_tracer.py")

# Time limit of the fit, in seconds: enough for several rounds on two cores.
_LIMIT_SECONDS = 8

# Rows of the fit: enough that the default teacher runs its trial and grows its subsets.
_N_ROWS = 20_000


def find_modules() -> list[str]:
    """Run the fit in a new process, and return the modules that ran, by file name within the package."""
    with tempfile.TemporaryDirectory(prefix="fitwithin-modules-") as folder:
        shutil.copy(_TRACER, Path(folder) / "sitecustomize.py")
        output = Path(folder) / "modules.txt"
        package = Path(fitwithin.__file__).parent
        paths = [folder, str(package.parent), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, __file__, "--output", str(output), "--package", str(package)]
        if subprocess.run(command, env=environment, check=False).returncode:
            raise SystemExit("The traced fit failed. It needs an otherwise idle machine; try again.")
        return sorted(set(output.read_text(encoding="utf-8").split()))


def run_traced_fit(package: Path, output: Path) -> None:
    """Fit once, and append the modules that ran to a file; needs the tracer as sitecustomize."""
    import sitecustomize
    from sklearn.datasets import make_classification

    X, y = make_classification(_N_ROWS, random_state=0)
    # Set here, not by the caller: this process is traced during the fit only, helper processes from their start.
    os.environ |= {sitecustomize.PACKAGE_VARIABLE: str(package), sitecustomize.OUTPUT_VARIABLE: str(output)}
    classifier = fitwithin.TimeConstrainedClassifier(time_limit=_LIMIT_SECONDS, random_state=0)
    sitecustomize.start_tracing(str(package), str(output))
    try:
        classifier.fit(X, y)
    finally:
        sitecustomize.stop_tracing()


def main() -> None:
    """Print the modules and their number."""
    parser = argparse.ArgumentParser(description=__doc__)
    # With these two options the script is the traced process that it starts itself.
    parser.add_argument("--package", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.output is not None:
        run_traced_fit(arguments.package, arguments.output)
        return
    modules = find_modules()
    print("\n".join(modules))
    print(f"{len(modules)} modules")


if __name__ == "__main__":
    main()
