"""Options of more than one command, and the conversion of their values."""

from __future__ import annotations

import contextlib
import glob
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.exceptions import UserInputError, closest_match, suggest_path
from fitwithin._core.memory_limit import parse_memory_limit
from fitwithin._core.preset_table import REGRESSORS

LimitT = TypeVar("LimitT", int, float)


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


ModelArgument = Annotated[
    Path,
    typer.Argument(
        exists=True, metavar="MODEL", help="A file or a checkpoint that fitwithin train wrote.", show_default=False
    ),
]


def parse_limit(option: str, parse: Callable[[Any], LimitT], value: str | datetime) -> LimitT:
    """Return a limit that an option gives, where a plain number is text too.

    Parameters
    ----------
    option : str
        Its name, for errors.
    parse : callable
        Reads the limit; its errors begin with the name of a parameter.
    value : str or datetime
        What the user wrote.

    Raises
    ------
    UserInputError
        If it is no limit.

    Examples
    --------
    >>> parse_limit("--time-limit", parse_time_limit, "15m"), parse_limit("--time-limit", parse_time_limit, "2.5")
    (900.0, 2.5)
    """
    number: Any = value
    with contextlib.suppress(TypeError, ValueError):
        number = float(number)
    try:
        return parse(number)
    except ValueError as error:
        reason = str(error).partition(" ")[2].replace(f"got {number!r}", f"got {value!r}")
        raise UserInputError(f"{option} {reason}") from error


def parse_until_option(text: str, now: datetime | None = None) -> datetime:
    """Return the next time of day, or the date and time, that a text gives.

    Raises
    ------
    UserInputError
        If the text is neither.

    Examples
    --------
    >>> evening = datetime(2026, 11, 18, 22, 30)
    >>> parse_until_option("06:00", evening), parse_until_option("23:15", evening)
    (datetime.datetime(2026, 11, 19, 6, 0), datetime.datetime(2026, 11, 18, 23, 15))
    """
    now = now or datetime.now()  # the user's own clock
    with contextlib.suppress(ValueError):
        clock = time.fromisoformat(text)
        now = now.astimezone(clock.tzinfo) if clock.tzinfo else now
        today = datetime.combine(now.date(), clock)
        return today if today > now else today + timedelta(days=1)
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise UserInputError(f"--until must be a time such as 06:00 or 2026-11-19T06:00; got {text!r}.") from error


@dataclass(frozen=True)
class Limits:
    """The limits of a training.

    Parameters
    ----------
    seconds : float
        The time limit.
    until : datetime or None
        Its end, if the user named a point in time.
    n_bytes : int or None
        The memory limit.
    """

    seconds: float
    until: datetime | None
    n_bytes: int | None


def parse_limits(time_limit: str | None, until: str | None, memory_limit: str | None) -> Limits:
    """Return the limits that the options of a training give.

    Raises
    ------
    UserInputError
        If one cannot be read, or there are two limits of time.
    """
    n_bytes = None if memory_limit is None else parse_limit("--memory-limit", parse_memory_limit, memory_limit)
    if until is None:
        return Limits(parse_limit("--time-limit", parse_time_limit, time_limit or "60s"), None, n_bytes)
    if time_limit is not None:
        raise UserInputError("--time-limit and --until both limit the time.", "Leave out one of them.")
    point = parse_until_option(until)
    return Limits(parse_limit("--until", parse_time_limit, point), point, n_bytes)


def validate_choice(option: str, word: str, known: Iterable[str]) -> None:
    """Check that the value of an option is one of the known names.

    Raises
    ------
    UserInputError
        If it is not; suggests the closest name.
    """
    known = list(known)
    if word not in known:
        closest = closest_match(word, known)
        hint = f"Did you mean {closest}?" if closest else f"Use {', '.join(known)}."
        raise UserInputError(f"{option} {word} is unknown.", hint)


def validate_data_exists(*paths: Path | None) -> None:
    """Check that data files or folders exist, if they are not patterns.

    Raises
    ------
    UserInputError
        If one does not; suggests the closest name in its folder.
    """
    for path in paths:
        if path is not None and not path.exists() and not glob.has_magic(str(path)):
            raise UserInputError(f"There is no file {path}.", suggest_path(path))


def make_learner(name: str, *, regression: bool, jobs: int = -1) -> Any:
    """Return an unfitted learner by its name, or from a factory of the user's own.

    Parameters
    ----------
    name : str
        A preset, or ``package.module:factory``.
    regression : bool
        Whether a regressor is wanted.
    jobs : int, default=-1
        Threads of a preset; -1 for one for each core.

    Raises
    ------
    UserInputError
        If there is no such learner.

    Examples
    --------
    >>> make_learner("decision-tree", regression=True)
    DecisionTreeRegressor(min_samples_leaf=20)
    """
    if ":" in name:
        return _call_factory(name)
    if regression:
        validate_choice("For regression, --learner", name, REGRESSORS)
    from fitwithin._presets import make_preset

    return make_preset(name, regression=regression, n_jobs=jobs)


def add_working_directory_to_path() -> None:
    """Let modules in the working directory be imported, as with python -m; an installed command does not do that."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _call_factory(name: str) -> Any:
    add_working_directory_to_path()
    try:
        learner = pkgutil.resolve_name(name)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserInputError(
            f"--learner {name} can't be created: {' '.join(str(error).split())}.",
            "Use package.module:factory, with a function or class that needs no arguments.",
        ) from error
    if not callable(getattr(learner, "fit", None)) or not callable(getattr(learner, "predict", None)):
        raise UserInputError(
            f"--learner {name} returns a {type(learner).__name__}, which has no fit and predict.",
            "Return a classifier or regressor of the scikit-learn kind.",
        )
    return learner
