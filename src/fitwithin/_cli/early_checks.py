"""Checks that need no large library, so that a wrong word is reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fitwithin._cli.options import validate_choice, validate_learner_name
from fitwithin._core.exceptions import UserInputError, closest_match

TASK_NAMES = ("auto", "classification", "regression")
"""Values of --task."""

TEACHER_NAMES = ("auto", "tct", "double", "osct", "tct_al", "sgd", "full")
"""Values of --teacher."""

VALIDATION_NAMES = ("random", "last")
"""Values of --validation."""

# Characters of a pattern, which stands for the files that it matches.
_PATTERN_CHARACTERS = "*?["


def validate_names(*, task: str, teacher: str, validation: str, learners: Iterable[str]) -> None:
    """Check the names on the command line, whatever the data.

    Raises
    ------
    UserInputError
        If one is unknown; suggests the closest name.
    """
    validate_choice("--task", task, TASK_NAMES)
    validate_choice("--teacher", teacher, TEACHER_NAMES)
    validate_choice("--validation", validation, VALIDATION_NAMES)
    for name in learners:
        validate_learner_name(name.strip())


def validate_data_exists(*paths: Path | None) -> None:
    """Check that data files or folders exist, if they are not patterns.

    Raises
    ------
    UserInputError
        If one does not; suggests the closest name in its folder.
    """
    for path in paths:
        if path is not None and not path.exists() and not set(_PATTERN_CHARACTERS) & set(str(path)):
            raise UserInputError(f"There is no file {path}.", _suggest_file(path))


def validate_model_exists(path: Path) -> None:
    """Check that a model file exists.

    Raises
    ------
    UserInputError
        If it does not.
    """
    if not path.exists():
        raise UserInputError(f"There is no model file {path}.", "Create one: fitwithin train DATA --target COLUMN")


def _suggest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either."
    closest = closest_match(path.name, sorted(entry.name for entry in path.parent.iterdir() if entry.is_file()))
    return f"Did you mean {path.parent / closest}?" if closest else "Check the path."
