"""A learner with settings of its own, one of several in a session that searches for the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitwithin._core.cost import Outlook


@dataclass(frozen=True, eq=False)
class Candidate:
    """A learner with settings of its own.

    Parameters
    ----------
    number : int
        0 for the first one, which has the learner's own settings; only a clearly better one takes its place.
    estimator : estimator
        The learner, not fitted.
    outlook : Outlook
        Predicts its lessons and exams, and learns from them.
    """

    number: int
    estimator: Any
    outlook: Outlook
