"""Positive quantities, as users write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any


def read_quantity(
    value: Any, read_text: Callable[[str], float | None], name: str, accepted: str, *, least: float = math.ulp(0.0)
) -> float:
    """Return a number or a text as a positive, finite number.

    Parameters
    ----------
    value : object
        What the user wrote.
    read_text : callable
        Reads a text, which comes stripped and in lower case.
    name, accepted : str
        The parameter, and what it may be, for an error.
    least : float, optional
        The smallest quantity.

    Raises
    ------
    ValueError
        If it is anything else.

    Examples
    --------
    >>> read_quantity(2, float, "speed", "km/h"), read_quantity(" 2.5", float, "speed", "km/h")
    (2.0, 2.5)
    """
    number = None
    if isinstance(value, str):
        number = read_text(value.strip().lower())
    elif isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    if number is None or not least <= number < math.inf:
        raise ValueError(f"{name} must be positive and finite: {accepted}; got {value!r}.")
    return number
