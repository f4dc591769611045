"""The options of fitwithin train, declared once: typer makes the command line from the fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from fitwithin._cli.options import DebugOption, ForceOption, JsonOption, validate_choice
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.preset_table import CLASSIFIERS

_LISTED_LEARNERS = [name for name in CLASSIFIERS if not name.startswith("sgd")]
"""Learners in the help text; those for the teacher sgd are left out to keep it short."""

TASK_NAMES = ("auto", "classification", "regression")
"""Values of --task."""

TEACHER_NAMES = ("auto", "tct", "double", "osct", "tct_al", "sgd", "full")
"""Values of --teacher."""

VALIDATION_NAMES = ("random", "last")
"""Values of --validation."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of fitwithin train, as the user wrote them; see the help of each."""

    data: Path = typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Training rows: a parquet, feather, CSV (.gz, .bz2, .xz, .zst), .npz or svmlight file, a folder "
        "of parquet or Arrow files, or a pattern such as 'rows/*.parquet'.",
    )
    target: str | None = typer.Option(
        None, metavar="COLUMN", help="The column to predict; not needed for svmlight files."
    )
    time_limit: str | None = typer.Option(
        None, metavar="TIME", help="Seconds, or text such as 90s, 15m, 1h30m.", show_default="60s"
    )
    until: str | None = typer.Option(
        None,
        metavar="TIME",
        help="Instead of --time-limit: 06:00 is the next one, or 2026-11-19T06:00. Reading counts.",
    )
    learner: str = typer.Option(
        "hist-gradient-boosting",
        metavar="NAME",
        help=f"{', '.join(_LISTED_LEARNERS)}, or package.module:factory for your own; with --search several names, "
        "separated by commas.",
        autocompletion=lambda incomplete: [name for name in CLASSIFIERS if name.startswith(incomplete)],
    )
    search: bool = typer.Option(
        False, "--search", help="Search for the best hyperparameters, and the best of several learners."
    )
    ensemble: int = typer.Option(
        0, metavar="N", min=0, help="With --search, a vote of at most N models if it is better than one."
    )
    predict_time_limit: str | None = typer.Option(
        None, metavar="TIME", help="With --search, most time for the prediction of one row, such as 50us."
    )
    teacher: str = typer.Option(
        "auto", help="How training rows are chosen: auto, tct, double, osct, tct_al, sgd or full."
    )
    scoring: str | None = typer.Option(
        None, help="The score to maximise: a scorer of scikit-learn; by default accuracy, or r2 for regression."
    )
    test: Path | None = typer.Option(
        None, metavar="FILE", help="Other rows to test the model on, with the same columns."
    )
    out: Path = typer.Option(Path("model.skops"), metavar="FILE", help="The model file to write.")
    report: Path | None = typer.Option(None, metavar="FILE", help="An HTML report to write, such as report.html.")
    seed: int | None = typer.Option(
        None, min=0, max=2**32 - 1, help="Seed of every random choice, including the learner's."
    )
    task: str = typer.Option(
        "auto",
        help="classification, regression or auto. With auto, text, booleans, dates and up to 100 different whole "
        "numbers are classes.",
    )
    max_classes: int = typer.Option(1000, min=2, help="Refuse a target column with more classes.")
    jobs: int = typer.Option(
        -1, min=-1, help="Cores for the learner; with --search, fits at the same time; -1 for all cores."
    )
    memory_limit: str | None = typer.Option(
        None, metavar="SIZE", help="Memory that the learner may take: 8GB, 512MiB, or 50% of the machine or container."
    )
    spool: Path | None = typer.Option(
        None,
        exists=True,
        file_okay=False,
        metavar="FOLDER",
        help="Folder for a temporary copy of the rows of parquet or Arrow files that are larger than memory; by "
        "default the system's temporary folder.",
    )
    checkpoint: Path | None = typer.Option(
        None, metavar="FOLDER", help="Store the training in this folder while it runs; the same command resumes it."
    )
    experience: Path | None = typer.Option(
        None, metavar="FILE", help="Keep what this training cost and scored in this file; the next one begins with it."
    )
    validation: str = typer.Option(
        "random",
        metavar="ROWS",
        help="Rows that are held out to choose and score the model: random, or last for a file in time order.",
    )
    groups: str | None = typer.Option(
        None,
        metavar="COLUMN",
        help="Keep rows with the same value in this column together: all for training, or all held out. The column "
        "is not a feature then.",
    )
    text: list[str] = typer.Option(
        [], metavar="COLUMN", help="A column of texts, whose words are features. May be given several times."
    )
    limit_includes_reading: bool = typer.Option(
        False, "--limit-includes-reading", help="Let the time limit cover reading and encoding the file too."
    )
    unsafe_pickle: bool = typer.Option(
        False,
        "--unsafe-pickle",
        help="Store the model by pickle. This happens anyway, with a note, if skops can't store the learner.",
    )
    force: ForceOption = False
    json: JsonOption = False
    debug: DebugOption = False

    @property
    def learner_names(self) -> list[str]:
        """The learners; without a search there is one."""
        return [name.strip() for name in self.learner.split(",")]

    def validate_words(self) -> None:
        """Check the names, and that the options go together, whatever the data; needs no large library.

        Raises
        ------
        UserInputError
            If an option is wrong.
        """
        validate_choice("--task", self.task, TASK_NAMES)
        validate_choice("--teacher", self.teacher, TEACHER_NAMES)
        validate_choice("--validation", self.validation, VALIDATION_NAMES)
        for name in self.learner_names:
            if ":" not in name:
                validate_choice("--learner", name, CLASSIFIERS)
        if self.validation == "last" and self.groups is not None:
            raise UserInputError(
                "--validation last and --groups both choose the validation rows.", "Leave out one of them."
            )
        if self.jobs == 0:
            raise UserInputError("--jobs 0 leaves no core for the learner.", "Use a number of cores, or -1 for all.")
        if self.search and self.teacher != "auto":
            raise UserInputError("--search chooses the training rows itself.", "Leave out --teacher, or --search.")
        if not self.search:
            self._validate_no_search()

    def _validate_no_search(self) -> None:
        if self.ensemble or self.predict_time_limit is not None:
            option = "--ensemble" if self.ensemble else "--predict-time-limit"
            raise UserInputError(f"{option} is for a search.", f"Add --search, or leave out {option}.")
        if len(self.learner_names) > 1:
            raise UserInputError(
                f"--learner {self.learner} names {len(self.learner_names)} learners, and only --search tries several.",
                "Add --search, or name one learner.",
            )
