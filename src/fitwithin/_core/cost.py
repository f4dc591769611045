"""Seconds by rows: what the next round will take, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitwithin._core.budget import Budget
from fitwithin._core.records import Round

GROWTH = 1.1
"""The power of the rows that a learner's cost goes with beyond what was seen, unless more is known of it."""


# Seconds that a round costs beyond its learner however small it is: a process, a file, a message.
_FIXED = 0.03


# Of a cost that grew faster than its rows nobody believes that it goes on with more than their square.
_STEEPEST = 2.0


# How much of a lesson's time goes with its rows at least, whatever a lesson before it took.
_LEAST = 0.2


# What goes with the rows beside training is a part of that at most.
_ASIDE = 0.25


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

    Training is a fixed part and a part that goes with the rows, drawn through the last rounds of two sizes, and a
    little more than that beyond them; before there are two, the last round, scaled. Everything else goes with the
    rows, beyond what any round costs. Head-room comes from how far off this learner's earlier predictions were.

    Examples
    --------
    >>> model = CostModel()
    >>> model.predict(200) is None
    True
    """

    def __init__(self, growth: float = GROWTH) -> None:
        self._growth = growth
        self._last: Round | None = None
        self._sizes: dict[int, float] = {}
        self._keeping = 0.0
        self._start = math.inf
        self._exam = 0.0
        self._residuals: list[float] = []

    def observe(self, finished: Round, load: float = 0.0) -> None:
        """Learn what a finished round took beside its training.

        Parameters
        ----------
        finished : Round
            The round.
        load : float, default=0.0
            Seconds that loading its model is expected to take.
        """
        self._last = finished
        if finished.best:
            # A model that does not win is not stored, and tells nothing about what storing costs.
            self._keeping = (finished.seconds_model + load) / finished.rows

        if finished.number > 1:
            self._start = min(self._start, finished.seconds_handover + self._keeping * finished.rows)

    def taught(self, rows: int, seconds: float) -> None:
        """Learn from a lesson: how long training on so many rows took, or would have taken to its end."""
        if self._sizes and seconds > 0:
            # A pause of the machine in a lesson of a millisecond says nothing about the learner.
            self._residuals.append(math.log(max(seconds, _FIXED) / max(self.fit(rows), _FIXED)))
        self._sizes.pop(rows, None)
        self._sizes[rows] = seconds

    def examined(self, rows: int, seconds: float) -> None:
        """Learn from an exam."""
        self._exam = seconds / rows

    def predict(self, rows: int) -> Prediction | None:
        """What a round with a lesson of so many rows will take; None before the first round."""
        if self._last is None:
            return None
        last = self._last
        aside = _handover(last) + last.seconds_exam + self._keeping * last.rows
        fixed = min(aside, _FIXED)
        return Prediction(fit=self.fit(rows), rest=fixed + (aside - fixed) * rows / last.rows, headroom=self.headroom)

    def fit(self, rows: int) -> float:
        """Seconds of training on so many rows; 0 before anything is known."""
        if not self._sizes:
            return 0.0
        (size, seconds), *others = reversed(self._sizes.items())
        smaller = [(other, took) for other, took in others if other < size]
        if not smaller:
            return seconds * rows / size * _beyond(rows / size, self._growth)
        other, took = smaller[0]
        each = min(max(_LEAST * seconds / size, (seconds - took) / (size - other)), seconds / size)
        growth = self._growth
        if took >= _FIXED and seconds > took:
            growth = max(growth, min(math.log(seconds / took) / math.log(size / other), _STEEPEST))
        return seconds - each * size + each * rows * _beyond(rows / size, growth)

    def exam(self, rows: int) -> float:
        """Seconds of an exam of so many rows, going by the last one."""
        return self._exam * rows

    def aside(self, rows: int) -> float:
        """Seconds to bring so many rows to the learner, and to store and load its model."""
        if self._last is None:
            return _FIXED
        last = self._last
        seconds = _handover(last) + self._keeping * last.rows
        growing = max(0.0, seconds - self._start - _FIXED) * (rows / last.rows - 1)
        return max(seconds, _FIXED) + min(max(0.0, growing), _ASIDE * self.fit(rows))

    @property
    def headroom(self) -> float:
        """The factor within which nearly all of this learner's fits stayed."""
        squares = _PRIOR_WEIGHT * _PRIOR_SPREAD**2 + sum(r * r for r in self._residuals)
        return math.exp(2 * math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals))))


def _handover(finished: Round) -> float:
    """Seconds of hand-over; the first one waits for a process to start, which happens once and does not grow."""
    return finished.seconds_handover if finished.number > 1 else 0.0


def _beyond(ratio: float, growth: float) -> float:
    """How many times as much each row costs in a lesson that is so many times larger than any yet."""
    return math.pow(max(1.0, ratio), growth - 1)


# A little more than the session asks for where a lesson must end by itself.
_SURE = 1.1


class Outlook:
    """The seconds that are left, and what the next requests would take.

    Parameters
    ----------
    budget : Budget, optional
        What is left; without one there is no end.
    cost : CostModel, optional
        What lessons and exams take.
    can_stop_early : bool, default=False
        Whether the learner can be asked to stop, so that a lesson may be cut short.
    killable : bool, default=True
        Whether a lesson that takes too long ends at the deadline, with nothing lost but its time.

    Examples
    --------
    >>> Outlook().seconds_left
    inf
    >>> Outlook().affordable_exam_rows(0.1, most=5000)
    5000
    """

    def __init__(
        self,
        budget: Budget | None = None,
        cost: CostModel | None = None,
        *,
        can_stop_early: bool = False,
        killable: bool = True,
    ) -> None:
        self.can_stop_early = can_stop_early
        self.killable = killable
        self.cost = cost or CostModel()
        self._budget = budget

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._budget is None else self._budget.remaining()

    def fit_seconds(self, rows: int) -> float:
        """Seconds that training on so many rows is expected to take; 0 before anything is known."""
        return self.cost.fit(rows)

    def overhead_seconds(self, rows: int) -> float:
        """Seconds that such a lesson takes beside its training: rows to the learner, its model to safety and back."""
        return self.cost.aside(rows)

    def exam_seconds(self, rows: int) -> float:
        """Seconds of an exam of so many rows."""
        return self.cost.exam(rows)

    def affordable_exam_rows(self, share: float, most: int) -> int:
        """Rows that can be examined in a share of the time that is left, at most so many."""
        seconds = self.exam_seconds(most)
        return most if seconds <= share * self.seconds_left else int(most * share * self.seconds_left / seconds)

    @property
    def safety_factor(self) -> float:
        """The factor, at least 1, by which a lesson may well take longer; hardly ever more, if none can be killed."""
        return math.sqrt(self.cost.headroom) if self.killable else _SURE * self.cost.headroom
