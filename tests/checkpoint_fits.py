"""Fits with a checkpoint on a fake clock that the learner moves, and a way to end them as a kill does."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.cost import CostModel
from fitwithin._session.fit_state import FitState
from simulated_sessions import KillableInline

CLOCKS = []
"""The clock of the fit under way; a parameter of the learner would be stored with the model."""

SECONDS_PER_ROW = 5e-4


def advance_clock(seconds):
    """Advance the clock of the fit under way; found by name, since a global value that changes is another learner."""
    for clock in globals()["CLOCKS"][-1:]:
        clock.advance(seconds)


class TimedTree(DecisionTreeClassifier):
    """A tree that takes a second for two thousand rows, by the fake clock."""

    def fit(self, X, y, sample_weight=None):
        advance_clock(SECONDS_PER_ROW * len(X))
        return super().fit(X, y, sample_weight)

    def predict(self, X, check_input=True):
        advance_clock(1e-6 * len(X))
        return super().predict(X, check_input)


class UnstorableTree(TimedTree):
    """A tree that skops cannot store."""

    def fit(self, X, y, sample_weight=None):
        self.secret_ = (entry for entry in [1])
        del self.secret_
        self.function_ = lambda value: value
        return super().fit(X, y, sample_weight)


class KilledHere(BaseException):
    """Stands for SIGKILL: nothing of the fit runs after it."""


def kill_after(n_rounds):
    """Return a callback that kills a fit after this round."""

    def on_round(finished):
        if finished.number >= n_rounds:
            raise KilledHere

    return on_round


def make_rows(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 4))
    return X, ((X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=n_rows)) > 1).astype(int)


def make_fit(learner=None, **settings):
    """Return an unfitted classifier on a fake clock of its own."""
    backend = KillableInline()
    CLOCKS[:] = [backend.clock]
    settings = {"time_limit": 10, "progress": False, "random_state": 0, "backend": backend, **settings}
    return TimeConstrainedClassifier(TimedTree(random_state=0) if learner is None else learner, **settings)


def make_fit_state(record, history=(), n_rows=100):
    """Return the state of a fit whose best model has this record."""
    rows = np.arange(n_rows)
    return FitState(
        seconds=float(len(history)),
        stop_reason=None,
        history=tuple(history),
        cost=CostModel().observations(),
        marks=(rows < 10 * len(history)).astype(np.uint8),
        was_cut_short=False,
        best=record,
        validation_rows=rows[-5:],
        holdout_rows=rows[-10:-5],
        model_record=record,
    )
