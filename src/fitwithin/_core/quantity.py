"""Positive quantities, as users write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any


def read_quantity(value: Any, read_text: Callable[[str], float | None]) -> float | None:
    """Return a number or a text as a positive, finite number; None for anything else.

    Parameters
    ----------
    value : object
        What the user wrote.
    read_text : callable
        Reads a text, which comes stripped and in lower case.

    Examples
    --------
    >>> read_quantity(2, float), read_quantity(" 2.5", float), read_quantity(-1, float)
    (2.0, 2.5, None)
    """
    number = None
    if isinstance(value, str):
        number = read_text(value.strip().lower())
    elif isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    return number if number is not None and 0 < number < math.inf else None
