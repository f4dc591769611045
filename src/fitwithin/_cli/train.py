"""fitwithin train."""

import signal
from functools import wraps
from typing import Any

from fitwithin._cli.errors import handle_signal, report_errors
from fitwithin._cli.options import parse_limits, validate_data_exists
from fitwithin._cli.train_options import TrainOptions
from fitwithin._core.install_command import require_libraries


# typer takes the options from the fields of what is wrapped. It would not find the names of annotations that are text.
@wraps(TrainOptions, assigned=(), updated=())
def train(**options: Any) -> None:
    """Train on a file within the time limit, and store the best model.

    Parquet and Arrow files may be larger than memory: they are then read in parts, as folders and patterns always are.

    Ctrl-C or SIGTERM stops the training at once, and stores the best model so far.

    Exit codes: 0 a model, 2 wrong usage, 3 no model in time or memory, 130 interrupted before there was a model,
    1 other errors.

    Example: fitwithin train rows.parquet --target label --time-limit 15m --learner lightgbm --out model.skops

    Example: fitwithin train rows.parquet --target label --time-limit 15m --search --learner lightgbm,random-forest
    """
    given = TrainOptions(**options)
    # Schedulers stop a job by SIGTERM.
    with report_errors(debug=given.debug), handle_signal(signal.SIGTERM, signal.default_int_handler):
        for_report = [] if given.report is None else ["matplotlib"]
        require_libraries("This command", "pandas", "pyarrow", "skops", *for_report)
        limits = parse_limits(given.time_limit, given.until, given.memory_limit)
        given.validate_words()
        validate_data_exists(given.data, given.test)
        from fitwithin._cli.train_run import run_training

        run_training(given, limits)
