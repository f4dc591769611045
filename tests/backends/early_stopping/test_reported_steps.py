"""Learners report the steps of a fit, and those whose steps are unknown never give up."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.fake_stop_signal import questions

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import FitLimits, FitSettings, Inline, StopSignal, register_early_stopping
from fitwithin.backends._early_stopping import registry
from fitwithin.backends._early_stopping.registry import find_early_stopping, knows_steps

X = np.random.default_rng(0).normal(size=(300, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
ENOUGH = 10**9


def counted(learner, stop_signal):
    find_early_stopping(learner)(learner, X, Y, stop_signal, {})
    return stop_signal


def boosters():
    yield GradientBoostingClassifier(n_estimators=20)
    yield HistGradientBoostingClassifier(max_iter=20)
    yield RandomForestClassifier(20)
    yield make_pipeline(StandardScaler(), RandomForestClassifier(20))
    for module, name, options in (
        ("lightgbm", "LGBMClassifier", {"n_estimators": 20, "verbose": -1}),
        ("xgboost", "XGBClassifier", {"n_estimators": 20}),
        ("catboost", "CatBoostClassifier", {"iterations": 20, "verbose": False, "allow_writing_files": False}),
    ):
        yield pytest.param((module, name, options), id=name)


@pytest.fixture(params=boosters(), ids=lambda learner: type(learner).__name__)
def booster(request):
    if not isinstance(request.param, tuple):
        return request.param
    module, name, options = request.param
    return getattr(pytest.importorskip(module), name)(**options)


def test_a_learner_with_known_steps_counts_them(booster):
    complete = counted(booster, StopSignal(ENOUGH))

    assert knows_steps(booster)
    assert (complete.n_steps, complete.planned_steps, complete.skipped_seconds) == (20, 20, 0)


def test_a_learner_with_known_steps_that_is_stopped_says_so(booster):
    stopped = counted(booster, questions(8))

    assert 1 <= stopped.n_steps < stopped.planned_steps == 20


def test_a_learner_with_known_steps_gives_up_after_the_first(booster):
    stop_signal = questions(ENOUGH)
    stop_signal.give_up_over = 5

    counted(booster, stop_signal)

    assert stop_signal.gave_up
    assert 4 <= stop_signal.n_steps < stop_signal.planned_steps == 20


SOLVERS = [
    SGDClassifier(max_iter=400, tol=None),
    LogisticRegression(solver="sag", max_iter=400, tol=1e-12),
    LogisticRegression(max_iter=400, tol=1e-15),
    MLPClassifier(solver="adam", max_iter=400, tol=0, n_iter_no_change=400),
]


@pytest.mark.parametrize("learner", SOLVERS, ids=str)
def test_a_solver_that_is_stopped_reports_its_iterations(learner):
    stopped = counted(learner, questions(3))

    assert not knows_steps(learner)
    assert stopped.n_steps < stopped.planned_steps == 400
    assert stopped.skipped_seconds > 0


@pytest.mark.parametrize(
    "learner",
    [
        SGDClassifier(random_state=0),
        LogisticRegression(),
        MLPClassifier(tol=0.1, random_state=0),
        make_pipeline(SGDClassifier(random_state=0)),
    ],
    ids=str,
)
def test_a_solver_that_converges_is_complete_and_never_gives_up(learner):
    stop_signal = StopSignal(ENOUGH, give_up_over=0.0)

    counted(learner, stop_signal)

    assert not knows_steps(learner)
    assert not stop_signal.gave_up
    assert stop_signal.n_steps == stop_signal.planned_steps > 0
    assert stop_signal.skipped_seconds == 0


def reported(learner, stop_after):
    """The report of a fit on all rows, on a clock that moves by a second with every look at it."""
    ticks = itertools.count()
    backend = Inline(clock=lambda: float(next(ticks)))
    with backend.open(Budget(ENOUGH, clock=backend.clock)) as runner:
        settings = FitSettings(early_stopping=find_early_stopping(learner))
        runner.prepare(learner, TablePool(X, Labels.encode(Y)), settings)
        return runner.fit(np.arange(len(X)), limits=FitLimits(stop_after=stop_after))


CONVERGING = {
    "network": MLPClassifier(tol=0.1, random_state=0),
    "network, lbfgs": MLPClassifier((3,), solver="lbfgs", tol=0.1, max_iter=400, random_state=0),
    "SGD": SGDClassifier(random_state=0),
    "logistic regression": LogisticRegression(),
    "logistic regression, saga": LogisticRegression(solver="saga", max_iter=400, random_state=0),
}


@pytest.mark.parametrize("learner", CONVERGING.values(), ids=CONVERGING.keys())
def test_a_fit_that_converged_before_its_last_iteration_was_not_cut_short(learner):
    report = reported(learner, ENOUGH)

    assert not report.was_cut_short
    assert 1 <= report.steps == report.planned_steps < learner.max_iter


@pytest.mark.parametrize("learner", CONVERGING.values(), ids=CONVERGING.keys())
def test_the_same_fit_was_cut_short_if_the_time_ended_it(learner):
    report = reported(learner, 3)

    assert report.was_cut_short
    assert 1 <= report.steps < report.planned_steps == learner.max_iter


def test_a_learner_that_cannot_stop_knows_no_steps():
    assert not knows_steps(DecisionTreeClassifier())


def test_a_registered_learner_says_whether_it_knows_its_steps(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    for answer in (True, False):
        register_early_stopping(DecisionTreeClassifier, lambda *_: None, knows_steps=answer)
        assert knows_steps(make_pipeline(DecisionTreeClassifier())) is answer
