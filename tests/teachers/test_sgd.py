"""SGD: one model that continues learning from mini-batches, compared with plain `partial_fit`."""

import time
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

from fitwithin import NoModelInTime, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin.backends import Inline, Process
from fitwithin.teachers import SGD, Deck, Lesson
from fitwithin.testing import AwkwardClassifier, FakeClock
from fitwithin.testing._backends import fitted_numbers
from teacher_driver import timeless


def lessons_of(batch, size, count, seed=0):
    """The rows of the first lessons, as lists."""
    requests = SGD(batch=batch).teach(Deck(size, np.random.default_rng(seed)))
    lessons = list(islice(requests, count))
    assert all(type(lesson) is Lesson and lesson.batch == batch for lesson in lessons)
    return [lesson.rows.tolist() for lesson in lessons]


def sizes_by_hand(batch, size, count):
    """One batch at first, then whole batches up to a tenth of the rows before, and never more than the pool."""
    sizes = []
    while len(sizes) < count:
        batches = 1
        while (batches + 1) * batch * 10 <= sum(sizes) and (batches + 1) * batch <= size:
            batches += 1
        sizes.append(min(batches * batch, size))
    return sizes


@settings(max_examples=150, deadline=None)
@given(batch=st.integers(1, 50), size=st.integers(1, 400), seed=st.integers(0, 2**32 - 1))
def test_lessons_are_whole_batches_of_distinct_rows_and_a_tenth_of_the_rows_before(batch, size, seed):
    lessons = lessons_of(batch, size, 60, seed)

    assert [len(rows) for rows in lessons] == sizes_by_hand(batch, size, 60)
    assert all(len(set(rows)) == len(rows) and set(rows) <= set(range(size)) for rows in lessons)


@settings(max_examples=100, deadline=None)
@given(batch=st.integers(1, 50), size=st.integers(1, 400), seed=st.integers(0, 2**32 - 1))
def test_every_row_is_taught_before_any_is_taught_again(batch, size, seed):
    taught = [row for rows in lessons_of(batch, size, 450, seed) for row in rows]

    assert len(taught) > size
    assert sorted(taught[:size]) == list(range(size))


@pytest.mark.parametrize(("batch", "size"), [(1, 7), (3, 10), (7, 100), (64, 1000), (200, 90)])
def test_over_many_passes_every_row_is_taught_about_equally_often(batch, size):
    times = np.zeros(size)
    for rows in lessons_of(batch, size, 1500):
        times[rows] += 1

    assert times.mean() > 20
    assert times.min() > 0.8 * times.mean()
    assert times.max() < 1.2 * times.mean()


def test_the_first_lessons_worked_by_hand():
    sizes = [len(rows) for rows in lessons_of(5, 1000, 36)]

    # A tenth of 100 rows is two batches, a tenth of 150 is three. Five lessons of ten rows lie between them. Four
    # lessons of fifteen rows follow until 210 rows, which allow four batches.
    assert sizes == [5] * 20 + [10] * 5 + [15] * 4 + [20] * 2 + [25] * 2 + [30] * 2 + [35]


def test_a_pool_smaller_than_a_batch_is_taught_whole_again_and_again():
    lessons = lessons_of(64, 10, 50)

    assert all(sorted(rows) == list(range(10)) for rows in lessons)
    assert len({tuple(rows) for rows in lessons}) == 50


def test_the_same_seed_teaches_the_same_rows():
    assert lessons_of(8, 500, 100, seed=1) == lessons_of(8, 500, 100, seed=1)
    assert lessons_of(8, 500, 100, seed=1) != lessons_of(8, 500, 100, seed=2)


def test_the_last_model_is_returned():
    assert SGD().returns == "last"


def test_the_defaults_are_those_of_the_paper():
    assert SGD().get_params() == {"batch": 256}


@pytest.mark.parametrize("batch", [0, -1, 1.5, 64.0, True, None, "64"])
def test_an_invalid_batch_is_refused(batch):
    with pytest.raises(ValueError, match="batch must be a positive number of rows") as caught:
        next(SGD(batch=batch).teach(Deck(100, np.random.default_rng(0))))

    assert repr(batch) in str(caught.value)


# In a session


