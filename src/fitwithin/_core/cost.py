"""Seconds by rows: what the next lesson and exam take, and what a teacher may afford."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.memory_cost import MemoryModel
from fitwithin._core.records import Round

DEFAULT_GROWTH = 1.1
"""Default exponent of fit time in rows when extrapolating (benchmarks/accuracy.py: others did no better)."""

# Seconds that every round costs beyond its fit, however small: a process, a file, a message (benchmarks/overhead.py).
_ROUND_SECONDS = 0.03
# Extrapolate at most quadratically, whatever growth two fits showed.
_MAX_GROWTH = 2.0
# Least share of a fit's time that is taken to grow with its rows. A first fit that paid for imports would hide it.
_MIN_GROWING_SHARE = 0.2
# Largest share of a fit's time that the growing part of the overhead may reach. Without it, a delay of 50 ms
# in a small round, scaled by rows, kept lessons at a tenth of their size (benchmarks/accuracy.py).
_MAX_OVERHEAD_SHARE = 0.25
# Prior standard deviation of log(real / predicted). Twice it is a factor of 2, which kept misses near 2 % when
# lessons double.
_PRIOR_DEVIATION = math.log(2) / 2
# Number of observations that the prior counts for.
_PRIOR_WEIGHT = 2
# Extra factor where a fit cannot be killed: a fit that overruns makes the session late.
_UNKILLABLE_FACTOR = 1.1


@dataclass(frozen=True)
class Prediction:
    """What a round is expected to take.

    Parameters
    ----------
    fit_seconds : float
        Seconds of training.
    other_seconds : float
        Seconds of hand-over, exams, saving the model and loading it.
    headroom : float
        The factor, at least 1, within which the real time is expected to lie.
    """

    fit_seconds: float
    other_seconds: float
    headroom: float

    @property
    def expected(self) -> float:
        """Seconds of the whole round."""
        return self.fit_seconds + self.other_seconds

    @property
    def soonest(self) -> float:
        """Seconds if the round is fast."""
        return self.expected / self.headroom

    @property
    def latest(self) -> float:
        """Seconds if the round is slow."""
        return self.expected * self.headroom


class CostModel:
    """Predict the seconds of lessons and exams of one learner from those it has finished.

    A fit costs a fixed part and a part that grows with the rows, drawn through the last fits of two sizes; with one
    size only, the last fit is scaled. Beyond the largest fit, the growing part grows a little faster than the rows.
    Head-room comes from the errors of earlier predictions.

    Parameters
    ----------
    growth : float, default=1.1
        Exponent of fit time in rows when extrapolating.

    Examples
    --------
    >>> cost = CostModel()
    >>> cost.predict(200) is None
    True
    >>> cost.observe_fit(100, 2.0)
    >>> cost.fit_seconds(100)
    2.0
    """

    def __init__(self, growth: float = DEFAULT_GROWTH) -> None:
        self._growth = growth
        self._last_round: Round | None = None
        self._fit_seconds: dict[int, float] = {}
        self._save_and_load_seconds_per_row = 0.0
        self._least_overhead = math.inf
        self._exam_seconds_per_row = 0.0
        self._residuals: list[float] = []
        self._first_number = 1
        self._write_seconds: dict[int, float] = {}

    def observe_fit(self, rows: int, seconds: float) -> None:
        """Learn from a fit: the seconds it took, or would have taken to its end."""
        if self._fit_seconds and seconds > 0:
            # A pause of the machine during a fit of a millisecond says nothing about the learner.
            predicted = max(self.fit_seconds(rows), _ROUND_SECONDS)
            self._residuals.append(math.log(max(seconds, _ROUND_SECONDS) / predicted))
        # The newest fit of a size replaces the older one, and stands last.
        self._fit_seconds.pop(rows, None)
        self._fit_seconds[rows] = seconds

    @property
    def knows_first_fit_only(self) -> bool:
        """Whether one fit was observed, which may have paid for what is paid once, such as a GPU's start."""
        return len(self._fit_seconds) == 1 and not self._residuals

    def observe_exam(self, rows: int, seconds: float) -> None:
        """Learn from an exam."""
        self._exam_seconds_per_row = seconds / rows

    def observe_round(self, finished: Round, load_seconds: float = 0.0) -> None:
        """Learn what a finished round took besides its fit.

        Parameters
        ----------
        finished : Round
            The round.
        load_seconds : float, default=0.0
            Seconds that loading its model is expected to take.
        """
        self._last_round = finished
        if finished.best:
            # Only the model of a best round is saved, so other rounds say nothing about saving.
            self._save_and_load_seconds_per_row = (finished.seconds_model + load_seconds) / finished.rows
        if finished.number > self._first_number:
            self._least_overhead = min(self._least_overhead, self._overhead_of(finished))

    def observe_write(self, rows: int, seconds: float) -> None:
        """Learn how long writing the model of a lesson to a checkpoint takes; 0 without one.

        The budget reserves these seconds for the best model, so only their growth is added to a prediction.
        """
        self._write_seconds.pop(rows, None)
        self._write_seconds[rows] = seconds

    def observations(self) -> dict[str, Any]:
        """Return everything that was learned but the last round, as values for JSON."""
        return {
            "fit_seconds": [[int(rows), float(seconds)] for rows, seconds in self._fit_seconds.items()],
            "residuals": [float(residual) for residual in self._residuals],
            "save_and_load_seconds_per_row": float(self._save_and_load_seconds_per_row),
            "exam_seconds_per_row": float(self._exam_seconds_per_row),
            "least_overhead": float(self._least_overhead) if math.isfinite(self._least_overhead) else None,
        }

    def restore(self, observations: Mapping[str, Any], last_round: Round | None) -> None:
        """Learn from the `observations` of an earlier fit, and from its last round.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are not what `observations` returns.
        """
        self._fit_seconds = {int(rows): float(seconds) for rows, seconds in observations["fit_seconds"]}
        self._residuals = [float(residual) for residual in observations["residuals"]]
        self._save_and_load_seconds_per_row = float(observations["save_and_load_seconds_per_row"])
        self._exam_seconds_per_row = float(observations["exam_seconds_per_row"])
        least = observations["least_overhead"]
        self._least_overhead = math.inf if least is None else float(least)
        self._last_round = last_round
        # The first hand-over of this call waits for a process to start, too.
        self._first_number = 1 if last_round is None else last_round.number + 1

    def predict(self, rows: int) -> Prediction | None:
        """Predict a round whose lesson has this number of rows; None before the first round."""
        if self._last_round is None:
            return None
        # Exams of the teachers that do not ask for a price grow with their lessons.
        exams = self._last_round.seconds_exam * rows / self._last_round.rows
        return Prediction(self.fit_seconds(rows), self.overhead_seconds(rows) + exams, self.headroom)

    def fit_seconds(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first fit."""
        if not self._fit_seconds:
            return 0.0
        (size, seconds), *others = reversed(self._fit_seconds.items())
        smaller = [(other, took) for other, took in others if other < size]
        if not smaller:
            return seconds * rows / size * _extrapolation(rows / size, self._growth)
        other, took = smaller[0]
        slope = (seconds - took) / (size - other)
        per_row = min(max(_MIN_GROWING_SHARE * seconds / size, slope), seconds / size)
        growth = self._growth
        if took >= _ROUND_SECONDS and seconds > took:
            observed = math.log(seconds / took) / math.log(size / other)
            growth = max(growth, min(observed, _MAX_GROWTH))
        return seconds - per_row * size + per_row * rows * _extrapolation(rows / size, growth)

    def setup_seconds(self, rows: int) -> float | None:
        """Predict the seconds of a fit until its first step; None if they are unknown."""
        return None

    def exam_seconds(self, rows: int) -> float:
        """Predict the seconds of an exam from the last one."""
        return self._exam_seconds_per_row * rows

    def overhead_seconds(self, rows: int) -> float:
        """Predict the seconds of handing rows over, and of saving and loading the model."""
        if self._last_round is None:
            return _ROUND_SECONDS
        last = self._last_round
        seconds = self._overhead_of(last)
        growing = max(0.0, seconds - self._least_overhead - _ROUND_SECONDS) * (rows / last.rows - 1)
        growing = max(0.0, growing) + self._write_growth_seconds(rows)
        limit = _MAX_OVERHEAD_SHARE * self.fit_seconds(rows)
        return max(seconds, _ROUND_SECONDS) + min(growing, limit)

    def _write_growth_seconds(self, rows: int) -> float:
        """Seconds that writing a model of this number of rows takes beyond those of the last one."""
        if len(self._write_seconds) < 2:
            return 0.0
        (size, seconds), (other, took), *_ = reversed(self._write_seconds.items())
        slope = (seconds - took) / (size - other)
        return min(max(0.0, slope), seconds / size) * max(0, rows - size)

    def _overhead_of(self, finished: Round) -> float:
        # The first hand-over waits for a process to start, which happens once and does not grow with the rows.
        handover = finished.seconds_handover if finished.number > self._first_number else 0.0
        return handover + self._save_and_load_seconds_per_row * finished.rows

    @property
    def headroom(self) -> float:
        """The factor within which nearly all fits of this learner stayed."""
        squares = _PRIOR_WEIGHT * _PRIOR_DEVIATION**2 + sum(residual**2 for residual in self._residuals)
        return math.exp(2 * math.sqrt(squares / (_PRIOR_WEIGHT + len(self._residuals))))


class Outlook:
    """The seconds and the memory that are left, and what the next requests would take.

    A teacher finds it as ``deck.outlook``.

    Parameters
    ----------
    budget : Budget, optional
        The time limit; without one there is no deadline.
    cost : CostModel, optional
        Predicts lessons and exams.
    can_stop_early : bool, default=False
        Whether the learner can be told to stop, so that a lesson may be cut short.
    killable : bool, default=True
        Whether a fit that overruns is killed at the deadline.
    memory : MemoryModel, optional
        Predicts the memory of lessons, and knows the limit; without one there is none.

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
        memory: MemoryModel | None = None,
    ) -> None:
        self.can_stop_early = can_stop_early
        self.killable = killable
        self.cost = cost or CostModel()
        self.memory = memory or MemoryModel()
        self._budget = budget

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._budget is None else self._budget.remaining()

    def fit_seconds(self, rows: int) -> float:
        """Predict the seconds of a fit on this number of rows; 0 before the first fit."""
        return self.cost.fit_seconds(rows)

    def overhead_seconds(self, rows: int) -> float:
        """Predict the seconds that a lesson takes besides its fit: hand-over, saving and loading the model."""
        return self.cost.overhead_seconds(rows)

    def exam_seconds(self, rows: int) -> float:
        """Predict the seconds of an exam on this number of rows."""
        return self.cost.exam_seconds(rows)

    def affordable_exam_rows(self, share: float, most: int) -> int:
        """Return how many rows, up to `most`, can be examined in a share of the time that is left."""
        seconds, available = self.exam_seconds(most), share * self.seconds_left
        return most if seconds <= available else int(most * available / seconds)

    def may_finish(self, rows: int) -> bool:
        """Whether a round with a lesson of this size has a chance to end in time.

        A fit that can be killed costs nothing but time that is left over, so a chance is enough, and a second fit
        always has one. One that cannot be killed must be nearly sure to end.
        """
        prediction = self.cost.predict(rows)
        if prediction is None or self.may_try_again:
            return True
        return (prediction.soonest if self.killable else prediction.latest) <= self.seconds_left

    def largest_lesson_rows(self, most: int) -> int:
        """Return the rows of the largest lesson, up to `most`, whose predicted memory is within the memory limit."""
        return self.memory.largest_rows(most)

    @property
    def may_try_again(self) -> bool:
        """Whether a second lesson is worth a try whatever the first one took, because it can be killed."""
        return self.killable and self.cost.knows_first_fit_only

    @property
    def safety_factor(self) -> float:
        """The factor, at least 1, by which a fit may well take longer than predicted."""
        return math.sqrt(self.cost.headroom) if self.killable else _UNKILLABLE_FACTOR * self.cost.headroom


def _extrapolation(ratio: float, growth: float) -> float:
    """Return the factor by which a row costs more in a lesson `ratio` times as large as the largest so far."""
    return math.pow(max(1.0, ratio), growth - 1)
