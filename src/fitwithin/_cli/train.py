"""fitwithin train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitwithin._cli.early_checks import validate_data_exists, validate_names
from fitwithin._cli.errors import report_errors, require_libraries, sigterm_as_interrupt
from fitwithin._cli.options import (
    DebugOption,
    ForceOption,
    JsonOption,
    parse_limits,
)
from fitwithin._core.preset_table import CLASSIFIERS

_LISTED_LEARNERS = [name for name in CLASSIFIERS if not name.startswith("sgd")]
"""Learners in the help text; those for the teacher sgd are left out to keep it short."""


def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Training rows: a parquet, feather, CSV (.gz, .bz2, .xz, .zst), .npz or svmlight file, a folder "
            "of parquet or Arrow files, or a pattern such as 'rows/*.parquet'.",
        ),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to predict; not needed for svmlight files.")
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Seconds, or text such as 90s, 15m, 1h30m.", show_default="60s"),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Instead of --time-limit: 06:00 is the next one, or 2026-11-19T06:00. Reading counts.",
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(_LISTED_LEARNERS)}, or package.module:factory for your own; with --search several names, "
            "separated by commas.",
            autocompletion=lambda incomplete: [name for name in CLASSIFIERS if name.startswith(incomplete)],
        ),
    ] = "hist-gradient-boosting",
    search: Annotated[
        bool, typer.Option("--search", help="Search for the best hyperparameters, and the best of several learners.")
    ] = False,
    ensemble: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="With --search, a vote of at most N models if it is better than one."),
    ] = 0,
    predict_time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --search, most time for the prediction of one row, such as 50us."),
    ] = None,
    teacher: Annotated[
        str, typer.Option(help="How training rows are chosen: auto, tct, double, osct, tct_al, sgd or full.")
    ] = "auto",
    scoring: Annotated[
        str | None,
        typer.Option(
            help="The score to maximise: a scorer of scikit-learn; by default accuracy, or r2 for regression."
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Other rows to test the model on, with the same columns.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The model file to write.")] = Path("model.skops"),
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An HTML report to write, such as report.html.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Seed of every random choice, including the learner's."),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="classification, regression or auto. With auto, text, booleans, dates and up to 100 different whole "
            "numbers are classes.",
        ),
    ] = "auto",
    max_classes: Annotated[int, typer.Option(min=2, help="Refuse a target column with more classes.")] = 1000,
    jobs: Annotated[
        int, typer.Option(min=-1, help="Cores for the learner; with --search, fits at the same time; -1 for all cores.")
    ] = -1,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory that the learner may take: 8GB, 512MiB, or 50% of the machine or container."
        ),
    ] = None,
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for a temporary copy of the rows of parquet or Arrow files that are larger than memory; by "
            "default the system's temporary folder.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Store the training in this folder while it runs; the same command resumes it."
        ),
    ] = None,
    experience: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep what this training cost and scored in this file; the next one begins with it."
        ),
    ] = None,
    validation: Annotated[
        str,
        typer.Option(
            metavar="ROWS",
            help="Rows that are held out to choose and score the model: random, or last for a file in time order.",
        ),
    ] = "random",
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Keep rows with the same value in this column together: all for training, or all held out. The column "
            "is not a feature then.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of texts, whose words are features. May be given several times."),
    ] = None,
    limit_includes_reading: Annotated[
        bool,
        typer.Option("--limit-includes-reading", help="Let the time limit cover reading and encoding the file too."),
    ] = False,
    unsafe_pickle: Annotated[
        bool,
        typer.Option(
            "--unsafe-pickle",
            help="Store the model by pickle. This happens anyway, with a note, if skops can't store the learner.",
        ),
    ] = False,
    force: ForceOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Train on a file within the time limit, and store the best model.

    Parquet and Arrow files may be larger than memory: they are then read in parts, as folders and patterns always are.

    Ctrl-C or SIGTERM stops the training at once, and stores the best model so far.

    Exit codes: 0 a model, 2 wrong usage, 3 no model in time or memory, 130 interrupted before there was a model,
    1 other errors.

    Example: fitwithin train rows.parquet --target label --time-limit 15m --learner lightgbm --out model.skops

    Example: fitwithin train rows.parquet --target label --time-limit 15m --search --learner lightgbm,random-forest
    """
    options = locals()
    with report_errors(debug=debug), sigterm_as_interrupt():
        require_libraries("pandas", "pyarrow", "skops", *(["matplotlib"] if report is not None else []))
        limits = parse_limits(time_limit, until, memory_limit)
        validate_names(task=task, teacher=teacher, validation=validation, learners=learner.split(","))
        validate_data_exists(data, test)
        from fitwithin._cli.train_options import TrainOptions
        from fitwithin._cli.train_run import run_training

        options["text"] = text or []
        limits["limit_includes_reading"] = limit_includes_reading or until is not None
        run_training(TrainOptions(**{**options, **limits}))
