"""The paper's protocol: every new model is evaluated on the test set, with the clock paused."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self, cast

import numpy as np

from fitwithin.backends import Backend, FitReport, OutOfTime, Runner


class PausableClock:
    """A clock that can be paused.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        The underlying clock.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> underlying = FakeClock()
    >>> clock = PausableClock(underlying)
    >>> with clock.paused():
    ...     underlying.advance(5)
    >>> underlying.advance(2)
    >>> clock()
    2.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paused_seconds = 0.0
        self._paused_at: float | None = None

    def __call__(self) -> float:
        """Return the seconds of the underlying clock, less those of the pauses."""
        return (self._clock() if self._paused_at is None else self._paused_at) - self._paused_seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause until the end of the block."""
        self._paused_at = self._clock()
        try:
            yield
        finally:
            self._paused_seconds += self._clock() - self._paused_at
            self._paused_at = None


class EvaluationBackend:
    """A backend that evaluates every new model on a test set, with the clock paused.

    Parameters
    ----------
    backend : Backend
        Backend that runs the learner; it uses `clock`.
    clock : PausableClock
        Clock that is paused during the evaluation.
    X_test, y_test : table and array
        The test rows.

    Attributes
    ----------
    accuracies : list of float or None
        Test accuracy of every model; None for a model that was ready only at the deadline.
    """

    def __init__(self, backend: Backend, clock: PausableClock, X_test: Any, y_test: Any) -> None:
        self.clock: Callable[[], float] = clock
        self.accuracies: list[float | None] = []
        self._backend = backend
        self._pausable_clock = clock
        self._X_test, self._y_test = X_test, y_test

    def open(self, budget: Any) -> Runner:
        """Return a runner for one session."""
        return cast(Runner, _EvaluationRunner(self._backend.open(budget), self))

    def evaluate(self, runner: Runner) -> None:
        """Add the test accuracy of the runner's newest model, with the clock paused."""
        with self._pausable_clock.paused(), warnings.catch_warnings():
            # A warning of the learner is issued again when its model is loaded.
            warnings.simplefilter("ignore")
            try:
                saved = runner.save()
            except OutOfTime:
                self.accuracies.append(None)
                return
            try:
                self.accuracies.append(float(np.mean(saved.load().predict(self._X_test) == self._y_test)))
            finally:
                saved.discard()


class _EvaluationRunner:
    """A runner that evaluates after every fit, and leaves everything else to another runner."""

    def __init__(self, runner: Runner, backend: EvaluationBackend) -> None:
        self._runner = runner
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._runner.__exit__(*exc_info)

    def open_sibling(self) -> NoReturn:
        """Refuse: the accuracies are those of one model after the other."""
        raise TypeError("The study evaluates one model after the other; leave n_jobs out.")

    def fit(self, *args: Any, **kwargs: Any) -> FitReport:
        """Fit, then evaluate."""
        report = self._runner.fit(*args, **kwargs)
        if not report.gave_up:
            self._backend.evaluate(self._runner)
        return report