class Logged(ClassifierMixin, BaseEstimator):
    """Learner that logs its training rows; `log` is a function, so that copies share it."""

    def __init__(self, learner, log):
        self.learner = learner
        self.log = log

    def fit(self, X, y):
        raise AssertionError("SGD never fits")

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "model_"):
            self.model_ = clone(self.learner)
        self.log(X.copy(), y.copy(), classes)
        self.model_.partial_fit(X, y, classes=classes)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def a_session(learner, X, y, *, batch=64, seconds=10.0, per_row=0.001, seed=0):
    """A session on a clock that the learner advances with each row; the classifier and the logged batches."""
    clock, taught = FakeClock(), []

    def log(*batch):
        taught.append(batch)
        clock.advance(per_row * len(batch[0]))

    classifier = TimeConstrainedClassifier(
        Logged(learner, log),
        time_limit=seconds,
        teacher=SGD(batch=batch),
        backend=Inline(clock=clock),
        random_state=seed,
    )
    return classifier.fit(X, y), taught


@pytest.mark.parametrize("batch", [64, 128, 256, 512])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_mini_batches_are_taught_until_the_deadline_as_by_plain_partial_fit(batch, loss, rows):
    X, y = rows[0][:5000], rows[1][:5000] > 1
    by_hand = SGDClassifier(loss=loss, random_state=1)

    classifier, taught = a_session(by_hand, X, y, batch=batch, seconds=40)

    assert classifier.stop_reason_ == "time"
    assert 20 < classifier.time_used_ <= 40
    assert all(len(part) == batch for part, _, _ in taught)
    assert taught[0][2].tolist() == [False, True]
    assert all(classes is None for _, _, classes in taught[1:])
    for part, labels, classes in taught:
        by_hand.partial_fit(part, labels, classes=classes)
    np.testing.assert_equal(fitted_numbers(classifier.best_estimator_.model_), fitted_numbers(by_hand))
    # Several passes: the time allows 40,000 rows, and the pool has 5,000.
    assert sum(len(part) for part, _, _ in taught) == sum(finished.rows for finished in classifier.history_) > 20_000
    assert classifier.n_rows_trained_ == 5000
    assert classifier.score(X, y) > 0.8


def test_rows_of_the_model_are_counted_once():
    X = np.random.default_rng(0).random((1000, 3))

    classifier, taught = a_session(GaussianNB(), X, X[:, 0] > 0.5, batch=10, seconds=0.5)

    seen = {tuple(row) for part, _, _ in taught for row in part.tolist()}
    assert classifier.n_rows_trained_ == len(seen) == sum(finished.new_rows for finished in classifier.history_) < 1000


def test_only_the_lesson_that_overran_the_deadline_is_lost():
    X = np.random.default_rng(0).random((500, 3))
    clock, sizes = FakeClock(), []

    def log(part, *_):
        sizes.append(len(part))
        clock.advance(1.0 if sum(sizes) <= 1000 else 1e6)

    classifier = TimeConstrainedClassifier(
        Logged(GaussianNB(), log), time_limit=5000, teacher=SGD(batch=10), backend=Inline(clock=clock), random_state=0
    ).fit(X, X[:, 0] > 0.5)

    finished = sum(finished.rows for finished in classifier.history_)
    assert classifier.stop_reason_ == "time"
    assert classifier.best_estimator_.model_.class_count_.sum() == finished
    # A thousand rows were taught in time, and at most a tenth of them is lost.
    assert 900 <= finished <= 1000


@pytest.mark.parametrize("pauses", [{3: 0.2}, {1: 0.5, 5: 0.1}, {5: 0.3, 9: 0.3}, {10: 1.0}], ids=str)
def test_a_pause_of_the_machine_does_not_end_a_session_that_has_time_left(pauses):
    X = np.random.default_rng(0).random((500, 3))
    clock, batches = FakeClock(), iter(range(1, 10**6))

    classifier = TimeConstrainedClassifier(
        Logged(GaussianNB(), lambda *_: clock.advance(pauses.get(next(batches), 0.0005))),
        time_limit=60,
        teacher=SGD(batch=16),
        backend=Inline(clock=clock),
        on_round=lambda finished: finished.number == 30,
    ).fit(X, X[:, 0] > 0.5)

    assert classifier.stop_reason_ == "on_round"


