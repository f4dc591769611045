"""A last fit of the best model with every row, and fits that give up after a few steps."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from checkpoint_fits import make_fit, make_rows
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline, register_early_stopping
from fitwithin.teachers import Auto, Exam, Lesson
from fitwithin.testing import FakeClock
from simulated_sessions import KillableInline, a_session

ROWS = 1000
LESSON, VALIDATION, HOLDOUT = np.arange(800), np.arange(800, 900), np.arange(900, 1000)


def a_pool(n_rows=ROWS):
    """Features that hold the label, and how hard the row is."""
    y = np.arange(n_rows) % 2
    return np.column_stack([y, np.random.default_rng(0).permutation(n_rows) / n_rows]), y


class Stepwise(ClassifierMixin, BaseEstimator):
    """Ten steps of a second each; right on a share of the rows that depends on how many it was taught, and on steps."""

    def __init__(self, clock=None, skill=None):
        self.clock = clock
        self.skill = skill

    def fit(self, X, y):
        self.take_steps(X, y, range(10))
        return self

    def take_steps(self, X, y, steps):
        self.classes_, self.taught_, self.steps_ = np.unique(y), len(X), 0
        for _ in steps:
            self.clock().advance(1.0)
            self.steps_ += 1

    def predict(self, X):
        skill = self.skill(self.taught_) * self.steps_ / 10
        return np.where(X[:, 1] < skill, X[:, 0], 1 - X[:, 0]).astype(int)


def stop_between_steps(learner, X, y, stop_signal, params):
    learner.take_steps(X, y, stop_signal.steps(10))


register_early_stopping(Stepwise, stop_between_steps)


class TeachThenRefit:
    """One lesson with its exams, and the same model again with every row."""

    returns = "best"

    def __init__(self, *, stop_after=None, before=()):
        self.stop_after = stop_after
        self.before = before
        self.reports = []

    def teach(self, deck):
        exams = Exam(HOLDOUT, "holdout"), Exam(VALIDATION, "validation")
        refit = Lesson(np.arange(ROWS), exams=exams[1:], stop_after=self.stop_after, refit=True)
        for lesson in (*self.before, Lesson(LESSON, exams=exams), refit):
            self.reports.append((yield lesson))
        return "all rows"


def fit(teacher, *, skill=lambda rows: 0.8, backend=None, time_limit=100):
    backend = Inline(clock=FakeClock()) if backend is None else backend
    clf = TimeConstrainedClassifier(
        Stepwise(lambda: backend.clock, skill),
        time_limit=time_limit,
        teacher=teacher,
        backend=backend,
        progress=False,
        random_state=0,
    )
    return clf.fit(*a_pool())


def test_a_refit_replaces_the_best_model_and_keeps_its_estimates():
    teacher = TeachThenRefit()
    clf = fit(teacher)

    assert [report.is_best for report in teacher.reports] == [True, True]
    before, refit = clf.history_
    assert clf.n_rows_trained_ == clf.best_estimator_.taught_ == clf.n_rows_in_ == ROWS
    assert clf.score_estimate_[0] == pytest.approx(0.8, abs=0.1)
    assert refit.best
    # A score on rows that it was trained on would be too high.
    assert refit.estimate is None
    assert before.estimate is not None
    assert clf.class_count_trained_.tolist() == [500, 500]


def test_a_refit_that_is_worse_on_rows_that_it_has_seen_is_not_returned():
    teacher = TeachThenRefit()
    clf = fit(teacher, skill=lambda rows: 0.8 if rows < ROWS else 0.6)

    assert [report.is_best for report in teacher.reports] == [True, False]
    assert clf.n_rows_trained_ == 800
    assert [finished.best for finished in clf.history_] == [True, False]
    assert clf.score_estimate_ is not None


def test_a_refit_that_was_cut_short_leaves_the_model_before_it():
    teacher = TeachThenRefit(stop_after=3.0)
    clf = fit(teacher, skill=lambda rows: 0.4 if rows < ROWS else 1.0)

    refit = teacher.reports[-1]
    assert (refit.was_cut_short, refit.is_best) == (True, False)
    assert refit.steps < refit.planned_steps == 10
    assert clf.n_rows_trained_ == 800
    assert clf.best_estimator_.steps_ == 10


def test_a_refit_that_is_killed_leaves_the_model_before_it():
    clf = fit(TeachThenRefit(), backend=KillableInline(), time_limit=15)

    assert clf.stop_reason_ == "time"
    assert clf.time_used_ <= 15
    assert clf.n_rows_trained_ == 800
    assert clf.score_estimate_ is not None


def test_a_fit_that_gave_up_is_never_the_best_model_and_its_steps_tell_what_all_would_take():
    teacher = TeachThenRefit(before=(Lesson(np.arange(600), give_up_over=5.0),))

    clf = fit(teacher)

    report = teacher.reports[0]
    assert (report.gave_up, report.is_best) == (True, None)
    assert 0 < report.steps < report.planned_steps == 10
    assert report.seconds == report.steps
    assert clf.n_rows_trained_ == ROWS
    assert not any(finished.best for finished in clf.history_ if finished.rows == 600)
    # A few steps and two whole fits, the seconds of which are known before.
    assert 21 < clf.time_used_ < 30
    assert all(finished.predicted_fit == pytest.approx(10, rel=0.5) for finished in clf.history_[-2:])


def make_fine_rows(n_rows=3000):
    """Rows whose labels, those of a chessboard, make a refit worth its time."""
    X, _ = make_rows(n_rows)
    return X, (X[:, :2] * 8).astype(int).sum(axis=1) % 2


@pytest.mark.parametrize("how", ["checkpoint", "warm_start"])
def test_a_fit_goes_on_from_a_refit_and_compares_with_the_score_before_it(how, tmp_path):
    X, y = make_fine_rows()
    settings = {"checkpoint": tmp_path / "fit.ckpt"} if how == "checkpoint" else {"warm_start": True}
    teacher = Auto()
    clf = make_fit(time_limit=100, teacher=teacher, **settings).fit(X, y)
    assert clf.n_rows_trained_ == len(X)
    first, used = clf.history_, clf.time_used_

    if how == "checkpoint":
        clf = make_fit(time_limit=1000, teacher=teacher, **settings)
    again = clf.fit(X, y)

    # Nothing is left to do.
    assert again.history_ == first
    assert again.n_rows_trained_ == len(X)
    assert again.stop_reason_ == "all rows"
    assert again.score_estimate_ is not None
    assert again.time_used_ == pytest.approx(used)


def test_a_stored_refit_gives_way_only_to_a_model_with_the_score_of_its_sibling():
    X, y = make_fine_rows()
    clf = make_fit(time_limit=100, teacher=Auto(), warm_start=True).fit(X, y)
    fingerprint, state = clf._kept_state
    sibling = [finished for finished in clf.history_ if finished.best][-2]
    assert state.best.estimate.value == sibling.estimate
    # As if the time had been up: the next fit goes on.
    clf._kept_state = fingerprint, replace(state, stop_reason="time")

    clf.fit(X, y)

    assert clf.n_rows_trained_ == len(X)
    assert clf._kept_state[1].best.estimate.value >= sibling.estimate
    assert clf.score_estimate_ is not None


@pytest.mark.parametrize("n_rows", [20, 21, 49, 333, 500, 501, 777, 2000])
@pytest.mark.parametrize("limit", [1.0, 1000.0])
def test_every_model_of_auto_has_an_estimate(n_rows, limit):
    X, y = make_rows(n_rows)

    clf = a_session(X, y, lambda X, y: 1e-3 * len(X), limit=limit, teacher=Auto())

    assert clf.score_estimate_ is not None
    assert clf.time_used_ <= limit
    assert clf.n_rows_trained_ <= clf.n_rows_in_ == n_rows
