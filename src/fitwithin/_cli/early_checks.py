"""Checks that need no large library, so that a wrong word is reported at once."""

from __future__ import annotations

from pathlib import Path

from fitwithin._core.exceptions import UserInputError, closest_match

# Characters of a pattern, which stands for the files that it matches.
_PATTERN_CHARACTERS = "*?["


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
