"""When to write a checkpoint, by how long the last writes took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fitwithin._core.budget import Budget

_MIN_SECONDS_BETWEEN_MODELS = 2.0
"""Seconds between two models that are written; the row numbers of one in between are stored at once."""

_WRITING_SHARE = 0.05
"""Share of the time that may go into writing models, until the last one."""

_FIRST_WRITE_SHARE = 0.25
"""Share of the time left that writing the first model may take: without one, a fit that is killed may end with none."""

_MAX_RESERVED_SHARE = 0.2
"""Share of the time limit that is kept for writing the last model; one that takes longer is written if time is left."""

_SLOWER = 1.5
"""Factor by which a write may take longer than the last one."""

_LAST_WRITE_FACTOR = 0.8
"""Factor on the predicted seconds that must be left for the last write: its reserve may be used in part by then."""

_DELAY_SECONDS = 0.05
"""Seconds for unexpected delays."""

_ROUNDING_SECONDS = 1e-6
"""Seconds that the sum of several times may be off."""

_FIRST_WRITE_SECONDS = 0.1
"""Seconds to write the smallest model, before the first one was written."""

_WRITE_PER_LOAD_SECOND = 20.0
"""Seconds to write a model by skops for each second of `SavedModel.load_seconds`, before the first one was written.

Forests took 7 to 15, boosters 19 to 33, on two busy cores; the latter are small.
"""

_LEAST_WRITE_PER_LOAD_SECOND = 10.0
"""Seconds that writing takes longer, at least, for each second that loading takes longer."""

_STATE_SHARE = 0.05
"""Share of the time that may go into writing states."""


class WriteSchedule:
    """Decide when a checkpoint is written, so that `fit` is never late and most of its time is for the learner.

    Parameters
    ----------
    budget : Budget
        The time limit.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._model_seconds: float | None = None
        self._model_load_seconds = 0.0
        self._model_written_at: float | None = None
        self._state_seconds = 0.0
        self._state_written_at: float | None = None

    @property
    def observed(self) -> list[float] | None:
        """The seconds of the last write of a model, and those that were expected of loading it."""
        return None if self._model_seconds is None else [self._model_seconds, self._model_load_seconds]

    def restore(self, observed: object) -> None:
        """Begin with what an earlier fit observed."""
        if isinstance(observed, list) and len(observed) == 2 and all(isinstance(entry, float) for entry in observed):
            self._model_seconds, self._model_load_seconds = observed

    def predict_seconds(self, load_seconds: float) -> float:
        """Predict the seconds of writing a model."""
        if self._model_seconds is None:
            return _FIRST_WRITE_SECONDS + _WRITE_PER_LOAD_SECOND * load_seconds
        ratio = load_seconds / self._model_load_seconds if self._model_load_seconds else 1.0
        growth = _LEAST_WRITE_PER_LOAD_SECOND * (load_seconds - self._model_load_seconds)
        seconds = max(self._model_seconds * max(1.0, ratio), self._model_seconds + growth)
        return _SLOWER * seconds + _DELAY_SECONDS

    def reserved_seconds(self, load_seconds: float) -> float:
        """Seconds to keep for the last write; 0.0 if it takes too large a share."""
        seconds = self.predict_seconds(load_seconds)
        return seconds if seconds <= _MAX_RESERVED_SHARE * self._budget.seconds else 0.0

    def is_due(
        self, load_seconds: float, *, is_last: bool, worth_seconds: float = 0.0, in_background: bool = False
    ) -> bool:
        """Whether to write a new model now: it was the last one, takes little, or some time has passed.

        What another process writes meanwhile takes no time from the learner, and can be given up at the deadline.
        """
        if in_background:
            since = self._budget.elapsed() - (self._model_written_at or 0.0)
            return is_last or self._model_written_at is None or since >= _MIN_SECONDS_BETWEEN_MODELS
        seconds, now = self.predict_seconds(load_seconds), self._budget.elapsed()
        left = self._budget.seconds - now - load_seconds
        if (_LAST_WRITE_FACTOR if is_last else 1.0) * seconds > left + _ROUNDING_SECONDS:
            return False
        if is_last or seconds <= worth_seconds:
            return True
        if self._model_written_at is None:
            return seconds <= _FIRST_WRITE_SHARE * left
        return now - self._model_written_at >= max(_MIN_SECONDS_BETWEEN_MODELS, seconds / _WRITING_SHARE)

    def is_state_due(self, *, is_last: bool) -> bool:
        """Whether to write a state now."""
        now = self._budget.elapsed()
        if _SLOWER * self._state_seconds > self._budget.seconds - now:
            return False
        is_first = self._state_written_at is None
        return is_first or is_last or now - self._state_written_at >= self._state_seconds / _STATE_SHARE  # type: ignore[operator]  # not None

    def begin_model(self) -> float:
        """Note that a model begins to be written; return when."""
        self._model_written_at = self._budget.elapsed()
        return self._model_written_at

    def observe_model(self, began: float, load_seconds: float) -> None:
        """Learn from a model that was written just now."""
        self._model_written_at = self._budget.elapsed()
        self._model_seconds = self._model_written_at - began
        self._model_load_seconds = load_seconds

    @contextmanager
    def timing_state(self) -> Iterator[None]:
        """Learn from a write of a state."""
        start = self._budget.elapsed()
        try:
            yield
        finally:
            self._state_written_at = self._budget.elapsed()
            self._state_seconds = self._state_written_at - start
