"""The seconds of a fit until its first step, on a clock that only a transformer and the steps move."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier
from xgboost.callback import TrainingCallback

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import FitLimits, FitSettings, Inline, Process, StopSignal
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.testing import FakeClock

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM 4.6 warns for any array
]

X = np.random.default_rng(0).normal(size=(200, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, 0)
SETUP_SECONDS = 5.0
STEPS = 8


class SlowTransformer(TransformerMixin, BaseEstimator):
    """Takes five seconds."""

    def __init__(self, clock):
        self.clock = clock

    def fit(self, X, y=None):
        self.clock().advance(SETUP_SECONDS)
        self.is_fitted_ = True
        return self

    def transform(self, X):
        return X


class SlowTree(DecisionTreeClassifier):
    """Takes a second."""

    def __init__(self, clock=None):
        super().__init__(random_state=0)
        self.clock = clock

    def fit(self, X, y, **params):
        self.clock().advance(1)
        return super().fit(X, y, **params)


def lightgbm(clock):
    return LGBMClassifier(n_estimators=STEPS, n_jobs=1, verbose=-1), {"callbacks": [lambda env: clock().advance(1)]}


def xgboost(clock):
    class Slow(TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            clock().advance(1)
            return False

    return XGBClassifier(n_estimators=STEPS, n_jobs=1, callbacks=[Slow()]), {}


def catboost(clock):
    class Slow:
        def after_iteration(self, info):
            clock().advance(1)
            return True

    learner = CatBoostClassifier(iterations=STEPS, thread_count=1, verbose=0, allow_writing_files=False)
    return learner, {"callbacks": [Slow()]}


def gradient_boosting(clock):
    return GradientBoostingClassifier(n_estimators=STEPS), {"monitor": lambda *stage: clock().advance(1)}


def histogram_boosting(clock):
    n_scores = 0

    def score(model, X, y):
        # The first score is the one before the first iteration.
        nonlocal n_scores
        clock().advance(1 if n_scores else 0)
        n_scores += 1
        return n_scores

    return HistGradientBoostingClassifier(
        max_iter=STEPS, early_stopping=True, validation_fraction=None, scoring=score
    ), {}


def bagging(clock):
    return BaggingClassifier(SlowTree(clock), n_estimators=STEPS), {}


LEARNERS = [lightgbm, xgboost, catboost, gradient_boosting, histogram_boosting, bagging]


def fit_on(clock, make_learner, seconds):
    """Fit a pipeline whose last step takes a second for each of its steps; return its stop signal."""
    # A clone of the pipeline copies its parameters, but not the closure that holds the clock.
    last_step, params = make_learner(lambda: clock)
    learner = Pipeline([("slow", SlowTransformer(lambda: clock)), ("last", last_step)])
    stop_signal = StopSignal(seconds, clock=clock)
    routed = {f"last__{name}": value for name, value in params.items()}
    find_early_stopping(learner)(learner, X, Y, stop_signal, routed)
    return stop_signal


@pytest.mark.parametrize("make_learner", LEARNERS)
@pytest.mark.parametrize("seconds", [1e6, 12.5])
def test_setup_and_steps_add_up_to_the_fit(make_learner, seconds):
    clock = FakeClock()

    stop_signal = fit_on(clock, make_learner, seconds)

    assert stop_signal.setup_seconds == pytest.approx(SETUP_SECONDS)
    n_steps = clock() - stop_signal.setup_seconds
    assert n_steps == STEPS if seconds == 1e6 else 1 < n_steps < STEPS
    assert (stop_signal.skipped_seconds > 0) is (n_steps < STEPS)


@pytest.mark.parametrize("make_learner", [lightgbm, xgboost, histogram_boosting])
def test_a_fit_that_is_stopped_after_one_step_tells_it_from_its_setup(make_learner):
    clock = FakeClock()

    stop_signal = fit_on(clock, make_learner, 0)

    assert clock() == SETUP_SECONDS + 1
    assert stop_signal.setup_seconds == SETUP_SECONDS
    assert stop_signal.skipped_seconds == STEPS - 1


@pytest.mark.parametrize("make_learner", [catboost, gradient_boosting, bagging])
def test_a_single_step_counts_as_setup(make_learner):
    clock = FakeClock()

    stop_signal = fit_on(clock, make_learner, 0)

    assert stop_signal.setup_seconds == clock() == SETUP_SECONDS + 1


ONE_STEP = {
    "forest": RandomForestClassifier(1),
    "XGBoost": XGBClassifier(n_estimators=1, n_jobs=1),
    "lbfgs": LogisticRegression(max_iter=1),
    "SGD": SGDClassifier(max_iter=1, tol=None),
    "network": MLPClassifier((2,), max_iter=1),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=1),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", ONE_STEP.values(), ids=ONE_STEP.keys())
def test_a_complete_fit_of_one_step_has_its_setup_too(learner):
    clock = FakeClock()
    pipeline = Pipeline([("slow", SlowTransformer(lambda: clock)), ("last", learner)])
    stop_signal = StopSignal(1e6, clock=clock)

    find_early_stopping(pipeline)(pipeline, X, Y, stop_signal, {})

    assert stop_signal.setup_seconds == SETUP_SECONDS


class SlowPool(TablePool):
    """Takes three seconds to read rows."""

    clock = FakeClock()

    def read(self, rows):
        self.clock.advance(3)
        return super().read(rows)


def test_reading_the_rows_is_no_setup():
    learner = Pipeline([("slow", SlowTransformer(lambda: SlowPool.clock)), ("last", RandomForestClassifier(2))])
    backend = Inline(clock=SlowPool.clock)

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(learner, SlowPool(X, Labels.encode(Y)), FitSettings(early_stopping=find_early_stopping(learner)))
        report = runner.fit(np.arange(100), limits=FitLimits(stop_after=20.0))

    assert (report.handover_seconds, report.fit_seconds, report.setup_seconds) == (3, 5, 5)


@pytest.mark.parametrize(
    "start",
    ["inline", pytest.param("fork", marks=pytest.mark.slow), pytest.param("spawn", marks=pytest.mark.slow)],
)
def test_the_report_of_a_fit_has_its_setup_if_it_was_told_when_to_stop(start):
    backend = Inline() if start == "inline" else Process(start=start)
    learner = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)

    with backend.open(Budget(60, clock=backend.clock)) as runner:
        runner.prepare(
            learner, TablePool(X, Labels.encode(Y)), FitSettings(early_stopping=find_early_stopping(learner))
        )
        told = runner.fit(np.arange(200), limits=FitLimits(stop_after=50.0))
        untold = runner.fit(np.arange(200))

    assert 0 < told.setup_seconds < told.fit_seconds
    assert untold.setup_seconds is None
