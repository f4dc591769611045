"""A learner with settings of its own, one of several in a session that searches for the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitwithin._core.cost import CostEstimates


@dataclass(frozen=True, eq=False)
class Candidate:
    """A learner with settings of its own.

    Parameters
    ----------
    number : int
        Its place among all candidates, from 0.
    estimator : estimator
        The learner, not fitted.
    costs : CostEstimates
        Predicts its lessons and exams, and learns from them.
    has_own_settings : bool, default=False
        Whether the learner is as the user gave it. Only a clearly better candidate takes its place.
    """

    number: int
    estimator: Any
    costs: CostEstimates
    has_own_settings: bool = False
