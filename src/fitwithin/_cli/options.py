"""Options that more than one command has, and what their texts mean."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from fitwithin._core.budget import parse_time_limit
from fitwithin._core.exceptions import UserInputError, closest_match
from fitwithin._presets import CLASSIFIERS, REGRESSORS, make_preset

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if something goes wrong.")]


Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


Trust = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A type that the model file may hold, for a learner of your own. Repeatable."),
]


UnsafePickle = Annotated[
    bool, typer.Option("--unsafe-pickle", help="Allow pickle, which can run any program when a file is opened.")
]


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fitwithin train wrote.", show_default=False)]


def limit_of(text: str) -> float:
    """A time limit off the command line, where a plain number is text too.

    Raises
    ------
    UserInputError
        If it says no time.

    Examples
    --------
    >>> limit_of("15m"), limit_of("2.5")
    (900.0, 2.5)
    """
    number: str | float = text
    with contextlib.suppress(ValueError):
        number = float(text)
    try:
        return parse_time_limit(number)
    except ValueError as error:
        raise UserInputError(
            f"--time-limit must be positive, such as 20, 2.5, 90s, 15m or 1h30m; got {text!r}."
        ) from error


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """The known word that was probably meant, as a question; or something else to say.

    Examples
    --------
    >>> did_you_mean("lightgbn", ["lightgbm", "xgboost"], "It may be lightgbm or xgboost.")
    'Did you mean lightgbm?'
    """
    near = closest_match(word, known)
    return otherwise if near is None else f"Did you mean {near}?"


def one_of(option: str, word: str, known: Iterable[str]) -> str:
    """A word that must be one of join_names.

    Raises
    ------
    UserInputError
        If it is not.
    """
    known = list(known)
    if word in known:
        return word
    raise UserInputError(f"{option} {word} is unknown.", did_you_mean(word, known, f"It may be {', '.join(known)}."))


def learner_of(name: str, *, regression: bool, jobs: int = -1) -> Any:
    """A learner by its name, or from a factory of the user's own.

    Parameters
    ----------
    name : str
        One of the presets, or ``package.module:factory``.
    regression : bool
        Whether a regressor is wanted.
    jobs : int, default=-1
        Cores that a preset may use; -1 for all.

    Raises
    ------
    UserInputError
        If there is no such learner.

    Examples
    --------
    >>> learner_of("decision-tree", regression=True)
    DecisionTreeRegressor(max_depth=5, min_samples_split=30)
    """
    if ":" in name:
        return _made_by(name)
    one_of("--learner", name, {**CLASSIFIERS, **REGRESSORS})
    if regression:
        one_of("For values, --learner", name, REGRESSORS)
    try:
        learner = make_preset(name, regression=regression)
    except ImportError as error:
        sentence, _, command = str(error).partition(": ")
        raise UserInputError(f"{sentence}.", command) from error
    cores = [
        key for key, value in learner.get_params().items() if key.endswith(("n_jobs", "thread_count")) and value == 1
    ]
    return learner.set_params(**dict.fromkeys(cores, jobs)) if cores else learner


def look_here() -> None:
    """Let modules be found where the user is, as python -m does and an installed command does not."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _made_by(name: str) -> Any:
    """What a factory makes."""
    module, _, factory = name.partition(":")
    look_here()
    try:
        made = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserInputError(
            f"--learner {name} can't be made: {' '.join(str(error).split())}.",
            "It is package.module:factory, a function or class that is called without arguments.",
        ) from error
    if not callable(getattr(made, "fit", None)) or not callable(getattr(made, "predict", None)):
        raise UserInputError(f"--learner {name} makes a {type(made).__name__}, which has no fit and predict.")
    return made
