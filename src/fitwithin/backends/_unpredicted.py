"""Rows that a model cannot predict, such as those with a category that its training rows did not have."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.records import Mask
from fitwithin._core.target import Array
from fitwithin._pools.tables import list_columns, take_rows

_MAX_LENGTH = 300
"""Characters of an error that are repeated in a warning."""

_MAX_CALLS = 256
"""Calls of a model to find these rows; one takes a few milliseconds. What is not predicted then counts among them."""


@dataclass(frozen=True, eq=False)
class Unpredicted:
    """The rows of an exam that a model could not predict.

    Parameters
    ----------
    mask : array of bool
        One value for each row of the exam.
    reason : str
        The model's error, and what can be done about it.
    """

    mask: Mask
    reason: str


def predict_in_parts(
    model: Any, predict: Callable[[Any], Any], X: Any, n_rows: int, error: Exception
) -> tuple[Array, Unpredicted]:
    """Return a model's answers for those of its rows that it can predict, and the other rows.

    Parameters
    ----------
    model : estimator
        A fitted model.
    predict : callable
        Its method.
    X : table of n_rows
        All rows.
    error : Exception
        What the method raised for them; it is raised again if the model can predict no row.
    """
    encoder, unknown = _find_unknown_values(error, n_rows)
    found = list(_predict_in_halves(predict, X, np.flatnonzero(~unknown)))
    if not found:
        raise error
    mask = np.ones(n_rows, np.bool_)
    answers = np.repeat(np.asarray(found[0][1])[:1], n_rows, axis=0)
    for part, values in found:
        mask[part], answers[part] = False, values
    return answers, Unpredicted(mask, _describe(model, error, encoder))


def _find_unknown_values(error: Exception, n_rows: int) -> tuple[Any, Mask]:
    """Return the encoder that raised an error, or None, and the rows whose values it does not know."""
    encoder, unknown = None, np.zeros(n_rows, np.bool_)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        part, X = frame.f_locals.get("self"), frame.f_locals.get("X")
        if getattr(part, "handle_unknown", None) != "error":
            continue
        encoder, categories = part, getattr(part, "categories_", None)
        if categories is not None and getattr(X, "shape", ()) == (n_rows, len(categories)):
            for column, known in zip(list_columns(X), map(set, map(np.ndarray.tolist, categories)), strict=True):
                unknown |= [value not in known and value == value for value in column]
    return encoder, unknown


def _predict_in_halves(predict: Callable[[Any], Any], X: Any, rows: Array) -> Iterator[tuple[Array, Any]]:
    """Yield the rows that can be predicted, in parts, with their answers."""
    waiting = [rows]
    for _ in range(_MAX_CALLS):
        if not waiting:
            return
        part = waiting.pop()
        try:
            yield part, predict(take_rows(X, part))
        except (ValueError, KeyError):
            middle = len(part) // 2
            waiting += [part[middle:], part[:middle]] if middle else []


def _describe(model: Any, error: Exception, encoder: Any) -> str:
    """Return an error of a model; of an encoder its step, its column and what to set."""
    message = " ".join(str(error).split())
    if encoder is None:
        return f"{type(error).__name__}: {message[:_MAX_LENGTH]}"
    number = re.search(r"in column (\d+)", message)
    names = getattr(encoder, "feature_names_in_", None)
    column = "" if number is None else f" in column {int(number[1]) if names is None else names[int(number[1])]!r}"
    step = next((path for path, part in _list_parts(model) if part is encoder), type(encoder).__name__)
    setting = 'handle_unknown="ignore"'
    if type(encoder).__name__ == "OrdinalEncoder":
        setting = 'handle_unknown="use_encoded_value", unknown_value=-1'
    return f"The step {step!r} was not fitted on every value{column}: set {setting} there."


def _list_parts(model: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the estimators inside of a fitted one, with their names as in `set_params`."""
    for name, value in vars(model).items() if hasattr(model, "__dict__") else ():
        is_list = isinstance(value, list)
        steps = [step[:2] for step in value if isinstance(step, tuple) and len(step) > 1] if is_list else []
        for key, part in steps or [(name.strip("_"), value)]:
            if hasattr(part, "get_params") and not isinstance(part, type):
                yield f"{path}{key}", part
                yield from _list_parts(part, f"{path}{key}__")
