"""What every backend must do, written once and run over each of them."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfTime
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels
from fitwithin._pools import TablePool
from fitwithin.backends import Backend, FitSettings, Runner, SavedModel
from fitwithin.testing._clock import FakeClock
from fitwithin.testing._learners import AwkwardClassifier

LONG = 60.0


# What a backend may read at a time when it has to gather rows, with some air.
PIECE_BYTES = 20_000_000


class RecordingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Remembers exactly what it was taught and how much it was asked, spoils its input, predicts the first class.

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

    def partial_fit(self, X: Array, y: Array, classes: Array | None = None) -> Self:
        """Remember one batch more, and whether it came with the classes; and spoil."""
        self.batches_ = [*getattr(self, "batches_", []), (X.copy(), y.copy(), classes)]
        self.classes_ = self.batches_[0][2]
        X[:] = 0
        return self

    def predict(self, X: Array) -> Array:
        """The first class, for every row."""
        self.largest_exam_ = max(len(X), getattr(self, "largest_exam_", 0))
        return np.repeat(self.classes_[:1], len(X))


def a_pool(rows: int = 200, *, dtype: Any = np.float32, order: Any = "C") -> TablePool:
    """A pool whose features tell the row number, with three classes of text labels."""
    X = np.array(np.arange(rows * 3).reshape(rows, 3) % 120, dtype=dtype, order=order)
    return TablePool(X, Labels.encode(np.array(["a", "b", "c"])[np.arange(rows) % 3]))


def seated(backend: Backend, learner: Any, pool: TablePool, seconds: float = LONG) -> Runner:
    """A runner of a backend with a learner that knows its pool; to be entered."""
    runner = backend.open(Budget(seconds, clock=backend.clock))
    try:
        runner.prepare(learner, pool, FitSettings(seed=0, classes=getattr(pool.y, "classes", None)))
    except BaseException:
        runner.__exit__()
        raise
    return runner


def brought(runner: Runner) -> Any:
    """The model of the last lesson, here."""
    kept = runner.save()
    model = kept.load()
    kept.discard()
    return model


def numbers_of(model: Any) -> dict[str, Any]:
    """What a model has learned."""
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float | int)}


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

    def check_lesson(self, runner: Runner, pool: TablePool, rows: Rows) -> None:
        """Teach rows and see that the model saw just these."""
        runner.fit(rows)
        kept = runner.save()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kept.load()
        kept.discard()
        np.testing.assert_array_equal(model.X_, pool.read(rows).X)
        np.testing.assert_array_equal(model.y_, pool.read(rows).y)
        assert model.X_.dtype == pool.X.dtype
        assert model.lessons_ == 1

    def test_a_lesson_is_exactly_its_rows_in_their_order(self) -> None:
        """Also after other lessons and exams, whatever rows they share."""
        pool, rng = a_pool(), np.random.default_rng(0)
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            for count in (5, 20, 60, 200, 3):
                self.check_lesson(runner, pool, rng.permutation(len(pool))[:count])
                runner.examine(rng.permutation(len(pool))[:50])

    def test_a_lesson_may_hold_a_row_twice(self) -> None:
        """Teachers that draw with replacement do that."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            self.check_lesson(runner, pool, np.array([4, 4, 1, 7, 1]))
            self.check_lesson(runner, pool, np.array([9, 4, 9, 0]))

    def test_features_keep_their_dtype_and_values(self) -> None:
        """In any memory order."""
        for dtype in (np.float64, np.float32, np.int64, np.uint8, np.bool_):
            for order in ("C", "F"):
                pool = a_pool(dtype=dtype, order=order)
                with seated(self.make(), RecordingClassifier(), pool) as runner:
                    self.check_lesson(runner, pool, np.array([7, 150, 2]))

    def test_a_learner_that_spoils_its_input_spoils_nothing_else(self) -> None:
        """The pool, and later lessons, stay as they were."""
        pool = a_pool()
        before = pool.X.copy()
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            self.check_lesson(runner, pool, np.arange(10))
            self.check_lesson(runner, pool, np.arange(10))
        np.testing.assert_array_equal(pool.X, before)

    def test_an_exam_tells_which_rows_are_wrong(self) -> None:
        """For rows that are new, rows that were examined, and rows that were taught."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(12))
            for rows in (np.arange(50, 61), np.array([55, 3, 199, 52])):
                examined = runner.examine(rows)
                np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
                assert examined.exam_seconds >= 0

    def test_a_kept_model_outlives_the_next_lesson_and_the_seat(self) -> None:
        """It can be brought when everything else is gone."""
        pool = a_pool()
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(10))
            kept = runner.save()
            runner.fit(np.arange(30))
        model = kept.load()
        kept.discard()
        assert type(model) is RecordingClassifier
        assert len(model.X_) == 10
        assert model.predict(pool.X[:2]).tolist() == ["a", "a"]

    def test_a_warning_of_the_learner_reaches_the_user(self) -> None:
        """When its model is brought, and not before."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with seated(self.make(), RecordingClassifier("slow going"), a_pool()) as runner:
                runner.fit(np.arange(10))
                kept = runner.save()
            assert not caught
            kept.load()
        kept.discard()
        assert [str(warning.message) for warning in caught] == ["slow going"]

    def test_an_exception_of_the_learner_comes_out_whole(self) -> None:
        """Type, text and traceback; and the runner can be used again."""
        with seated(self.make(), AwkwardClassifier("raises", above=20), a_pool()) as runner:
            try:
                runner.fit(np.arange(30))
            except LearnerRaised as raised:
                assert type(raised.error) is ArithmeticError
                assert "no more than 20 rows" in str(raised.error)
                assert "in _raise" in raised.traceback
            else:
                raise AssertionError("the learner's exception was lost")
            runner.fit(np.arange(10))

    def test_nothing_begins_when_the_time_is_up(self) -> None:
        """A spent budget ends the lesson before it starts."""
        with seated(self.make(), RecordingClassifier(), a_pool(), seconds=1e-9) as runner:
            try:
                runner.fit(np.arange(10))
            except OutOfTime:
                return
        raise AssertionError("a lesson was begun without time")

    def test_a_lesson_that_goes_on_is_its_rows_in_batches(self) -> None:
        """In their order; the classes come first of all; a plain lesson makes a new model."""
        pool = a_pool()
        lessons = [np.array([7, 150, 2, 9, 11]), np.array([150, 3]), np.array([8, 8, 1, 4])]
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            for rows in lessons:
                runner.fit(rows, 2)
                runner.examine(np.array([2, 160, 20]))
            batches = brought(runner).batches_
            self.check_lesson(runner, pool, np.arange(5))
        expected = [rows[start : start + 2] for rows in lessons for start in range(0, len(rows), 2)]
        for rows, (X, y, _) in zip(expected, batches, strict=True):
            np.testing.assert_array_equal(X, pool.X[rows])
            np.testing.assert_array_equal(y, pool.read(rows).y)
        assert batches[0][2].tolist() == ["a", "b", "c"]
        assert all(classes is None for _, _, classes in batches[1:])

    def test_going_on_gives_the_numbers_of_partial_fit_by_hand(self) -> None:
        """To the last bit, for learners that draw lots as well."""
        pool, rng = a_pool(), np.random.default_rng(0)
        lessons = [rng.permutation(len(pool))[:count] for count in (16, 16, 40, 100)]
        for learner in (SGDClassifier(random_state=0), GaussianNB()):
            by_hand = clone(learner)
            with seated(self.make(), learner, pool) as runner:
                for rows in lessons:
                    runner.fit(rows, 16)
                    for start in range(0, len(rows), 16):
                        part = pool.read(rows[start : start + 16])
                        by_hand.partial_fit(part.X, part.y, classes=np.array(["a", "b", "c"]))
                np.testing.assert_equal(numbers_of(brought(runner)), numbers_of(by_hand))

    def test_a_model_that_was_kept_is_not_changed_by_going_on(self) -> None:
        """Nor if it was made by a plain lesson, nor if the next lesson raises."""
        pool = a_pool()
        for batch in (None, 5):
            with seated(self.make(), AwkwardClassifier("raises", above=60), pool) as runner:
                runner.fit(np.arange(10), batch)
                first = runner.save()
                runner.fit(np.arange(10, 40), 5)
                second = runner.save()
                with contextlib.suppress(LearnerRaised):
                    runner.fit(np.arange(40, 100), 5)
            for kept, rows in ((first, 10), (second, 40)):
                model = kept.load().model_
                kept.discard()
                assert model.class_count_.sum() == rows
                np.testing.assert_allclose(model.theta_[0], pool.X[:rows:3].mean(axis=0), rtol=1e-5)

    def test_margins_are_the_gaps_between_the_two_likeliest_classes(self) -> None:
        """If they are asked for; and mistakes are those of `predict` either way."""
        pool, taught, asked = a_pool(), np.arange(0, 200, 2), np.array([7, 150, 2, 9, 11, 33, 199])
        for learner in (GaussianNB(), SGDClassifier(loss="log_loss", random_state=0), RandomForestClassifier(9)):
            with seated(self.make(), learner, pool) as runner:
                runner.fit(taught)
                plain, examined = runner.examine(asked), runner.examine(asked, True)
                model = brought(runner)
            assert plain.margins is None
            assert examined.margins is not None
            ranked = np.sort(model.predict_proba(pool.X[asked]), axis=1)
            np.testing.assert_allclose(examined.margins, ranked[:, -1] - ranked[:, -2], rtol=0, atol=1e-6)
            np.testing.assert_array_equal(examined.wrong, model.predict(pool.X[asked]) != pool.read(asked).y)
            np.testing.assert_array_equal(examined.wrong, plain.wrong)

    def test_an_exam_of_the_whole_pool_is_read_in_pieces(self) -> None:
        """Nobody holds a second copy of a pool that may fill most of the memory."""
        pool = TablePool(np.ones((40_000, 120)), Labels.encode(np.arange(40_000) % 7))
        everything = np.arange(len(pool))
        with seated(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.array([39_998, 3, 7]))
            examined = runner.examine(everything)
            model = brought(runner)
        np.testing.assert_array_equal(examined.wrong, pool.read(everything).y != model.classes_[0])
        assert model.largest_exam_ * 120 * 8 < PIECE_BYTES < pool.X.nbytes


