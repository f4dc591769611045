"""A simple model that is fitted first, and returned if there is no other one in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.log import LOGGER
from fitwithin._core.records import FitLimits
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.selection import KeptModel
from fitwithin.backends import Runner
from fitwithin.teachers import Deck

_MAX_ROWS = 10_000
"""Random rows that it is fitted on, at most."""

_MAX_TIME_SHARE = 0.1
"""Share of the time left after which its fit is stopped."""


def fit_fallback(runner: Runner, learner: Any, deck: Deck, budget: Budget) -> KeptModel | None:
    """Fit a fallback in the learner's process, and reserve the time to load it; None if that fails."""
    seconds = _MAX_TIME_SHARE * budget.remaining()
    try:
        rows = np.unique(deck.sample(min(_MAX_ROWS, deck.size)))
        runner.fit(rows, limits=FitLimits(seconds, seconds), learner=learner)
        model = runner.save()
    except (LearnerDied, LearnerRaised, OutOfMemory, OutOfTime) as error:
        LOGGER.warning("There is no fallback. %s: %s", type(error).__name__, error)
        return None
    budget.reserves.load = model.load_seconds
    return KeptModel(model, ModelRecord(0, len(rows), rows))
