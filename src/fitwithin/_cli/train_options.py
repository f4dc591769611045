"""What a user orders from fitwithin train, looked at before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from sklearn.metrics import get_scorer_names

from fitwithin._cli.options import did_you_mean, learner_of, one_of
from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._estimator import TEACHERS
from fitwithin._tabular import Task
from fitwithin._tabular.files import DataFile, open_data, refuse_existing


@dataclass(frozen=True)
class Order:
    """The options of fitwithin train, by the names that they have there.

    Parameters
    ----------
    data, test, out, report : Path
        Files.
    target, learner, teacher, scoring, task : str
        Names.
    seconds : float
        The limit.
    seed, max_classes, jobs : int
        Numbers.
    includes_reading, by_pickle, force : bool
        Whether the limit covers reading; whether to store by pickle; whether to replace files.
    """

    data: Path
    target: str | None
    seconds: float
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
    includes_reading: bool
    by_pickle: bool
    force: bool

    def checked(self) -> tuple[DataFile, DataFile | None, str]:
        """The files, and the column to learn, if all is as it should be.

        Raises
        ------
        UserInputError
            If something is wrong that can be known without reading the data.
        """
        one_of("--task", self.task, ("auto", "classification", "regression"))
        one_of("--teacher", self.teacher, TEACHERS)
        if self.jobs == 0:
            raise UserInputError(
                "--jobs 0 leaves the learner no core.", "Use a number of cores, or -1 for all of them."
            )
        if self.scoring is not None:
            one_of("--scoring", self.scoring, get_scorer_names())
        # Whether it can be made at all; whether for classes or for values is seen later.
        learner_of(self.learner, regression=False, jobs=self.jobs)
        data = open_data(self.data)
        names = data.names()
        target = _target(data, names, self.target)
        test = None if self.test is None else open_data(self.test)
        if test is not None and target not in test.names():
            hint = did_you_mean(target, test.names(), "Rename it there.")
            raise UserInputError(f"{self.test} has no column {target!r}.", hint)
        self._refuse_one_file_for_two()
        for path in filter(None, (self.out, self.report)):
            refuse_existing(path, force=self.force)
        return data, test, target

    def _refuse_one_file_for_two(self) -> None:
        """With --force the data would be lost, and a report would replace the model."""
        taken = {path.resolve() for path in (self.data, self.test) if path is not None}
        for path in filter(None, (self.out, self.report)):
            if path.resolve() in taken:
                raise UserInputError(
                    f"{path} is named twice.", "Data, model and report are different files: rename one."
                )
            taken.add(path.resolve())

    @property
    def known_task(self) -> Task | None:
        """The task, if the user says it."""
        return None if self.task == "auto" else cast(Literal["classification", "regression"], self.task)


def _target(data: DataFile, names: list[str], wanted: str | None) -> str:
    if wanted is None and len(names) == 1:
        # Of a matrix and one column there is no doubt which is to be learned.
        return names[0]
    shown = join_names(names, 20)
    if wanted is None:
        raise UserInputError("Which column is to be learned?", f"Say so with --target; {data.path} has {shown}.")
    if wanted not in names:
        raise UserInputError(
            f"{data.path} has no column {wanted!r}.", did_you_mean(wanted, names, f"Its columns: {shown}.")
        )
    return wanted