def test_without_a_first_batch_in_time_there_is_no_model():
    X = np.random.default_rng(0).random((500, 3))

    with pytest.raises(NoModelInTime, match="training on 64 rows"):
        a_session(GaussianNB(), X, X[:, 0] > 0.5, per_row=1.0)


@pytest.mark.parametrize(
    "learner",
    [
        SGDClassifier(),
        SGDClassifier(loss="log_loss"),
        Perceptron(),
        GaussianNB(),
        MultinomialNB(),
        MLPClassifier(hidden_layer_sizes=(8,), learning_rate_init=0.01),
    ],
    ids=repr,
)
def test_any_classifier_with_partial_fit_can_be_taught(learner, rows):
    X, y = rows[0][:3000], rows[1][:3000]
    labels = np.array(["five", "four", "one", "three", "two"])[y]

    classifier = TimeConstrainedClassifier(
        learner, teacher="sgd", backend=timeless(), random_state=0, on_round=lambda finished: finished.number == 40
    ).fit(X, labels)

    assert classifier.stop_reason_ == "on_round"
    assert type(classifier.best_estimator_) is type(learner)
    assert set(classifier.predict(X)) <= set(labels)
    # Random answers would be right on a fifth of the rows.
    assert classifier.score(X, labels) > 0.25


def test_a_regressor_with_partial_fit_can_be_taught(rows):
    X = rows[0][:3000]
    y = 3 * X[:, 0] - X[:, 1]

    regressor = TimeConstrainedRegressor(
        SGDRegressor(), teacher=SGD(batch=32), backend=timeless(), random_state=0, on_round=lambda f: f.number == 60
    ).fit(X, y)

    assert regressor.score(X, y) > 0.9


@pytest.mark.parametrize("shape", ["array", "frame", "sparse"])
def test_both_backends_give_the_same_model_for_any_container_of_rows(shape, rows):
    make = {
        "array": np.asarray,
        "frame": lambda X: pd.DataFrame(X, columns=list("abcdefghij")),
        "sparse": sparse.csr_array,
    }
    X, y = make[shape](rows[0][:2000]), rows[1][:2000]

    def run(backend):
        return TimeConstrainedClassifier(
            MultinomialNB(),
            teacher=SGD(batch=100),
            backend=backend,
            random_state=0,
            on_round=lambda finished: finished.number == 25,
        ).fit(X, y, sample_weight=np.linspace(0.5, 2, 2000))

    here, there = run(timeless()), run("process")

    assert here.n_rows_trained_ == there.n_rows_trained_ == 2000
    np.testing.assert_equal(fitted_numbers(here.best_estimator_), fitted_numbers(there.best_estimator_))
    # Twenty lessons of one batch, five of two; the weights are 1.25 on average.
    assert there.best_estimator_.class_count_.sum() == pytest.approx(3000 * 1.25, rel=0.05)


@pytest.mark.parametrize("trouble", ["raises", "segfaults"])
def test_a_learner_that_fails_leaves_the_model_of_the_last_lesson(trouble, rows):
    learner = AwkwardClassifier(trouble, above=1000)

    with pytest.warns(RuntimeWarning, match="the best model so far is returned"):
        classifier = TimeConstrainedClassifier(learner, teacher=SGD(batch=50), random_state=0).fit(
            rows[0][:2000], rows[1][:2000]
        )

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.best_estimator_.model_.class_count_.sum() == sum(r.rows for r in classifier.history_) == 1000


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
def test_a_learner_that_is_stopped_at_the_deadline_leaves_the_model_of_the_last_lesson(rows):
    passed = FakeClock()

    classifier = TimeConstrainedClassifier(
        AwkwardClassifier("hangs in Python", above=1000),
        time_limit=60,
        teacher=SGD(batch=50),
        backend=Process(clock=lambda: time.monotonic() + passed()),
        random_state=0,
        # After twenty batches the learner hangs, and there is a second left.
        on_round=lambda finished: passed.advance(59 - finished.elapsed) if finished.number == 20 else None,
    ).fit(rows[0][:2000], rows[1][:2000])

    assert classifier.stop_reason_ == "time"
    assert classifier.best_estimator_.model_.class_count_.sum() == 1000
    assert classifier.n_rows_trained_ == 1000
