"""The time limit, as text and other positive quantities are read, and the seconds that are left by one clock."""

from __future__ import annotations

import copy
import math
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from numbers import Real
from typing import Any

Clock = Callable[[], float]
"""A callable that returns seconds and never goes back: `time.monotonic`, a `FakeClock`."""


@dataclass
class Reserves:
    """Seconds that are kept free before a deadline, by their purpose.

    `load` is for saving and loading the best model, which cannot be interrupted; `checkpoint` for the last write of a
    checkpoint; `delay` for delays that no estimate knows of.
    """

    load: float = 0.0
    checkpoint: float = 0.0
    exams: float = 0.0
    delay: float = 0.0
    vote: float = 0.0

    @property
    def total(self) -> float:
        """Seconds for all purposes together."""
        return self.load + self.checkpoint + self.exams + self.delay + self.vote


class Budget:
    """A number of seconds that begins to run when the object is made; its deadline never changes.

    Decisions depend on `clock` alone. `spent` are seconds that earlier calls took of the same limit, and `start` is
    when it began, if not now. To change `seconds` or `spent` would move the deadline.
    """

    def __init__(
        self, seconds: float, clock: Clock = time.monotonic, *, spent: float = 0.0, start: float | None = None
    ) -> None:
        self.seconds = float(seconds)
        self.spent = spent
        self._start = clock() if start is None else start
        self.clock = clock
        self.reserves = Reserves()

    def after(self, seconds: float) -> Budget:
        """Return the same deadline and reserves, as part of a fit whose earlier calls took this many seconds more."""
        later = copy.copy(self)
        later.seconds += seconds
        later.spent += seconds
        return later

    def elapsed(self) -> float:
        """Return the seconds since the budget began, and those that earlier calls spent."""
        return self.spent + self.clock() - self._start

    def until_deadline(self) -> float:
        """Return the seconds until the deadline; negative after it."""
        return self.seconds - self.elapsed()

    def remaining(self) -> float:
        """Return the seconds until the deadline, less the reserved ones; never below zero."""
        return max(0.0, self.until_deadline() - self.reserves.total)

    @property
    def is_spent(self) -> bool:
        """Whether nothing remains."""
        return self.remaining() <= 0.0

    def raise_if_spent(self) -> None:
        """Raise TimeoutError if nothing remains."""
        if self.is_spent:
            raise TimeoutError


class StoppableBudget(Budget):
    """The time that another budget has left, until it is stopped, by any thread."""

    def __init__(self, budget: Budget) -> None:
        self.__dict__.update(vars(budget))
        self.is_stopped = False

    def remaining(self) -> float:
        """Return the seconds until the deadline, or none once this budget was stopped."""
        return 0.0 if self.is_stopped else super().remaining()

    def stop(self) -> None:
        """Let no time remain; the other budget goes on."""
        self.is_stopped = True


TimeLimit = float | str | timedelta | datetime
"""Seconds, a `timedelta`, text such as "90s", "15m", "1h30m", or a point in time."""

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|ms|us|m|s)\s*")

_LONGEST_SECONDS = 3e9
"""Seconds in 95 years; sockets and locks take no timeout of more than 292 years."""

_ACCEPTED = 'seconds (60, 2.5), a timedelta, a datetime in the future, or text such as "90s", "15m", "1h30m"'


def parse_time_limit(time_limit: TimeLimit, now: datetime | None = None) -> float:
    """Return the seconds of a time limit; a datetime without a time zone is local time.

    `now` is the current time, with its zone.

    Examples
    --------
    >>> parse_time_limit("1h30m"), parse_time_limit(2.5)
    (5400.0, 2.5)
    """
    if isinstance(time_limit, datetime) and time_limit == time_limit:  # NaT of pandas does not equal itself
        seconds = _seconds_until(time_limit, now or datetime.now(UTC))
    else:
        is_positive = isinstance(time_limit, timedelta) and time_limit > timedelta(0)
        given = timedelta.total_seconds(time_limit) if is_positive else time_limit  # type: ignore[arg-type]  # checked
        seconds = read_quantity(given, _read_text, "time_limit", _ACCEPTED)
    return min(seconds, _LONGEST_SECONDS)


def parse_row_seconds(limit: float | str) -> float:
    """Return the seconds that the prediction of a row may take."""
    return read_quantity(limit, _read_text, "predict_time_limit", 'seconds a row, such as 0.001, "2ms" or "50us"')


def read_quantity(
    value: Any, read_text: Callable[[str], float | None], name: str, accepted: str, *, least: float = math.ulp(0.0)
) -> float:
    """Return a number or a text as a number that is finite and at least `least`.

    `read_text` reads a text, which comes stripped and in lower case. An error names the parameter and what is accepted.
    """
    number = None
    if isinstance(value, str):
        number = read_text(value.strip().lower())
    elif isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError, TypeError):  # a timedelta64 of numpy counts as real
            number = float(value)
    if number is None or not least <= number < math.inf:
        raise ValueError(f"{name} must be positive and finite: {accepted}; got {value!r}.")
    return number


def _seconds_until(point: datetime, now: datetime) -> float:
    # A Timestamp of pandas is a datetime with another `astimezone`.
    # In another time zone, the first and the last year may be out of range.
    date = point.date().replace(year=min(max(point.year, MINYEAR + 1), MAXYEAR - 1))
    point = datetime.combine(date, point.timetz())
    seconds = (point.astimezone() - now).total_seconds()
    if seconds <= 0:
        here = now.astimezone(point.tzinfo).replace(tzinfo=point.tzinfo)
        wanted, current = (f"{moment:%Y-%m-%d %H:%M:%S}" for moment in (point, here))
        raise ValueError(f"time_limit is {wanted}, but it is {current} now. Give a later time.")
    return seconds


def _read_text(text: str) -> float | None:
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text) or len({unit for _, unit in parts}) < len(parts):
        return None
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
