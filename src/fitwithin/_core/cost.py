"""Seconds by rows: what the next lesson and exam take, and what a teacher may afford."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fitwithin._core.budget import Budget, Reserves
from fitwithin._core.fit_cost import DEFAULT_GROWTH, DEFAULT_SPREAD, FitCost, SecondsByRows
from fitwithin._core.memory_model import MemoryModel

# Seconds that every round costs beyond its fit, however small: a process, a file, a message (benchmarks/overhead.py).
_ROUND_SECONDS = 0.03
# Largest share of a fit's time that the growing part of the overhead may reach: a delay of 50 ms in a small round,
# scaled by rows, would keep lessons at a tenth of their size (benchmarks/accuracy.py).
_MAX_OVERHEAD_SHARE = 0.25
# Save and load: bytes from which on a model tells its seconds per byte, and those seconds until one does, as for a
# forest of scikit-learn, which copies its nodes (benchmarks/large_models.py).
_LARGE_MODEL_BYTES = 100 << 20
_SECONDS_PER_BYTE = 4e-9
# Least chance to end in time with which a round is begun: a fit that can be killed costs nothing but time that is left
# over, and one that cannot be killed makes the session late.
_MIN_CHANCE = 0.02
_MIN_CHANCE_UNKILLABLE = 0.995

# Reserve for delays, such as a pause of the machine: some seconds and a share of the time limit, up to a maximum, and a
# share of a limit below a second (benchmarks/tunnel, T of 0.25 to 1.25 s: losses to Double 18.8 % -> 17.7 %).
_DELAY_SECONDS = 0.05
_DELAY_SHARE = 0.02
_MAX_DELAY_SECONDS = 0.35
_MAX_DELAY_SHARE = 0.07


@dataclass(frozen=True)
class LearnerTraits:
    """What is known of a learner before its first fit."""

    growth: float = DEFAULT_GROWTH  # least exponent of the seconds of a fit in its rows
    first_growing_share: float = 1.0  # of the seconds of a first fit, on few rows: it grows with the rows
    model_growing_share: float = 1.0  # of the bytes of a first model: it grows with the rows
    # Standard deviation of log(real / predicted) seconds, for each unit of log(rows) beyond the largest fit.
    spread: float = DEFAULT_SPREAD
    worth_share: float = 1.0  # of the steps, after which a fit that stops early is nearly as good as a complete one
    least_share: float = 0.0  # of the steps, below which a smaller fit is better than one that is cut short
    oversampling_pays: bool = False  # on average over data sets
    later_step_cost: float = 1.0  # seconds of a step / those of one of the first steps, by which a fit gave up
    exam_growth: float = 0.0  # exponent of the seconds of an exam in the rows of the model, until two models show it


class CostModel:
    """Predict the seconds of lessons and exams of one learner from those it has finished.

    Examples
    --------
    >>> cost = CostModel()
    >>> cost.observe_fit(100, 2.0)
    >>> cost.fit_seconds(100)
    2.0
    """

    def __init__(self, traits: LearnerTraits | None = None) -> None:
        self.traits = traits or LearnerTraits()
        self.fits = FitCost(self.traits.growth, self.traits.first_growing_share, self.traits.spread)
        # Trees that grow with their rows make models that do so too; two sizes show whether that is so.
        self._model_bytes = SecondsByRows(1.0, self.traits.model_growing_share)
        self._save_and_load: dict[int, float] = {}
        # Seconds for each row by the rows that the model was trained on: neighbours are searched among them.
        self._exam_seconds_per_row = SecondsByRows(1.0, first_growing_share=0.0)
        # Of the last lesson; its exams are added up.
        self._last_rows = 0
        self._last_handover = 0.0
        self._last_exams = 0.0
        self._least_handover = math.inf
        self._is_started = False

    def observe_fit(
        self, rows: int, seconds: float, setup_seconds: float | None = None, *, is_guess: bool = False
    ) -> None:
        """Learn from a fit; see `FitCost.observe`."""
        self.fits.observe(rows, seconds, setup_seconds, is_guess=is_guess)

    def observe_handover(self, rows: int, seconds: float) -> None:
        """Learn how long it takes to bring the rows of a lesson to the learner."""
        # The first hand-over waits for a process to start, which happens once and does not grow with the rows.
        self._last_rows, self._last_handover, self._last_exams = rows, seconds if self._is_started else 0.0, 0.0
        if self._is_started:
            self._least_handover = min(self._least_handover, seconds)
        self._is_started = True

    def observe_exam(self, rows: int, seconds: float, model_rows: int = 1) -> None:
        """Learn from an exam of a model that was trained on `model_rows`."""
        self._exam_seconds_per_row.observe(model_rows, seconds / rows)
        self._last_exams += seconds

    def observe_save(self, rows: int, seconds: float, n_bytes: int | None = None) -> None:
        """Learn how large the model of a lesson is, and how long it takes to save and load it."""
        self._model_bytes.observe(rows, n_bytes or 0)
        self._save_and_load[n_bytes or 0] = seconds

    def model_bytes(self, rows: int) -> float:
        """Predict the size of the model of a lesson; 0 before the first model."""
        return self._model_bytes.predict(rows)

    def save_and_load_seconds(self, rows: int) -> float:
        """Predict the seconds of saving and loading the model of a lesson, from its bytes."""
        if not self._save_and_load:
            return 0.0
        largest, fixed = max(self._save_and_load), min(self._save_and_load.values())
        rate = self._save_and_load[largest] / largest if largest >= _LARGE_MODEL_BYTES else _SECONDS_PER_BYTE
        return fixed + rate * max(0.0, self.model_bytes(rows) - min(self._save_and_load))

    def observations(self) -> dict[str, Any]:
        """Return everything that was learned, as values for JSON."""
        return {
            **self.fits.observations(),
            "model_bytes": self._model_bytes.to_values(),
            "save_and_load_seconds": [[int(size), float(seconds)] for size, seconds in self._save_and_load.items()],
            "exam_seconds_per_row": self._exam_seconds_per_row.to_values(),
            "least_handover": float(self._least_handover) if math.isfinite(self._least_handover) else None,
            "last_lesson": [int(self._last_rows), float(self._last_handover), float(self._last_exams)],
        }

    def restore(self, observations: Mapping[str, Any]) -> None:
        """Learn from earlier `observations`; raise KeyError, TypeError or ValueError if they are something else."""
        self.fits.restore(observations)
        self._model_bytes.restore(observations["model_bytes"])
        self._save_and_load = {int(size): float(seconds) for size, seconds in observations["save_and_load_seconds"]}
        self._exam_seconds_per_row.restore(observations["exam_seconds_per_row"])
        least = observations["least_handover"]
        self._least_handover = math.inf if least is None else float(least)
        rows, handover, exams = observations["last_lesson"]
        self._last_rows, self._last_handover, self._last_exams = int(rows), float(handover), float(exams)

    def other_seconds(self, rows: int) -> float:
        """Predict the seconds of a round besides its fit, for teachers that do not ask what their exams take."""
        # Their exams grow with their lessons.
        return self.overhead_seconds(rows) + self._last_exams * rows / max(1, self._last_rows)

    def fit_seconds(self, rows: int) -> float:
        """Predict the seconds of a fit; 0 before the first fit."""
        return self.fits.seconds(rows)

    def setup_seconds(self, rows: int) -> float | None:
        """Predict the seconds of a fit before its first step; None for a learner whose steps are unknown."""
        return self.fits.setup_seconds(rows)

    def exam_seconds(self, rows: int, model_rows: int | None = None, *, cautious: bool = False) -> float:
        """Predict the seconds of an exam of a model that was trained on `model_rows`; by default, of the last one.

        A cautious forecast takes exams that grow with the rows of the model to grow in proportion to them.
        """
        observed = self._exam_seconds_per_row.observed
        if not observed:
            return 0.0
        largest, model_rows = max(observed), model_rows or list(observed)[-1]
        growth = 1.0 if cautious and self._exam_growth else self._exam_growth
        per_row = self._exam_seconds_per_row.predict(min(model_rows, largest))
        return rows * per_row * math.pow(max(1.0, model_rows / largest), growth)

    @property
    def _exam_growth(self) -> float:
        """Exponent of the seconds of an exam in the rows of the model, beyond the largest one.

        Trees take as long whatever their rows. Neighbours are searched in all rows, or in less than proportion to them.
        """
        sizes = sorted(self._exam_seconds_per_row.observed)[-2:]
        if len(sizes) < 2:
            return self.traits.exam_growth
        less, more = (self._exam_seconds_per_row.observed[size] for size in sizes)
        growth = math.log(more / less) / math.log(sizes[1] / sizes[0]) if more > less > 0 else 0.0
        # Predictions of small models are mostly fixed costs (benchmarks/tunnel, neighbors: score + 0.8 points).
        return min(1.0, max(growth, self.traits.exam_growth))

    def overhead_seconds(self, rows: int) -> float:
        """Predict the seconds of handing rows over, and of saving and loading the model."""
        if not self._last_rows:
            return _ROUND_SECONDS
        handover = self._last_handover
        growing = max(0.0, handover - self._least_handover - _ROUND_SECONDS) * (rows / self._last_rows - 1)
        limit = _MAX_OVERHEAD_SHARE * self.fit_seconds(rows)
        saving = self.save_and_load_seconds(rows)
        return max(handover + saving, _ROUND_SECONDS) + min(max(0.0, growing), limit)


class CostEstimates:
    """The seconds and the memory that are left, and what the next requests would take.

    A teacher finds it as ``deck.costs``.

    Parameters
    ----------
    budget : Budget, optional
        The time limit; without one there is no deadline.
    cost : CostModel, optional
        Predicts lessons and exams.
    can_stop_early : bool, default=False
        Whether the learner can be told to stop, so that a lesson may be cut short.
    knows_steps : bool, default=True
        Whether such a learner knows the number of its steps before it begins.
    killable : bool, default=True
        Whether a fit that overruns is killed at the deadline.
    memory : MemoryModel, optional
        Predicts the memory of lessons, and knows the limit; without one there is none.

    Examples
    --------
    >>> CostEstimates().seconds_left
    inf
    >>> CostEstimates().count_exam_rows(0.1, most=5000)
    5000
    """

    def __init__(
        self,
        budget: Budget | None = None,
        cost: CostModel | None = None,
        *,
        can_stop_early: bool = False,
        knows_steps: bool = True,
        killable: bool = True,
        memory: MemoryModel | None = None,
    ) -> None:
        self.can_stop_early = can_stop_early
        self._knows_steps = can_stop_early and knows_steps
        self.killable = killable
        self.cost = cost or CostModel()
        self.memory = memory
        self._budget = budget

    def for_other_learner(
        self, traits: LearnerTraits | None = None, *, can_stop_early: bool = False, knows_steps: bool = True
    ) -> CostEstimates:
        """Return the cost estimates of another learner, with the same deadline and memory limit."""
        settings = {"can_stop_early": can_stop_early, "knows_steps": knows_steps, "killable": self.killable}
        memory = None if self.memory is None else MemoryModel(self.memory.limit)
        return CostEstimates(self._budget, CostModel(traits), **settings, memory=memory)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._budget is None else self._budget.remaining()

    def fit_seconds(self, rows: int) -> float:
        """Predict the seconds of a fit on this number of rows; 0 before the first fit."""
        return self.cost.fit_seconds(rows)

    def setup_seconds(self, rows: int) -> float:
        """Predict the seconds of a fit in which it cannot stop early: those before its first step, or all of them."""
        seconds = self.cost.setup_seconds(rows)
        return self.fit_seconds(rows) if seconds is None else seconds

    def overhead_seconds(self, rows: int) -> float:
        """Predict the seconds that a lesson takes besides its fit: hand-over, saving and loading the model."""
        return self.cost.overhead_seconds(rows)

    def exam_seconds(self, rows: int, model_rows: int | None = None) -> float:
        """Predict the seconds of an exam of a model that was trained on `model_rows`; by default, of the last one."""
        # An exam that cannot be killed makes the session late.
        return self.cost.exam_seconds(rows, model_rows, cautious=not self.killable)

    def count_exam_rows(self, seconds: float, most: int, model_rows: int | None = None) -> int:
        """Return how many rows, up to `most`, a model can be examined on within some seconds; see `exam_seconds`."""
        expected = self.exam_seconds(most, model_rows)
        return most if expected <= seconds else int(most * max(0.0, seconds) / expected)

    def reserves(self, rows: int, exam_rows: int) -> Reserves:
        """Return the seconds that a lesson must leave after its fit, for its model to count.

        Parameters
        ----------
        rows : int
            Rows of the lesson.
        exam_rows : int
            Rows of the exams of its model, together.
        """
        limit = math.inf if self._budget is None else self._budget.seconds
        return Reserves(
            load=self.overhead_seconds(rows),
            exams=self.exam_seconds(exam_rows, rows),
            delay=min(_MAX_DELAY_SHARE * limit, _DELAY_SECONDS + _DELAY_SHARE * limit, _MAX_DELAY_SECONDS),
        )

    def may_finish(self, rows: int) -> bool:
        """Whether a round with a lesson of this size has a chance to end in time.

        A fit that can be killed costs nothing but time that is left over, so a small chance is enough, and a second
        fit always has one. One that cannot be killed must be nearly sure to end.
        """
        if not self.cost.fits.n_sizes or self.may_try_again:
            return True
        chance = self.chance_to_end(rows, self.seconds_left - self.cost.other_seconds(rows))
        return chance >= self.least_chance(_MIN_CHANCE)

    def may_begin(self, rows: int) -> bool:
        """Whether the session begins a lesson of this size that its teacher has planned; if not, it ends.

        Only one that cannot be stopped is refused, unless it is nearly sure to end.
        """
        may_overrun = self.can_stop_early or self.killable or not self.cost.fits.n_sizes
        seconds = self.seconds_left - self.overhead_seconds(rows)
        return may_overrun or self.chance_to_end(rows, seconds) >= _MIN_CHANCE_UNKILLABLE

    @property
    def worth_share(self) -> float:
        """Share of the steps after which a fit is nearly as good as a complete one: all, if it cannot stop early."""
        return self.cost.traits.worth_share if self.can_stop_early else 1.0

    def chance_to_end(self, rows: int, within: float) -> float:
        """Return the chance that a fit ends within some seconds, or nearly so if it can stop early."""
        return self.cost.fits.chance_to_end(rows, within, self.worth_share)

    def least_chance(self, chance: float) -> float:
        """Return this chance, the least one with which a fit is begun, or near certainty if the fit cannot be ended."""
        return chance if self.can_be_ended else _MIN_CHANCE_UNKILLABLE

    @property
    def knows_steps(self) -> bool:
        """Whether the first steps of a fit tell what all would take; a fit so far must have told its set-up."""
        return self._knows_steps and (not self.cost.fits.n_sizes or self.cost.setup_seconds(1) is not None)

    def largest_lesson_rows(self, most: int) -> int:
        """Return the rows of the largest lesson, up to `most`, whose predicted memory is within the memory limit."""
        return most if self.memory is None else self.memory.largest_rows(most)

    @property
    def may_try_again(self) -> bool:
        """Whether a second lesson is worth a try whatever the first one took, because it can be ended."""
        return self.can_be_ended and self.cost.fits.knows_first_fit_only

    @property
    def can_be_ended(self) -> bool:
        """Whether a fit that takes too long can be ended: killed, or stopped after any of its short steps."""
        return self.killable or (self.can_stop_early and not self._knows_steps)
