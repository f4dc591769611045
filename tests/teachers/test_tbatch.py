"""TBatch: one batch of as many rows as can be learned in the time."""

import bisect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin.backends import Inline
from fitwithin.teachers import Deck, Lesson, TBatch
from fitwithin.testing import FakeClock


@given(size=st.integers(1, 2000), rows=st.integers(1, 3000), seed=st.integers(0, 2**32 - 1))
def test_there_is_one_lesson_of_distinct_random_rows(size, rows, seed):
    requests = TBatch(rows).teach(Deck(size, np.random.default_rng(seed)))

    lesson = next(requests)
    with pytest.raises(StopIteration) as end:
        requests.send(None)

    assert isinstance(lesson, Lesson)
    assert lesson.batch is None
    assert len(set(lesson.rows.tolist())) == len(lesson.rows) == min(rows, size)
    assert end.value.value == "all rows"


def test_rows_are_random_and_depend_on_the_seed():
    def lesson(seed):
        return next(TBatch(50).teach(Deck(1000, np.random.default_rng(seed)))).rows.tolist()

    assert lesson(1) == lesson(1)
    assert lesson(1) != lesson(2)


def test_the_only_model_is_returned():
    assert TBatch(5).returns == "last"


@pytest.mark.parametrize("rows", [0, -3, 0.5, 100.0, True, None, "100"])
def test_an_invalid_number_of_rows_is_refused(rows):
    with pytest.raises(ValueError, match="rows must be a positive number of rows") as caught:
        next(TBatch(rows).teach(Deck(100, np.random.default_rng(0))))

    assert repr(rows) in str(caught.value)


def costs(kind, power):
    """Seconds by rows, which never decrease."""
    return {
        "smooth": lambda rows: 0.001 * rows**power,
        "stairs": lambda rows: 0.01 * (rows // 50) ** power,
        "fixed and more": lambda rows: 0.3 + 1e-5 * rows**power,
        "nothing": lambda rows: 0.0,
    }[kind]


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(["smooth", "stairs", "fixed and more", "nothing"]),
    power=st.floats(0.3, 3),
    seconds=st.floats(0.31, 1000),
    most=st.integers(1, 5000),
)
def test_the_largest_batch_is_found_within_one_percent_and_with_few_measurements(kind, power, seconds, most):
    asked = []

    def fit_seconds(rows):
        asked.append(rows)
        return costs(kind, power)(rows)

    oracle = TBatch.from_time_limit(seconds, fit_seconds, most)

    by_hand = bisect.bisect_right(range(1, most + 1), seconds, key=costs(kind, power))
    assert costs(kind, power)(oracle.rows) <= seconds
    assert oracle.rows <= by_hand <= 1.01 * oracle.rows
    assert oracle.rows == by_hand or by_hand > 200
    assert 1 <= min(asked) <= max(asked) <= most
    assert len(asked) <= 30
    # Measurements cost time, so none has more than twice the rows that fit.
    assert max(asked) <= 2 * by_hand


def test_a_batch_of_the_whole_pool_is_found_to_within_one_percent():
    for most in (1, 2, 3, 100, 12_345):
        assert TBatch.from_time_limit(10, lambda rows: 0.0, most).rows == pytest.approx(most, rel=0.01)


def test_a_batch_that_takes_exactly_the_time_limit_fits():
    assert TBatch.from_time_limit(100, lambda rows: rows, 1000).rows == 100
    assert TBatch.from_time_limit(1, lambda rows: rows, 1000).rows == 1


def test_a_time_limit_too_short_for_one_row_is_refused():
    with pytest.raises(ValueError, match="a single row takes 3 s, more than the time limit of 2 s"):
        TBatch.from_time_limit(2, lambda rows: 3 * rows, 1000)


# In a session


class Quadratic(ClassifierMixin, BaseEstimator):
    """Learner that takes a millisecond per pair of rows; `advance` is a function, so that clones share it."""

    def __init__(self, advance):
        self.advance = advance

    def fit(self, X, y):
        self.advance(len(X) ** 2 / 1000)
        self.classes_ = np.unique(y)
        self.rows_ = len(X)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def session(teacher, seconds):
    clock = FakeClock()
    X, y = np.zeros((5000, 2)), np.arange(5000) % 2
    classifier = TimeConstrainedClassifier(
        Quadratic(lambda spent: clock.advance(spent)),
        time_limit=seconds,
        teacher=teacher,
        backend=Inline(clock=clock),
        random_state=0,
    )
    return classifier.fit(X, y)


def test_the_largest_batch_is_found_outside_the_time_limit_and_just_fits():
    measuring = FakeClock()

    def fit_seconds(rows):
        before = measuring()
        Quadratic(measuring.advance).fit(np.zeros((rows, 2)), np.arange(rows) % 2)
        return measuring() - before

    oracle = TBatch.from_time_limit(360.0, fit_seconds, max_rows=5000)
    classifier = session(oracle, seconds=360.5)

    # The root of 360,000 is 600. Measuring took longer than the time limit, and does not count.
    assert 594 <= oracle.rows <= 600
    assert measuring() > 360
    assert classifier.time_used_ == oracle.rows**2 / 1000
    assert classifier.n_rows_trained_ == classifier.best_estimator_.rows_ == oracle.rows
    assert [finished.rows for finished in classifier.history_] == [oracle.rows]


def test_a_batch_that_does_not_fit_leaves_no_model():
    with pytest.raises(NoModelInTime, match="training on 601 rows"):
        session(TBatch(601), seconds=360.5)


def test_a_large_pool_that_fits_is_found_whole():
    assert TBatch.from_time_limit(10.0, lambda rows: rows * 1e-9, 1_000_000).rows == 1_000_000
