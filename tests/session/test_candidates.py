"""Sessions with several learners: a failing candidate is out, and the others go on."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, LearnerRaised
from fitwithin._core.preference import Candidate
from fitwithin._core.records import Answers, Estimate, Lesson
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.round_tracker import OpenRound
from fitwithin._session.selection import KeptModel, ModelSelector
from fitwithin.teachers import Exam


class Raising(GaussianNB):
    def fit(self, X, y):
        raise ValueError("no such setting")


class Dying(GaussianNB):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Sleeping(GaussianNB):
    def fit(self, X, y):
        time.sleep(60)


class SleepingInPredict(GaussianNB):
    def predict(self, X):
        time.sleep(60)


class TryAll:
    """Teach each learner once, and note the result; its exam is named by the lesson, or asked for after it."""

    returns = "best"
    validates = True

    def __init__(self, learners, named):
        self.learners = learners
        self.named = named
        self.failures = {}
        self.candidates = []

    def teach(self, deck):
        rows, exam = deck.deal(2000), Exam(deck.deal(1000), purpose="validation")
        for number, learner in enumerate(self.learners):
            candidate = Candidate(number, learner, deck.costs.for_other_learner())
            self.candidates.append(candidate)
            try:
                exams = (exam,) if self.named else ()
                # On a busy machine the others may take seconds to import their modules.
                kill_after = 2.0 if isinstance(learner, Sleeping | SleepingInPredict) else 20.0
                yield Lesson(rows, exams, stop_after=10.0, candidate=candidate, kill_after=kill_after)
                if not self.named:
                    yield exam
            except (LearnerRaised, LearnerDied) as failure:
                self.failures[number] = str(failure)
        return "all rows"


def fit_all(learners, backend="process", *, named=True):
    rng = np.random.default_rng(0)
    X = rng.random((6000, 5))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    teacher = TryAll(learners, named)
    clf = TimeConstrainedClassifier(GaussianNB(), time_limit=60, teacher=teacher, backend=backend, progress=False)
    return clf.fit(X, y), teacher


def test_the_best_of_several_learners_comes_back_with_its_number():
    learners = [GaussianNB(), DecisionTreeClassifier(max_depth=6), DecisionTreeClassifier(max_depth=1)]
    clf, teacher = fit_all(learners)

    assert not teacher.failures
    assert isinstance(clf.best_estimator_, DecisionTreeClassifier)
    assert clf.best_estimator_.max_depth == 6
    assert [finished.candidate for finished in clf.history_] == [0, 1, 2]
    assert [finished.best for finished in clf.history_] == [True, True, False]


def test_each_candidate_has_a_cost_of_its_own():
    _, teacher = fit_all([GaussianNB(), DecisionTreeClassifier()])

    assert all(candidate.costs.cost.fits.largest_known_rows == 2000 for candidate in teacher.candidates)
    assert teacher.candidates[0].costs.cost is not teacher.candidates[1].costs.cost


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (Raising(), "no such setting"),
        (Dying(), "killed by SIGKILL"),
        (Sleeping(), "it was stopped after 2 s, its share of the time"),
        (SleepingInPredict(), "it was stopped after 2 s, its share of the time"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("named", [False, True], ids=["exams alone", "exams of lessons"])
def test_a_candidate_that_fails_is_told_to_the_teacher_and_the_next_one_is_fitted(learner, reason, named):
    clf, teacher = fit_all([learner, DecisionTreeClassifier(max_depth=6)], named=named)

    assert reason in teacher.failures[0]
    assert isinstance(clf.best_estimator_, DecisionTreeClassifier)
    assert clf.stop_reason_ == "time"
    assert [finished.candidate for finished in clf.history_] == [1]


def test_a_later_candidate_that_fails_in_its_exam_leaves_the_best_model():
    clf, teacher = fit_all([DecisionTreeClassifier(max_depth=6), SleepingInPredict()])

    assert "it was stopped after 2 s" in teacher.failures[1]
    assert isinstance(clf.best_estimator_, DecisionTreeClassifier)
    assert [finished.candidate for finished in clf.history_] == [0]


def test_candidates_run_in_this_process_too():
    clf, teacher = fit_all([Raising(), DecisionTreeClassifier(max_depth=6)], backend="inline")

    assert "no such setting" in teacher.failures[0]
    assert isinstance(clf.best_estimator_, DecisionTreeClassifier)


class Model:
    def discard(self):
        """There is nothing to discard."""


def prefers(number, value, best_number, *, n_rows=10):
    candidates = [Candidate(i, None, CostEstimates(), has_own_settings=i == 0) for i in range(3)]
    selector = ModelSelector("best")
    best = ModelRecord(1, 10, rows=np.arange(10), estimate=Estimate(0.80, 0.78, 0.82))
    selector.replace_best(KeptModel(Model(), best, validated(0.80), candidates[best_number]))
    rows = np.arange(n_rows)
    lesson = Lesson(rows, candidate=candidates[number])
    new = OpenRound(2, lesson, 0, 0, n_rows, None, False, None, None, 0.0, validation=validated(value))
    return selector.prefers(new)


def validated(value):
    """Answers on validation rows, with a standard error of 0.0102."""
    return Answers(np.arange(4), np.zeros(4, dtype=bool), None, Estimate(value, value - 0.02, value + 0.02))


def test_the_learners_own_settings_are_replaced_only_by_a_clearly_better_candidate():
    assert not prefers(1, 0.82, 0)
    assert prefers(1, 0.84, 0)


def test_own_settings_on_fewer_rows_are_replaced_by_any_better_candidate():
    assert prefers(1, 0.805, 0, n_rows=1000)


def test_own_settings_on_as_many_rows_come_back_unless_they_are_clearly_worse():
    assert prefers(0, 0.79, 1)
    assert not prefers(0, 0.75, 1)


def test_own_settings_on_fewer_rows_must_be_better():
    assert not prefers(0, 0.79, 1, n_rows=5)
    assert prefers(0, 0.81, 1, n_rows=5)


def test_another_candidate_is_replaced_by_one_with_a_higher_score_and_more_rows_alone_are_no_reason():
    assert prefers(2, 0.801, 1)
    assert not prefers(2, 0.80, 1, n_rows=1000)
    assert not prefers(2, 0.799, 1, n_rows=30)
    assert not prefers(2, 0.799, 1, n_rows=1000)
    assert not prefers(2, 0.75, 1, n_rows=1000)


def test_a_candidate_is_replaced_by_its_own_model_on_more_rows_unless_that_is_clearly_worse():
    assert prefers(1, 0.799, 1, n_rows=1000)
    assert not prefers(1, 0.75, 1, n_rows=1000)
