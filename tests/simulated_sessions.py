"""Sessions on a fake clock that the learner moves; at the deadline the clock stops the learner, as a kill would."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.exceptions import OutOfTime
from fitwithin.backends import Inline
from fitwithin.backends._inline import InlineRunner
from fitwithin.testing import FakeClock


class Killed(BaseException):
    """The deadline passed during a fit or a prediction."""


class KillingClock(FakeClock):
    """A clock that stops at the deadline and raises `Killed`."""

    deadline = np.inf

    def advance(self, seconds):
        if self.now + seconds <= self.deadline:
            super().advance(seconds)
        else:
            self.now = self.deadline
            raise Killed


class KillableRunner(InlineRunner):
    """A runner in this process for a learner that moves a `KillingClock`."""

    killable = True

    def _at_work(self):
        return _UntilKilled(super()._at_work(), self._budget)


class _UntilKilled:
    def __init__(self, work, budget):
        self.work, self.budget = work, budget

    def __enter__(self):
        self.budget.clock.deadline = self.budget.clock.now + self.budget.remaining()
        return self.work.__enter__()

    def __exit__(self, kind, error, traceback):
        self.budget.clock.deadline = np.inf
        if kind is Killed:
            raise OutOfTime from None
        return self.work.__exit__(kind, error, traceback)


class KillableInline(Inline):
    """Runs the learner in this process and stops it at the deadline, as the process backend does."""

    def __init__(self):
        super().__init__(clock=KillingClock())

    def open(self, budget):
        return KillableRunner(budget)


class CostlyClassifier(ClassifierMixin, BaseEstimator):
    """A tree whose fits and predictions take time: `spend_on_fit(X, y)` and `spend_on_predict(X)` move a clock."""

    def __init__(self, spend_on_fit, spend_on_predict, learner=None):
        self.spend_on_fit = spend_on_fit
        self.spend_on_predict = spend_on_predict
        self.learner = learner

    def fit(self, X, y):
        self.spend_on_fit(X, y)
        learner = DecisionTreeClassifier(random_state=0) if self.learner is None else self.learner
        self.model_ = learner.fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        self.spend_on_predict(X)
        return self.model_.predict(X)


def a_session(X, y, cost, *, limit, teacher, seed=0, exam=2e-6, learner=None, **settings):
    """Return a fitted classifier; its learner fits in `cost(X, y)` seconds and predicts in `exam` seconds a row."""
    backend = KillableInline()
    clock = backend.clock
    costly = CostlyClassifier(lambda X, y: clock.advance(cost(X, y)), lambda X: clock.advance(exam * len(X)), learner)
    return TimeConstrainedClassifier(
        costly, time_limit=limit, teacher=teacher, backend=backend, progress=False, random_state=seed, **settings
    ).fit(X, y)
