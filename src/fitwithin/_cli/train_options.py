"""The options of fitwithin train, checked before the data is read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sklearn.metrics import get_scorer_names

from fitwithin._cli.options import make_learner, validate_choice
from fitwithin._core.cores import count_jobs, count_threads
from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._session.checkpoint_folder import validate_checkpoint_path
from fitwithin._tabular.files import DataFile, open_data_file, validate_output_path
from fitwithin._tabular.files.data_set_files import is_file_set, needs_blocks

_MAX_COLUMN_NAMES = 20
"""Columns of the file that an error lists."""


@dataclass(frozen=True)
class TrainOptions:
    """The options of fitwithin train.

    Parameters
    ----------
    data, test, out, report, checkpoint, experience, spool : Path
        Files; the spool is a folder.
    target, learner, teacher, scoring, task, validation, groups : str
        Names.
    time_limit : float
        Seconds.
    until : datetime or None
        The end of the training, if that is a point in time.
    text : list of str
        Columns whose words are features.
    seed, max_classes, jobs : int
        As on the command line.
    ensemble : int
        Most models of a vote.
    predict_time_limit : str or None
        Most time for the prediction of a row.
    memory_limit : int or None
        The memory limit in bytes.
    limit_includes_reading, unsafe_pickle, force, search, json, debug : bool
        Whether the limit covers reading; whether to store by pickle; whether to replace files; whether to search over
        learners and settings; whether to print JSON; whether to print the traceback of an error.
    """

    data: Path
    target: str | None
    time_limit: float
    until: datetime | None
    learner: str
    teacher: str
    scoring: str | None
    test: Path | None
    out: Path
    report: Path | None
    seed: int | None
    task: str
    max_classes: int
    jobs: int
    memory_limit: int | None
    limit_includes_reading: bool
    unsafe_pickle: bool
    force: bool
    checkpoint: Path | None
    experience: Path | None
    validation: str
    groups: str | None
    text: list[str]
    search: bool
    ensemble: int
    predict_time_limit: str | None
    spool: Path | None
    json: bool
    debug: bool

    def validate(self) -> tuple[DataFile, DataFile | None, str]:
        """Check everything that can be checked without reading the data.

        Returns
        -------
        tuple
            The training file or files, those of the test, and the column to predict.

        Raises
        ------
        UserInputError
            If an option, a file or a column is wrong.
        """
        self._validate_names()
        self._validate_spool()
        inputs = self._open_inputs()
        self._validate_paths()
        return inputs

    def _validate_names(self) -> None:
        if self.validation == "last" and self.groups is not None:
            raise UserInputError(
                "--validation last and --groups both choose the validation rows.", "Leave out one of them."
            )
        if self.jobs == 0:
            raise UserInputError("--jobs 0 leaves no core for the learner.", "Use a number of cores, or -1 for all.")
        if self.scoring is not None:
            validate_choice("--scoring", self.scoring, get_scorer_names())
        self._validate_search()
        # Only whether they can be created; the task is not known yet.
        self.make_learners(regression=False)

    def _validate_search(self) -> None:
        names = self.learner_names
        if not self.search and (self.ensemble or self.predict_time_limit is not None):
            option = "--ensemble" if self.ensemble else "--predict-time-limit"
            raise UserInputError(f"{option} is for a search.", f"Add --search, or leave out {option}.")
        if self.search and self.teacher != "auto":
            raise UserInputError("--search chooses the training rows itself.", "Leave out --teacher, or --search.")
        if not self.search and len(names) > 1:
            raise UserInputError(
                f"--learner {self.learner} names {len(names)} learners, and only --search tries several.",
                "Add --search, or name one learner.",
            )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UserInputError(f"--learner {self.learner} names {twice} twice.", "Name it once.")

    def _open_inputs(self) -> tuple[DataFile, DataFile | None, str]:
        data = open_data_file(self.data, in_blocks=self.in_blocks)
        target = _find_target(data, self.target)
        for option, names in (("--text", self.text), ("--groups", [] if self.groups is None else [self.groups])):
            data.require_columns(names)
            if target in names:
                raise UserInputError(
                    f"{target!r} is named by both --target and {option}.", f"Name another column with {option}."
                )
        test = None if self.test is None else open_data_file(self.test, in_blocks=needs_blocks(self.test))
        if test is not None:
            test.require_columns([target])
        return data, test, target

    @property
    def in_blocks(self) -> bool:
        """Whether the rows are read in blocks: several files, more than fits in memory, or a spool is named."""
        return self.spool is not None or is_file_set(self.data) or needs_blocks(self.data)

    def _validate_spool(self) -> None:
        if self.spool is not None and not self.spool.is_dir():
            raise UserInputError(f"There is no folder {self.spool} for --spool.", f"Create it: mkdir -p {self.spool}")
        chosen = "--groups" if self.groups is not None else "--validation last" if self.validation == "last" else None
        if chosen is not None and self.in_blocks:
            raise UserInputError(
                f"{self.data} is read in parts, in random order, and {chosen} does not work with that.",
                f"Leave out {chosen}: validation rows are then chosen at random.",
            )

    def _validate_paths(self) -> None:
        """Check the output files, which must differ from each other and from the data, even with --force."""
        taken = {path.resolve() for path in (self.data, self.test) if path is not None}
        outputs = [path for path in (self.out, self.report) if path is not None]
        checkpoints = [] if self.checkpoint is None else [self.checkpoint]
        for path in outputs + checkpoints + ([] if self.experience is None else [self.experience]):
            if path.resolve() in taken:
                raise UserInputError(
                    f"{path} is named twice; data, model, report, checkpoint and experience must be different files.",
                    "Rename one of them.",
                )
            taken.add(path.resolve())
        for path in outputs:
            validate_output_path(path, force=self.force)
        for path in checkpoints:
            validate_checkpoint_path(path.absolute())

    @property
    def learner_names(self) -> list[str]:
        """The learners; without a search there is one."""
        return [name.strip() for name in self.learner.split(",")]

    def make_learners(self, *, regression: bool) -> list[Any]:
        """Return the learners, not fitted.

        Raises
        ------
        UserInputError
            If there is no learner of that name.
        """
        # In a search the cores are for settings side by side; a fit has threads only if cores are left for them.
        jobs = count_threads(count_jobs(self.jobs)) if self.search else self.jobs
        return [make_learner(name, regression=regression, jobs=jobs) for name in self.learner_names]


def _find_target(data: DataFile, wanted: str | None) -> str:
    names = data.column_names()
    if wanted is None and len(names) == 1:
        # A matrix with one named column: that column is the target.
        return names[0]
    if wanted is None:
        listed = join_names(names, _MAX_COLUMN_NAMES)
        raise UserInputError("Which column is the target?", f"Name it with --target; {data.path} has {listed}.")
    data.require_columns([wanted])
    return wanted