class KillableBackendContract(BackendContract):
    """What a backend that can stop a learner must do besides."""

    def stopped(self, learner: Any, seconds: float) -> float:
        """Run into trouble; seconds that were left when the runner gave up."""
        budget = Budget(seconds)
        with self.make().open(budget) as runner:
            runner.prepare(learner, a_pool(), FitSettings(seed=0))
            try:
                runner.fit(np.arange(30))
                runner.examine(np.arange(30, 40))
                runner.save().discard()
            except OutOfTime:
                return budget.seconds - budget.elapsed()
        raise AssertionError("the learner was not stopped")

    def died(self, trouble: str) -> str:
        """Run into a death; how it is told."""
        with seated(self.make(), AwkwardClassifier(trouble), a_pool()) as runner:
            try:
                runner.fit(np.arange(30))
            except LearnerDied as death:
                return str(death)
        raise AssertionError("the learner's death was not noticed")

    def test_a_model_that_was_kept_survives_a_death(self) -> None:
        """What is safe stays safe."""
        with seated(self.make(), AwkwardClassifier("segfaults", above=20), a_pool()) as runner:
            runner.fit(np.arange(15))
            kept = runner.save()
            with contextlib.suppress(LearnerDied):
                runner.fit(np.arange(30))
        assert kept.load().predict(a_pool().X[:1]).shape == (1,)
        kept.discard()

    def test_a_model_that_was_kept_survives_the_end_of_a_lesson_that_goes_on(self) -> None:
        """Whether the learner dies or is stopped."""
        for trouble, late, expected in (("segfaults", 0.0, LearnerDied), ("hangs in Python", LONG - 0.5, OutOfTime)):
            kept, end = self.kept_before(trouble, late)
            assert type(end) is expected
            assert kept.load().model_.class_count_.sum() == 20
            kept.discard()

    def kept_before(self, trouble: str, late: float) -> tuple[SavedModel, Exception]:
        """Go on into trouble after so many seconds; the model that was kept before, and the end of the lesson."""
        passed = FakeClock()
        with self.make().open(Budget(LONG, clock=lambda: time.monotonic() + passed())) as runner:
            runner.prepare(
                AwkwardClassifier(trouble, above=25), a_pool(), FitSettings(classes=np.array(["a", "b", "c"]))
            )
            runner.fit(np.arange(10), 5)
            runner.save().discard()
            runner.fit(np.arange(10, 20), 5)
            kept = runner.save()
            passed.advance(late)
            try:
                runner.fit(np.arange(20, 60), 5)
            except (LearnerDied, OutOfTime) as end:
                return kept, end
        raise AssertionError("the learner was not stopped")

    def test_a_death_is_told_by_its_cause(self) -> None:
        """Signals by name, exits by code."""
        assert "SIGSEGV" in self.died("segfaults")
        assert "SIGKILL" in self.died("is killed")
        assert "exit code 3" in self.died("exits")

    def test_a_model_that_cannot_be_pickled_says_so(self) -> None:
        """As an error of the learner's, with what to do."""
        with seated(self.make(), AwkwardClassifier("cannot be pickled"), a_pool()) as runner:
            runner.fit(np.arange(30))
            try:
                runner.save()
            except LearnerRaised as raised:
                assert type(raised.error) is TypeError
                assert "cannot be pickled" in str(raised.error)
                return
        raise AssertionError("a model without a pickle was kept")
