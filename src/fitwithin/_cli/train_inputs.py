"""The files of fitwithin train, opened and checked before the data is read; its learners, checked before the fit."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer_names

from fitwithin._cli.options import make_learner, validate_choice
from fitwithin._cli.train_options import TrainOptions
from fitwithin._core.exceptions import MAX_COLUMN_NAMES, UserInputError, join_names
from fitwithin._session.checkpoint_folder import validate_checkpoint_path
from fitwithin._session.inputs.fit_arguments import validate_teacher
from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.output_file import validate_output_path
from fitwithin._tabular.files.reader import open_data_file
from fitwithin._tabular.target_column import TargetColumn
from fitwithin.teachers._registry import TEACHERS


def open_inputs(options: TrainOptions) -> tuple[DataFile, DataFile | None, str]:
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
    if options.scoring is not None:
        validate_choice("--scoring", options.scoring, get_scorer_names())
    # Only whether they can be created; the task is not known yet.
    make_learners(options, regression=False)
    data = open_data_file(options.data, in_blocks=options.spool is not None)
    if data.in_blocks and options.groups is not None:
        raise UserInputError(
            f"{options.data} is read in parts, in random order, and --groups does not work with that.",
            "Leave out --groups: validation rows are then chosen at random.",
        )
    target = _find_target(data, options.target)
    for option, names in (("--text", options.text), ("--groups", [] if options.groups is None else [options.groups])):
        data.require_columns(names)
        if target in names:
            raise UserInputError(
                f"{target!r} is named by both --target and {option}.", f"Name another column with {option}."
            )
    test = None if options.test is None else open_data_file(options.test)
    if test is not None:
        test.require_columns([target])
    _validate_paths(options)
    return data, test, target


def _find_target(data: DataFile, wanted: str | None) -> str:
    names = data.column_names()
    if wanted is None and len(names) == 1:
        # A matrix with one named column: that column is the target.
        return names[0]
    if wanted is None:
        listed = join_names(names, MAX_COLUMN_NAMES)
        raise UserInputError("Which column is the target?", f"Name it with --target; {data.path} has {listed}.")
    data.require_columns([wanted])
    return wanted


def _validate_paths(options: TrainOptions) -> None:
    """Check the output files, which must differ from each other and from the data, even with --force."""
    files = [path for path in (options.out, options.report) if path is not None]
    taken = {path.resolve() for path in (options.data, options.test) if path is not None}
    for path in (*files, options.checkpoint, options.experience):
        if path is None:
            continue
        if path.resolve() in taken:
            raise UserInputError(
                f"{path} is named twice; data, model, report, checkpoint and experience must be different files.",
                "Rename one of them.",
            )
        taken.add(path.resolve())
    for path in files:
        validate_output_path(path, force=options.force)
    if options.checkpoint is not None:
        validate_checkpoint_path(options.checkpoint.absolute())


def make_learners(options: TrainOptions, *, regression: bool) -> list[Any]:
    """Return the learners, not fitted.

    Raises
    ------
    UserInputError
        If there is no learner of that name.
    """
    return [make_learner(name, regression=regression, jobs=options.jobs) for name in options.learner_names]


def validate_learner(learner: Any, teacher: str, X: Any, target: TargetColumn) -> None:
    """Check that a learner fits the task, the teacher and the matrix.

    Raises
    ------
    UserInputError
        If it does not.
    """
    if is_classifier(learner) if target.is_regression else is_regressor(learner):
        kind, other_task = ("classifier", "classification") if target.is_regression else ("regressor", "regression")
        raise UserInputError(
            f"{type(learner).__name__} is a {kind}, but the task for {target.name!r} is {target.task}.",
            f"Choose another --learner, or use --task {other_task}.",
        )
    try:
        validate_teacher(TEACHERS[teacher](), learner, regression=target.is_regression)
    except (TypeError, ValueError) as error:
        raise UserInputError(str(error)) from error
    # By its name: older versions of scikit-learn have no tag for learners that take sparse rows.
    if hasattr(X, "tocsr") and type(learner).__name__.startswith("HistGradientBoosting"):
        raise UserInputError(
            f"The encoded rows are sparse rows, which {type(learner).__name__} does not take.",
            "Use --learner lightgbm, random-forest or logistic-regression instead.",
        )
