"""Seconds by rows: what the next round will take, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._messages import Round

_GROWTH = 1.1
# Seconds that a round costs beyond its learner however small it is: a process, a file, a message.
_FIXED = 0.03
# Twice the prior spread is a factor of two, which kept misses near 2 % when lessons double.
_PRIOR_SPREAD = math.log(2) / 2
_PRIOR_WEIGHT = 2


@dataclass(frozen=True)
class Prediction:
    """What a round is expected to take.

    Parameters
    ----------
    fit : float
        Seconds of training.
    rest : float
        Seconds of hand-over, exams, storing the model and loading it.
    headroom : float
        The factor, at least 1, by which the truth may well be larger or smaller.
    """

    fit: float
    rest: float
    headroom: float

    @property
    def expected(self) -> float:
        """Seconds of the whole round."""
        return self.fit + self.rest

    @property
    def soonest(self) -> float:
        """Seconds if things go well."""
        return self.expected / self.headroom

    @property
    def latest(self) -> float:
        """Seconds if things go badly."""
        return self.expected * self.headroom


class CostModel:
    """Learns one learner's cost from its finished rounds.

    The last round, scaled: training by rows to the power 1.1; everything else by rows, beyond what
    any round costs. Head-room comes from how far off this learner's earlier predictions were.

    Examples
    --------
    >>> model = CostModel()
    >>> model.predict(200) is None
    True
    """

    def __init__(self) -> None:
        self._last: Round | None = None
        self._keeping = 0.0
        self._residuals: list[float] = []

    def observe(self, finished: Round, load: float = 0.0) -> None:
        """Learn from a finished round.

        Parameters
        ----------
        finished : Round
            The round, with the `predicted_fit` that was made for it.
        load : float, default=0.0
            Seconds that loading its model is expected to take.
        """
        self._last = finished
        if finished.best:
            # A model that does not win is not stored, and tells nothing about what storing costs.
            self._keeping = (finished.seconds_model + load) / finished.rows
        if finished.predicted_fit and finished.seconds_fit > 0:
            # A pause of the machine in a lesson of a millisecond says nothing about the learner.
            self._residuals.append(math.log(max(finished.seconds_fit, _FIXED) / max(finished.predicted_fit, _FIXED)))

    def predict(self, rows: int) -> Prediction | None:
        """What a round with a lesson of so many rows will take; None before the first round."""
        if self._last is None:
            return None
        last = self._last
        ratio = rows / last.rows
        # The first hand-over waits for a process to start, which happens once and does not grow.
        handover = last.seconds_handover if last.number > 1 else 0.0
        aside = handover + last.seconds_exam + self._keeping * last.rows
        fixed = min(aside, _FIXED)
        return Prediction(
            fit=last.seconds_fit * ratio ** (_GROWTH if ratio > 1 else 1.0),
            rest=fixed + (aside - fixed) * ratio,
            headroom=self.headroom,
        )

    @property
    def headroom(self) -> float:
        """The factor within which nearly all of this learner's fits stayed."""
        squares = _PRIOR_WEIGHT * _PRIOR_SPREAD**2 + sum(r * r for r in self._residuals)
        return math.exp(2 * math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals))))
