"""How a session ended: with a model and its story, or with a word on why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import NoModelInTime
from fitwithin._core.records import Estimate, Round, Rows, StopReason

# With less than this a first fit, which starts a process, has no chance.
_SHORT = 5.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a session leaves behind.

    Parameters
    ----------
    model : estimator
        The fitted learner.
    history : list of Round
        Every finished round.
    stop_reason : str
        Why the session ended.
    rows : int
        Rows behind the model.
    estimate : Estimate or None
        Its score on rows never taught and never examined before; None without such an exam.
    by_class : array of int or None
        The rows behind the model, class by class; None without classes.
    """

    model: Any
    history: list[Round]
    stop_reason: StopReason
    rows: int
    estimate: Estimate | None
    by_class: Rows | None


def nothing_to_show(budget: Budget, rounds: int, doing: str) -> NoModelInTime:
    """Why there is no model after so many rounds, and what may help; to be raised.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> budget = Budget(10, clock=clock)
    >>> clock.advance(10)
    >>> print(nothing_to_show(budget, 0, "it was still starting").sentence)
    No model within the limit of 10 s: after 10.00 s it was still starting. A limit of 20 s or more may do.
    """
    if rounds and not budget.spent:
        return NoModelInTime(
            f"{rounds} models were trained and none of them sat an exam, so none could be chosen.",
            "A teacher that returns its best model must yield Exam(rows); or it sets returns = 'last'.",
        )
    elapsed = budget.elapsed()
    return NoModelInTime(
        f"No model within the limit of {budget.seconds:g} s: after {elapsed:.2f} s {doing}. "
        f"A limit of {max(_SHORT, _round_up(2 * elapsed)):g} s or more may do.",
        "Or teach fewer rows first, for example teacher=TCT(first=100).",
    )


def _round_up(seconds: float) -> float:
    """To two figures, which is all that is known."""
    step = 10.0 ** (math.floor(math.log10(max(seconds, 1e-3))) - 1)
    return math.ceil(seconds / step) * step
