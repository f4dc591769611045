"""Sessions with a memory limit, by a runner that knows what its learner takes and stops it above the limit."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import FitwithinError, NoModelInMemory, TimeConstrainedClassifier
from fitwithin.backends import Inline, OutOfMemory
from fitwithin.backends._inline import InlineRunner
from fitwithin.teachers import SGD, TCT, Auto, Double, Exam, Full, Lesson
from fitwithin.testing import FakeClock

MB = 1_000_000
BASE = 100 * MB
ROWS = 50_000


class WatchedRunner(InlineRunner):
    """A runner whose learner takes `fit_bytes(rows)` and `exam_bytes(rows)` beside its process."""

    killable = True

    def __init__(self, budget, backend):
        super().__init__(budget)
        self.backend = backend

    def fit(self, rows, **others):
        self.backend.fits.append(len(rows))
        self._budget.clock.advance(1)
        peak = self._stop_above(BASE + self.backend.fit_bytes(len(rows)))
        return replace(super().fit(rows, **others), peak_memory=peak, memory_before=BASE)

    def examine(self, exam):
        peak = self._stop_above(BASE + self.backend.exam_bytes(len(exam.rows)))
        return replace(super().examine(exam), peak_memory=peak)

    def save(self):
        self._stop_above(BASE + self.backend.save_bytes(self.backend.fits[-1]))
        return super().save()

    def _stop_above(self, peak):
        limit = self._prepared.settings.memory_limit
        if limit is not None and peak > limit:
            self._newest = None
            raise OutOfMemory(limit + MB, limit)
        return peak


class Watched(Inline):
    """Runs a learner in this process, and pretends that it takes memory."""

    def __init__(self, fit_bytes, exam_bytes=lambda rows: 0, save_bytes=lambda rows: 0):
        super().__init__(clock=FakeClock())
        self.fit_bytes, self.exam_bytes, self.save_bytes = fit_bytes, exam_bytes, save_bytes
        self.fits = []

    def open(self, budget):
        return WatchedRunner(budget, self)


def proportional(rows):
    return 20_000 * rows


def jumping(rows):
    """Little memory up to 3,000 rows, and too much above, which no earlier fit shows."""
    return 1000 * rows if rows <= 3000 else 10_000 * MB


def a_fit(backend, teacher, *, limit="300MB", on_round=None):
    X = np.random.default_rng(0).random((ROWS, 3))
    classifier = TimeConstrainedClassifier(
        GaussianNB(),
        time_limit=1000,
        teacher=teacher,
        backend=backend,
        memory_limit=limit,
        progress=False,
        on_round=on_round,
        random_state=0,
    )
    return classifier.fit(X, (X.sum(axis=1) > 1.5).astype(int))


def test_without_a_limit_the_peak_of_each_round_is_in_the_history():
    clf = a_fit(Watched(proportional, lambda rows: 7_000 * MB), Double(first=10_000), limit=None)

    assert [finished.peak_memory for finished in clf.history_] == [300 * MB, 500 * MB, 900 * MB, 1100 * MB]
    assert clf.memory_limit_ is None
    assert clf.stop_reason_ == "all rows"


@pytest.mark.parametrize("teacher", [TCT(first=1000), Double(first=1000)])
def test_a_teacher_that_cannot_plan_ends_before_the_lesson_that_is_too_large(teacher):
    backend = Watched(proportional)

    clf = a_fit(backend, teacher)

    assert clf.stop_reason_ == "memory"
    assert clf.memory_limit_ == 300 * MB
    assert backend.fits == [1000, 2000, 4000, 8000]
    assert clf.n_rows_trained_ in backend.fits
    assert clf.history_[-1].peak_memory == 260 * MB
    assert clf.lost_seconds_ == 0


@pytest.mark.parametrize("teacher", [TCT(first=1000), Double(first=1000)])
def test_a_learner_that_is_stopped_leaves_the_best_model_before(teacher):
    backend = Watched(jumping)

    clf = a_fit(backend, teacher)

    assert clf.stop_reason_ == "memory"
    assert backend.fits == [1000, 2000, 4000]
    assert clf.n_rows_trained_ in (1000, 2000)
    assert [finished.rows for finished in clf.history_] == [1000, 2000]
    assert (clf.time_used_, clf.lost_seconds_) == (3, 1)


@pytest.mark.parametrize("teacher", [Auto(), TCT(first=1000), Full()])
def test_in_the_first_round_the_error_has_the_figures(teacher):
    with pytest.raises(NoModelInMemory) as refused:
        a_fit(Watched(lambda rows: 10_000 * MB), teacher)

    assert isinstance(refused.value, MemoryError)
    assert isinstance(refused.value, FitwithinError)
    assert "No model within the memory limit of 300 MB: in round 1, training on" in str(refused.value)
    assert "the learner took 301 MB and was stopped. Allow more memory. Or begin with fewer rows" in str(refused.value)


@pytest.mark.parametrize("teacher", [Auto(), TCT(first=1000)])
def test_a_first_model_whose_predictions_take_too_much_is_no_model(teacher):
    with pytest.raises(NoModelInMemory, match="in round 1, predicting"):
        a_fit(Watched(lambda rows: 0, lambda rows: 10_000 * MB), teacher)


def test_auto_uses_lessons_up_to_the_limit_and_never_begins_one_above_it():
    backend = Watched(proportional)

    clf = a_fit(backend, "auto")

    assert clf.stop_reason_ == "memory"
    assert BASE + proportional(max(backend.fits)) <= 300 * MB
    assert clf.n_rows_trained_ >= 0.75 * 10_000
    assert len(backend.fits) == len(clf.history_)


def test_auto_teaches_every_row_if_the_limit_allows_it():
    clf = a_fit(Watched(proportional), "auto", limit="1.2GB")

    assert clf.stop_reason_ == "all rows"


def test_auto_tries_a_smaller_lesson_after_a_stop():
    backend = Watched(jumping)

    clf = a_fit(backend, Auto())

    assert clf.stop_reason_ == "memory"
    stops = [number for number, rows in enumerate(backend.fits) if rows > 3000]
    assert stops
    assert backend.fits[stops[0] :] == sorted(backend.fits[stops[0] :], reverse=True)
    assert backend.fits[-1] <= 3000
    assert clf.n_rows_trained_ in [rows for rows in backend.fits if 1000 < rows <= 3000]


def test_rows_of_a_stopped_lesson_can_be_taught_again():
    backend = Watched(lambda rows: jumping(rows) if len(backend.fits) < 4 else 0)

    clf = a_fit(backend, Auto(), limit="300MB")

    taught = [finished.rows for finished in clf.history_]
    assert len(backend.fits) > len(taught)
    assert taught == sorted(taught)


def test_a_stop_in_the_first_bet_leaves_the_model_before_and_a_smaller_bet():
    backend = Watched(lambda rows: 10_000 * MB if len(backend.fits) == 2 else 0)

    clf = a_fit(backend, "auto")

    first, stopped, *others = backend.fits
    assert others
    assert all(first < rows < stopped for rows in others)
    assert clf.stop_reason_ == "memory"
    assert clf.n_rows_trained_ == others[-1]


def test_predictions_that_take_too_much_end_the_session_with_the_model_before():
    backend = Watched(lambda rows: 0, lambda rows: 10_000 * MB if len(backend.fits) > 1 else 0)

    clf = a_fit(backend, TCT(first=1000))

    assert clf.stop_reason_ == "memory"
    assert clf.n_rows_trained_ == 1000


def test_a_model_that_takes_too_much_to_save_gives_way_to_the_one_before():
    backend = Watched(lambda rows: 0, save_bytes=lambda rows: 10_000 * MB if rows > 3000 else 0)

    clf = a_fit(backend, "auto")

    assert clf.stop_reason_ == "memory"
    assert 0 < clf.n_rows_trained_ <= 3000


def test_mini_batches_go_on_since_their_memory_does_not_grow():
    clf = a_fit(Watched(proportional), SGD(batch=1000), on_round=lambda finished: finished.number == 20)

    assert clf.stop_reason_ == "on_round"


def test_a_teacher_of_ones_own_can_catch_the_stop_and_ask_for_less():
    stops = []

    class Careful:
        returns = "best"

        def teach(self, deck):
            yield Lesson(np.arange(1000))
            yield Exam(np.arange(40_000, 41_000))
            try:
                yield Lesson(np.arange(30_000))
            except OutOfMemory as stop:
                stops.append((stop.n_bytes > stop.limit, stop.limit))
                yield Lesson(np.arange(2000))
                yield Exam(np.arange(40_000, 41_000))
            return "memory"

    clf = a_fit(Watched(proportional), Careful())

    assert stops == [(True, 300 * MB)]
    assert [finished.rows for finished in clf.history_] == [1000, 2000]
    assert clf.stop_reason_ == "memory"


@pytest.mark.parametrize("limit", ["8G", "120%", 0])
def test_a_limit_that_cannot_be_read_is_refused_before_anything_is_fitted(limit):
    backend = Watched(proportional)

    with pytest.raises(ValueError, match="memory_limit must be"):
        a_fit(backend, "auto", limit=limit)

    assert not backend.fits


HUNGRY_FIT = """
import json, sys, warnings
import numpy as np
from sklearn.naive_bayes import GaussianNB
from fitwithin import TimeConstrainedClassifier
from fitwithin.teachers import TCT

