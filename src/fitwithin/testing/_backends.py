"""What every backend must do, written once and run over each of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from .._budget import Budget
from .._exceptions import LearnerDied, LearnerRaised, OutOfTime
from .._messages import Rows
from .._pools import TablePool
from .._target import Array, Labels
from ..backends import Backend, Seat, Task
from ._learners import AwkwardClassifier

LONG = 60.0


class RecordingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Remembers exactly what it was taught, spoils its input, and predicts the first class.

    Parameters
    ----------
    warning : str, default=""
        A text to warn with while fitting.
    """

    def __init__(self, warning: str = "") -> None:
        self.warning = warning

    def fit(self, X: Array, y: Array) -> Self:
        """Remember, and spoil."""
        self.lessons_ = getattr(self, "lessons_", 0) + 1
        self.X_, self.y_ = X.copy(), y.copy()
        self.classes_ = np.unique(y)
        X[:] = 0
        if self.warning:
            warnings.warn(self.warning, UserWarning, stacklevel=2)
        return self

    def predict(self, X: Array) -> Array:
        """The first class, for every row."""
        return np.repeat(self.classes_[:1], len(X))


def a_pool(rows: int = 200, *, dtype: Any = np.float32, order: Any = "C") -> TablePool:
    """A pool whose features tell the row number, with three classes of text labels."""
    X = np.array(np.arange(rows * 3).reshape(rows, 3) % 120, dtype=dtype, order=order)
    return TablePool(X, Labels.encode(np.array(["a", "b", "c"])[np.arange(rows) % 3]))


def seated(backend: Backend, learner: Any, pool: TablePool, seconds: float = LONG) -> Seat:
    """A seat of a backend with a learner that knows its pool; to be entered."""
    seat = backend.open(Budget(seconds, clock=backend.clock))
    try:
        seat.welcome(learner, pool, Task(seed=0))
    except BaseException:
        seat.__exit__()
        raise
    return seat


class BackendContract:
    """The contract as tests for pytest: subclass it and give `make`.

    Examples
    --------
    >>> from fitwithin.backends import Inline
    >>> class TestInline(BackendContract):
    ...     make = staticmethod(Inline)
    >>> TestInline().test_a_lesson_is_exactly_its_rows_in_their_order()
    """

    make: Callable[[], Backend]

    def check_lesson(self, seat: Seat, pool: TablePool, rows: Rows) -> None:
        """Teach rows and see that the model saw just these."""
        seat.teach(rows)
        kept = seat.keep()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kept.bring()
        kept.discard()
        np.testing.assert_array_equal(model.X_, pool.read(rows).X)
        np.testing.assert_array_equal(model.y_, pool.read(rows).y)
        assert model.X_.dtype == pool.X.dtype
        assert model.lessons_ == 1

    def test_a_lesson_is_exactly_its_rows_in_their_order(self) -> None:
        """Also after other lessons and exams, whatever rows they share."""
        pool, rng = a_pool(), np.random.default_rng(0)
        with seated(self.make(), RecordingClassifier(), pool) as seat:
            for count in (5, 20, 60, 200, 3):
                self.check_lesson(seat, pool, rng.permutation(len(pool))[:count])
                seat.examine(rng.permutation(len(pool))[:50])

    def test_a_lesson_may_hold_a_row_twice(self) -> None:
        """Teachers that draw with replacement do that."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as seat:
            self.check_lesson(seat, pool, np.array([4, 4, 1, 7, 1]))
            self.check_lesson(seat, pool, np.array([9, 4, 9, 0]))

    def test_features_keep_their_dtype_and_values(self) -> None:
        """In any memory order."""
        for dtype in (np.float64, np.float32, np.int64, np.uint8, np.bool_):
            for order in ("C", "F"):
                pool = a_pool(dtype=dtype, order=order)
                with seated(self.make(), RecordingClassifier(), pool) as seat:
                    self.check_lesson(seat, pool, np.array([7, 150, 2]))

    def test_a_learner_that_spoils_its_input_spoils_nothing_else(self) -> None:
        """The pool, and later lessons, stay as they were."""
        pool = a_pool()
        before = pool.X.copy()
        with seated(self.make(), RecordingClassifier(), pool) as seat:
            self.check_lesson(seat, pool, np.arange(10))
            self.check_lesson(seat, pool, np.arange(10))
        np.testing.assert_array_equal(pool.X, before)

    def test_an_exam_tells_which_rows_are_wrong(self) -> None:
        """For rows that are new, rows that were examined, and rows that were taught."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as seat:
            seat.teach(np.arange(12))
            for rows in (np.arange(50, 61), np.array([55, 3, 199, 52])):
                examined = seat.examine(rows)
                np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
                assert examined.exam >= 0

    def test_a_kept_model_outlives_the_next_lesson_and_the_seat(self) -> None:
        """It can be brought when everything else is gone."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as seat:
            seat.teach(np.arange(10))
            kept = seat.keep()
            seat.teach(np.arange(30))
        model = kept.bring()
        kept.discard()
        assert type(model) is RecordingClassifier
        assert len(model.X_) == 10
        assert model.predict(pool.X[:2]).tolist() == ["a", "a"]

    def test_a_warning_of_the_learner_reaches_the_user(self) -> None:
        """When its model is brought, and not before."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with seated(self.make(), RecordingClassifier("slow going"), a_pool()) as seat:
                seat.teach(np.arange(10))
                kept = seat.keep()
            assert not caught
            kept.bring()
        kept.discard()
        assert [str(warning.message) for warning in caught] == ["slow going"]

    def test_an_exception_of_the_learner_comes_out_whole(self) -> None:
        """Type, text and traceback; and the seat can be used again."""
        with seated(self.make(), AwkwardClassifier("raises", above=20), a_pool()) as seat:
            try:
                seat.teach(np.arange(30))
            except LearnerRaised as raised:
                assert type(raised.error) is ArithmeticError
                assert "no more than 20 rows" in str(raised.error)
                assert "in _raise" in raised.traceback
            else:
                raise AssertionError("the learner's exception was lost")
            seat.teach(np.arange(10))

    def test_nothing_begins_when_the_time_is_up(self) -> None:
        """A spent budget ends the lesson before it starts."""
        with seated(self.make(), RecordingClassifier(), a_pool(), seconds=1e-9) as seat:
            try:
                seat.teach(np.arange(10))
            except OutOfTime:
                return
        raise AssertionError("a lesson was begun without time")


