"""What the command lines of several benchmarks share: the folder of data sets, and one thread a learner."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# Variables that set the number of threads of each learner.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_DATA_VARIABLE = "FITWITHIN_DATA"


def add_data_option(parser: argparse.ArgumentParser, content: str = "folder of parquet files") -> None:
    """Add the option --data, whose default is an environment variable."""
    default = os.environ.get(_DATA_VARIABLE)
    help_text = f"{content}; default: the environment variable {_DATA_VARIABLE}"
    parser.add_argument("--data", type=Path, default=default, help=help_text)


def require_data(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Exit with an error if neither the option --data nor its environment variable is given."""
    if arguments.data is None:
        parser.error(f"got no data sets; pass --data FOLDER or set the environment variable {_DATA_VARIABLE}")


def use_one_thread() -> None:
    """Give each learner one thread, whatever it asks for; learners' processes that start later read these variables."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