class HungryNaiveBayes(GaussianNB):
    # Takes 50 bytes for each byte of its rows while it fits.
    def fit(self, X, y):
        ballast = np.ones(50 * X.nbytes, dtype=np.uint8)
        self.ballast_ = int(ballast[-1])
        return super().fit(X, y)

limit, rows = json.loads(sys.argv[1])
X = np.random.default_rng(0).random((rows, 10))
clf = TimeConstrainedClassifier(
    HungryNaiveBayes(), teacher=TCT(first=2000), backend="inline", memory_limit=limit, progress=False, random_state=0
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    clf.fit(X, (X.sum(axis=1) > 5).astype(int))
peaks = [finished.peak_memory for finished in clf.history_]
print(json.dumps([clf.stop_reason_, clf.n_rows_trained_, peaks, [str(warning.message) for warning in caught]]))
"""


def fit_inline(limit, rows=200_000):
    """Fit in a program of its own: the memory that this one took and gave back would count."""
    program = [sys.executable, "-c", HUNGRY_FIT, json.dumps([limit, rows])]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def test_inline_plans_by_the_limit_and_warns_that_it_can_do_no_more():
    stop_reason, n_rows_taught, peaks, (warning,) = fit_inline("200MB")

    assert "cannot stop a running fit. memory_limit only keeps a fit from starting" in warning
    # A row takes 4 kB: 50,000 rows are the limit.
    assert stop_reason == "memory"
    assert n_rows_taught == 32_000
    assert 128 * MB <= peaks[-1] <= 200 * MB


def test_inline_without_a_limit_warns_of_nothing():
    _, _, peaks, caught = fit_inline(None, rows=5000)

    assert not caught
    assert peaks[0] is None