class KillableBackendContract(BackendContract):
    """What a backend that can stop a learner must do besides."""

    def stopped(self, learner: Any, seconds: float) -> float:
        """Run into trouble; seconds that were left when the seat gave up."""
        budget = Budget(seconds)
        with self.make().open(budget) as seat:
            seat.welcome(learner, a_pool(), Task(seed=0))
            try:
                seat.teach(np.arange(30))
                seat.examine(np.arange(30, 40))
                seat.keep().discard()
            except OutOfTime:
                return budget.seconds - budget.elapsed()
        raise AssertionError("the learner was not stopped")

    def died(self, trouble: str) -> str:
        """Run into a death; how it is told."""
        with seated(self.make(), AwkwardClassifier(trouble), a_pool()) as seat:
            try:
                seat.teach(np.arange(30))
            except LearnerDied as death:
                return str(death)
        raise AssertionError("the learner's death was not noticed")

    def test_a_model_that_was_kept_survives_a_death(self) -> None:
        """What is safe stays safe."""
        with seated(self.make(), AwkwardClassifier("segfaults", above=20), a_pool()) as seat:
            seat.teach(np.arange(15))
            kept = seat.keep()
            with contextlib.suppress(LearnerDied):
                seat.teach(np.arange(30))
        assert kept.bring().predict(a_pool().X[:1]).shape == (1,)
        kept.discard()

    def test_a_death_is_told_by_its_cause(self) -> None:
        """Signals by name, exits by code."""
        assert "SIGSEGV" in self.died("segfaults")
        assert "SIGKILL" in self.died("is killed")
        assert "exit code 3" in self.died("exits")

    def test_a_model_that_cannot_be_pickled_says_so(self) -> None:
        """As an error of the learner's, with what to do."""
        with seated(self.make(), AwkwardClassifier("cannot be pickled"), a_pool()) as seat:
            seat.teach(np.arange(30))
            try:
                seat.keep()
            except LearnerRaised as raised:
                assert type(raised.error) is TypeError
                assert "cannot be pickled" in str(raised.error)
                return
        raise AssertionError("a model without a pickle was kept")
