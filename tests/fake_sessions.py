"""Sessions on a clock that only the learner moves, and that kills it at the deadline as a process would be."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.exceptions import OutOfTime
from fitwithin.backends import Inline
from fitwithin.backends._inline import InlineRunner
from fitwithin.testing import FakeClock


class Killed(BaseException):
    """The deadline came while the learner was at work."""


class KillingClock(FakeClock):
    """Stands still at the deadline, and kills whoever wants more."""

    deadline = np.inf

    def advance(self, seconds):
        if self.now + seconds <= self.deadline:
            super().advance(seconds)
        else:
            self.now = self.deadline
            raise Killed


class KillableSeat(InlineRunner):
    """A runner in this process for a learner that goes by a `KillingClock`."""

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


class Killable(Inline):
    """Runs the learner in this process as if it could be killed."""

    def __init__(self):
        super().__init__(clock=KillingClock())

    def open(self, budget):
        return KillableSeat(budget)


class Costly(ClassifierMixin, BaseEstimator):
    """A tree that takes its time: `fitting` and `predicting` are called with what there is to do, and move a clock."""

    def __init__(self, fitting, predicting, learner=None):
        self.fitting = fitting
        self.predicting = predicting
        self.learner = learner

    def fit(self, X, y):
        self.fitting(X, y)
        learner = DecisionTreeClassifier(random_state=0) if self.learner is None else self.learner
        self.model_ = learner.fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        self.predicting(X)
        return self.model_.predict(X)


def a_session(X, y, cost, *, limit, teacher, seed=0, exam=2e-6, learner=None, **settings):
    """A fitted classifier whose learner takes `cost(X, y)` seconds to train, and some for each row to classify."""
    backend = Killable()
    clock = backend.clock
    costly = Costly(lambda X, y: clock.advance(cost(X, y)), lambda X: clock.advance(exam * len(X)), learner)
    return TimeConstrainedClassifier(
        costly, time_limit=limit, teacher=teacher, backend=backend, progress=False, random_state=seed, **settings
    ).fit(X, y)
