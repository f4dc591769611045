"""Tests that every backend must pass, to be run on each implementation."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels
from fitwithin._pools.table_pool import TablePool
from fitwithin.backends import (
    Backend,
    FitSettings,
    LearnerDied,
    LearnerRaised,
    OutOfMemory,
    OutOfTime,
    Runner,
    SavedModel,
)
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._scoring import Scoring
from fitwithin.testing._clock import FakeClock
from fitwithin.testing._learners import AwkwardClassifier, HungryClassifier

LONG_SECONDS = 60.0
"""A time limit that no test reaches, a cold start on a busy machine included."""

MEGABYTE = 1_000_000


GATHER_LIMIT_BYTES = 20_000_000
"""Bytes that a backend may gather at a time: our own gather 16 MiB."""


class RecordingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Record the training rows, overwrite the input, and predict the first class of a few rows at a time.

    Parameters
    ----------
    warning : str, default=""
        Text of a warning to issue in `fit`.
    """

    def __init__(self, warning: str = "") -> None:
        self.warning = warning

    def fit(self, X: Array, y: Array) -> Self:
        """Record the rows, and overwrite X."""
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        self.X_, self.y_ = X.copy(), y.copy()
        self.classes_ = np.unique(y)
        X[:] = 0
        if self.warning:
            warnings.warn(self.warning, UserWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Array, y: Array, classes: Array | None = None) -> Self:
        """Record one more batch and its `classes`, and overwrite X."""
        self.batches_ = [*getattr(self, "batches_", []), (X.copy(), y.copy(), classes)]
        self.classes_ = self.batches_[0][2]
        X[:] = 0
        return self

    def predict(self, X: Array) -> Array:
        """Return the first class for every row; raise for more rows than a backend may gather at a time."""
        if X.nbytes > GATHER_LIMIT_BYTES:
            raise MemoryError(f"{X.nbytes} bytes at a time")
        return np.repeat(self.classes_[:1], len(X))


class MeetingClassifier(RecordingClassifier):
    """Wait in `fit` until another one is in its own `fit`.

    Parameters
    ----------
    folder : str
        An empty folder, in which each one leaves a file.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def fit(self, X: Array, y: Array) -> Self:
        """Leave a file, and wait for a second one."""
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False):
            pass
        end = time.monotonic() + LONG_SECONDS / 2
        while len(list(Path(self.folder).iterdir())) < 2:
            if time.monotonic() > end:
                raise TimeoutError("no other learner is at work")
            time.sleep(0.01)
        super().fit(X, y)
        return self


def make_pool(n_rows: int = 200, *, dtype: Any = np.float32, order: Any = "C") -> TablePool:
    """Return a pool whose features follow from the row number, with three classes of text labels."""
    X = np.array(np.arange(n_rows * 3).reshape(n_rows, 3) % 120, dtype=dtype, order=order)
    return TablePool(X, Labels.encode(np.array(["a", "b", "c"])[np.arange(n_rows) % 3]))


def open_runner(
    backend: Backend,
    learner: Any,
    pool: TablePool,
    seconds: float = LONG_SECONDS,
    memory_limit: int | None = None,
    n_jobs: int = 1,
) -> Runner:
    """Return a runner that is prepared for a learner and a pool, to be entered."""
    runner = backend.open(Budget(seconds, clock=backend.clock))
    try:
        classes = getattr(pool.y, "classes", None)
        runner.prepare(learner, pool, FitSettings(seed=0, classes=classes, memory_limit=memory_limit, n_jobs=n_jobs))
    except BaseException:
        runner.__exit__()
        raise
    return runner


def save_and_load(runner: Runner) -> Any:
    """Return the newest model of a runner."""
    saved = runner.save()
    model = saved.load()
    saved.discard()
    return model


def fitted_numbers(model: Any) -> dict[str, Any]:
    """Return the numbers and arrays among a model's attributes, to compare two models."""
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float | int)}


class BackendContract:
    """Tests for pytest that every backend must pass: subclass this and set `make`.

    Examples
    --------
    >>> from fitwithin.backends import Inline
    >>> class TestInline(BackendContract):
    ...     make = staticmethod(Inline)
    >>> TestInline().test_a_fit_trains_on_exactly_its_rows_in_their_order()
    """

    make: Callable[[], Backend]

    def check_fit(self, runner: Runner, pool: TablePool, rows: Rows) -> None:
        """Fit on rows, and check that the model was trained on exactly these, once."""
        runner.fit(rows)
        saved = runner.save()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = saved.load()
        saved.discard()
        np.testing.assert_array_equal(model.X_, pool.read(rows).X)
        np.testing.assert_array_equal(model.y_, pool.read(rows).y)
        assert model.X_.dtype == pool.X.dtype
        assert model.n_fits_ == 1

    def test_a_fit_trains_on_exactly_its_rows_in_their_order(self) -> None:
        """Also after other fits and exams, whatever rows they share."""
        pool, rng = make_pool(), np.random.default_rng(0)
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            for count in (5, 20, 60, 200, 3):
                self.check_fit(runner, pool, rng.permutation(len(pool))[:count])
                runner.examine(rng.permutation(len(pool))[:50])

    def test_a_fit_may_use_a_row_twice(self) -> None:
        """Teachers that draw with replacement need this."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            self.check_fit(runner, pool, np.array([4, 4, 1, 7, 1]))
            self.check_fit(runner, pool, np.array([9, 4, 9, 0]))

    def test_features_keep_their_dtype_and_values(self) -> None:
        """In any memory order."""
        for dtype in (np.float64, np.float32, np.int64, np.uint8, np.bool_):
            for order in ("C", "F"):
                pool = make_pool(dtype=dtype, order=order)
                with open_runner(self.make(), RecordingClassifier(), pool) as runner:
                    self.check_fit(runner, pool, np.array([7, 150, 2]))

    def test_a_learner_that_overwrites_its_input_changes_nothing_else(self) -> None:
        """The pool and the rows of later fits stay the same."""
        pool = make_pool()
        before = pool.X.copy()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            self.check_fit(runner, pool, np.arange(10))
            self.check_fit(runner, pool, np.arange(10))
        np.testing.assert_array_equal(pool.X, before)

    def test_an_exam_reports_which_rows_are_wrong(self) -> None:
        """For new rows, rows examined before, and training rows."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(12))
            for rows in (np.arange(50, 61), np.array([55, 3, 199, 52])):
                examined = runner.examine(rows)
                np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
                assert examined.exam_seconds >= 0

    def test_a_paired_score_reports_the_influence_of_the_selected_rows(self) -> None:
        """Of these alone; any other score reports none."""
        pool, rows = make_pool(), np.arange(50, 61)
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(12))
            runner.examine(np.arange(30))
            runner.examine(rows)
            selected = np.arange(30 + len(rows)) >= 30
            plain, paired = runner.score(selected), runner.score(selected, paired=True)
        is_correct = pool.read(rows).y == "a"
        assert plain.overall is not None
        assert plain.influence is None
        assert paired.overall is None
        assert paired.selected == plain.selected
        assert paired.selected is not None
        assert paired.influence is not None
        assert paired.influence.dtype == np.float32
        np.testing.assert_allclose(paired.influence, (is_correct - is_correct.mean()) / len(rows), rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(paired.influence), paired.selected.standard_error, rtol=1e-5)

    def test_influence_is_the_same_in_every_backend(self) -> None:
        """By row, with weights and without, and by resample; two scores of one model do not differ."""
        weights = np.arange(1, 201) / 100
        for name, row_params in (("accuracy", {"sample_weight": weights}), ("neg_log_loss", {}), ("f1_macro", {})):
            pool, scoring = make_pool(), Scoring(get_scorer(name), seed=0)
            pool.row_params = row_params
            direct = ModelRunner(GaussianNB(), scoring)
            direct.fit(pool.read(np.arange(0, 200, 2)), {})
            rows, selected = np.arange(1, 200, 2), np.arange(100) >= 20
            direct.examine([pool.read(rows)])
            _, estimate, influence = direct.score(selected, paired=True)
            with self.make().open(Budget(LONG_SECONDS)) as runner:
                runner.prepare(GaussianNB(), pool, FitSettings(scoring))
                runner.fit(np.arange(0, 200, 2))
                runner.examine(rows)
                first, second = (runner.score(selected, paired=True) for _ in range(2))
            assert influence is not None
            assert first.selected == second.selected == estimate
            np.testing.assert_array_equal(first.influence, influence)
            np.testing.assert_array_equal(second.influence, influence)

    def test_a_saved_model_outlives_the_next_fit_and_the_runner(self) -> None:
        """It can be loaded after the runner is closed."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(10))
            saved = runner.save()
            runner.fit(np.arange(30))
        model = saved.load()
        saved.discard()
        assert type(model) is RecordingClassifier
        assert len(model.X_) == 10
        assert model.predict(pool.X[:2]).tolist() == ["a", "a"]

    def test_a_saved_model_can_be_written_to_a_skops_file(self) -> None:
        """Checkpoints need this; types that are not on fitwithin's list are named. skops is optional."""
        if importlib.util.find_spec("skops") is None:
            return
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner, tempfile.TemporaryDirectory() as folder:
            runner.fit(np.arange(10))
            saved = runner.save()
            dump = saved.dump(Path(folder) / "model.skops")
            assert dump.wait(LONG_SECONDS)
            names = dump.result()
            assert (Path(folder) / "model.skops").stat().st_size
        assert names == (f"{RecordingClassifier.__module__}.RecordingClassifier",)
        assert len(saved.load().X_) == 10
        saved.discard()

    def test_a_warning_of_the_learner_reaches_the_user(self) -> None:
        """When its model is loaded, and not before."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with open_runner(self.make(), RecordingClassifier("slow going"), make_pool()) as runner:
                runner.fit(np.arange(10))
                saved = runner.save()
            assert not caught
            saved.load()
        saved.discard()
        assert [str(warning.message) for warning in caught] == ["slow going"]

    def test_an_exception_of_the_learner_is_reported_with_its_traceback(self) -> None:
        """With its type and text; the runner can be used again."""
        with open_runner(self.make(), AwkwardClassifier("raises", above=20), make_pool()) as runner:
            try:
                runner.fit(np.arange(30))
            except LearnerRaised as raised:
                assert type(raised.error) is ArithmeticError
                assert "no more than 20 rows" in str(raised.error)
                assert "in _raise" in raised.traceback
            else:
                raise AssertionError("the learner's exception was not reported")
            runner.fit(np.arange(10))

    def test_no_fit_starts_when_the_budget_is_spent(self) -> None:
        """The runner raises `OutOfTime` instead."""
        with open_runner(self.make(), RecordingClassifier(), make_pool(), seconds=1e-9) as runner:
            try:
                runner.fit(np.arange(10))
            except OutOfTime:
                return
        raise AssertionError("a fit was started although the budget was spent")

    def test_a_runner_that_was_stopped_raises_out_of_time(self) -> None:
        """In every later fit and exam; a model that it saved can be loaded."""
        with open_runner(self.make(), RecordingClassifier(), make_pool()) as runner:
            runner.fit(np.arange(10))
            saved = runner.save()
            runner.stop()
            runner.stop()
            for call in (runner.fit, runner.examine):
                try:
                    call(np.arange(5))
                except OutOfTime:
                    continue
                raise AssertionError("a runner that was stopped went on")
        assert len(saved.load().X_) == 10
        saved.discard()

    def test_continued_training_gets_its_rows_in_batches(self) -> None:
        """In their order. The first batch comes with all classes; a plain fit trains a new model."""
        pool = make_pool()
        subsets = [np.array([7, 150, 2, 9, 11]), np.array([150, 3]), np.array([8, 8, 1, 4])]
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            for rows in subsets:
                runner.fit(rows, 2)
                runner.examine(np.array([2, 160, 20]))
            batches = save_and_load(runner).batches_
            self.check_fit(runner, pool, np.arange(5))
        expected = [rows[start : start + 2] for rows in subsets for start in range(0, len(rows), 2)]
        for rows, (X, y, _) in zip(expected, batches, strict=True):
            np.testing.assert_array_equal(X, pool.X[rows])
            np.testing.assert_array_equal(y, pool.read(rows).y)
        assert batches[0][2].tolist() == ["a", "b", "c"]
        assert all(classes is None for _, _, classes in batches[1:])

    def test_continued_training_equals_partial_fit_called_directly(self) -> None:
        """To the last bit, for randomized learners too."""
        pool, rng = make_pool(), np.random.default_rng(0)
        subsets = [rng.permutation(len(pool))[:count] for count in (16, 16, 40, 100)]
        for learner in (SGDClassifier(random_state=0), GaussianNB()):
            direct = clone(learner)
            with open_runner(self.make(), learner, pool) as runner:
                for rows in subsets:
                    runner.fit(rows, 16)
                    for start in range(0, len(rows), 16):
                        part = pool.read(rows[start : start + 16])
                        direct.partial_fit(part.X, part.y, classes=np.array(["a", "b", "c"]))
                np.testing.assert_equal(fitted_numbers(save_and_load(runner)), fitted_numbers(direct))

    def test_continued_training_does_not_change_a_saved_model(self) -> None:
        """Whether a plain fit or continued training made it, and also if the next fit raises."""
        pool = make_pool()
        for batch in (None, 5):
            with open_runner(self.make(), AwkwardClassifier("raises", above=60), pool) as runner:
                runner.fit(np.arange(10), batch)
                first = runner.save()
                runner.fit(np.arange(10, 40), 5)
                second = runner.save()
                with contextlib.suppress(LearnerRaised):
                    runner.fit(np.arange(40, 100), 5)
            for saved, rows in ((first, 10), (second, 40)):
                model = saved.load().model_
                saved.discard()
                assert model.class_count_.sum() == rows
                np.testing.assert_allclose(model.theta_[0], pool.X[:rows:3].mean(axis=0), rtol=1e-5)

    def test_margins_are_the_gaps_between_the_two_most_probable_classes(self) -> None:
        """If they are requested. The mistakes are those of `predict` either way."""
        pool, training, asked = make_pool(), np.arange(0, 200, 2), np.array([7, 150, 2, 9, 11, 33, 199])
        for learner in (GaussianNB(), SGDClassifier(loss="log_loss", random_state=0), RandomForestClassifier(9)):
            with open_runner(self.make(), learner, pool) as runner:
                runner.fit(training)
                plain, examined = runner.examine(asked), runner.examine(asked, True)
                model = save_and_load(runner)
            assert plain.margins is None
            assert examined.margins is not None
            ranked = np.sort(model.predict_proba(pool.X[asked]), axis=1)
            np.testing.assert_allclose(examined.margins, ranked[:, -1] - ranked[:, -2], rtol=0, atol=1e-6)
            np.testing.assert_array_equal(examined.wrong, model.predict(pool.X[asked]) != pool.read(asked).y)
            np.testing.assert_array_equal(examined.wrong, plain.wrong)

    def test_an_exam_of_the_whole_pool_is_read_in_pieces(self) -> None:
        """A pool may fill most of the memory, so there is no room for a second copy."""
        pool = TablePool(np.ones((40_000, 120)), Labels.encode(np.arange(40_000) % 7))
        all_rows = np.arange(len(pool))
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.array([39_998, 3, 7]))
            examined = runner.examine(all_rows)
            model = save_and_load(runner)
        np.testing.assert_array_equal(examined.wrong, pool.read(all_rows).y != model.classes_[0])
        assert pool.X.nbytes > GATHER_LIMIT_BYTES


class KillableBackendContract(BackendContract):
    """Further tests for a backend that can stop a running learner, and run several at the same time."""

    def test_siblings_are_at_work_at_the_same_time(self) -> None:
        """Each in a process of its own: their fits only end because both have begun."""
        pool = make_pool()
        with (
            tempfile.TemporaryDirectory() as folder,
            open_runner(self.make(), MeetingClassifier(folder), pool, n_jobs=2) as runner,
            runner.open_sibling() as sibling,
            ThreadPoolExecutor(2) as threads,
        ):
            fits = [threads.submit(each.fit, np.arange(5)) for each in (runner, sibling)]
            assert all(fit.result().fit_seconds >= 0 for fit in fits)

    def test_siblings_train_on_exactly_their_rows(self) -> None:
        """Whatever the others train on and examine at the same time."""
        pool = make_pool(20_000)
        with (
            open_runner(self.make(), RecordingClassifier(), pool, n_jobs=3) as runner,
            runner.open_sibling() as second,
            runner.open_sibling() as third,
            ThreadPoolExecutor(3) as threads,
        ):
            work = [
                threads.submit(self.check_runner, each, pool, seed) for seed, each in enumerate((runner, second, third))
            ]
            for done in work:
                done.result()

    def check_runner(self, runner: Runner, pool: TablePool, seed: int) -> None:
        """Fit and examine rows at random, and check that they are the right ones."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(pool))
        for count in (100, 2000, 9000, len(pool)):
            self.check_fit(runner, pool, order[:count])
            for rows in (rng.permutation(len(pool))[:3000], np.sort(order[:count])):
                np.testing.assert_array_equal(runner.examine(rows).wrong, pool.read(rows).y != "a")

    def test_a_model_of_a_sibling_outlives_it(self) -> None:
        """And can be written to a skops file while the first runner lasts. skops is optional."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool, n_jobs=2) as runner:
            with runner.open_sibling() as sibling:
                sibling.fit(np.arange(10))
                saved = sibling.save()
            if importlib.util.find_spec("skops") is not None:
                with tempfile.TemporaryDirectory() as folder:
                    assert saved.dump(Path(folder) / "model.skops").wait(LONG_SECONDS)
            runner.fit(np.arange(20))
        assert len(saved.load().X_) == 10
        saved.discard()

    def test_a_fit_can_be_stopped_from_another_thread(self) -> None:
        """At once; a sibling goes on."""
        pool = make_pool()
        with (
            open_runner(self.make(), AwkwardClassifier("ignores signals", above=20), pool, n_jobs=2) as runner,
            runner.open_sibling() as sibling,
        ):
            sibling.fit(np.arange(10))
            runner.fit(np.arange(10))
            timer = threading.Timer(0.3, runner.stop)
            timer.start()
            start = time.monotonic()
            try:
                runner.fit(np.arange(30))
            except OutOfTime:
                assert 0.2 < time.monotonic() - start < LONG_SECONDS / 10
            else:
                raise AssertionError("the learner was not stopped")
            assert sibling.examine(np.arange(10)).wrong.shape == (10,)
            sibling.fit(np.arange(100, 115))
            assert sibling.examine(np.arange(120, 130)).wrong.shape == (10,)

    def test_the_end_of_one_learners_process_leaves_its_sibling_alone(self) -> None:
        """The runner whose process ended can be used again."""
        pool = make_pool()
        with (
            open_runner(self.make(), AwkwardClassifier("is killed", above=20), pool, n_jobs=2) as runner,
            runner.open_sibling() as sibling,
        ):
            for each, other in ((runner, sibling), (sibling, runner)):
                other.fit(np.arange(10))
                try:
                    each.fit(np.arange(30))
                except LearnerDied as died:
                    assert "SIGKILL" in str(died)
                else:
                    raise AssertionError("the end of the learner's process was not noticed")
                assert other.examine(np.arange(10)).wrong.shape == (10,)
                each.fit(np.arange(12))

    def describe_death(self, trouble: str) -> str:
        """Fit a learner that ends its process, and return the description of its end."""
        with open_runner(self.make(), AwkwardClassifier(trouble), make_pool()) as runner:
            try:
                runner.fit(np.arange(30))
            except LearnerDied as died:
                return str(died)
        raise AssertionError("the end of the learner's process was not noticed")

    def test_a_saved_model_survives_the_end_of_the_learners_process(self) -> None:
        """It can be loaded after a crash in a later fit."""
        with open_runner(self.make(), AwkwardClassifier("segfaults", above=20), make_pool()) as runner:
            runner.fit(np.arange(15))
            saved = runner.save()
            with contextlib.suppress(LearnerDied):
                runner.fit(np.arange(30))
        assert saved.load().predict(make_pool().X[:1]).shape == (1,)
        saved.discard()

    def test_a_saved_model_survives_continued_training_that_fails(self) -> None:
        """Whether the learner's process crashes or is stopped at the deadline."""
        troubles = (("segfaults", 0.0, LearnerDied), ("hangs in Python", LONG_SECONDS - 0.5, OutOfTime))
        for trouble, elapsed_seconds, expected in troubles:
            saved, error = self.save_before(trouble, elapsed_seconds)
            assert type(error) is expected
            assert saved.load().model_.class_count_.sum() == 20
            saved.discard()

    def save_before(self, trouble: str, elapsed_seconds: float) -> tuple[SavedModel, Exception]:
        """Save a model, let time pass, and continue training into trouble; return the model and the exception."""
        skipped = FakeClock()
        with self.make().open(Budget(LONG_SECONDS, clock=lambda: time.monotonic() + skipped())) as runner:
            runner.prepare(
                AwkwardClassifier(trouble, above=25), make_pool(), FitSettings(classes=np.array(["a", "b", "c"]))
            )
            runner.fit(np.arange(10), 5)
            runner.save().discard()
            runner.fit(np.arange(10, 20), 5)
            saved = runner.save()
            skipped.advance(elapsed_seconds)
            try:
                runner.fit(np.arange(20, 60), 5)
            except (LearnerDied, OutOfTime) as error:
                return saved, error
        raise AssertionError("the learner was not stopped")

    def test_a_fit_reports_the_memory_that_the_learner_took(self) -> None:
        """With the memory before it, whether there is a limit or not, and each fit its own."""
        pool = make_pool()
        for memory_limit in (None, 100_000 * MEGABYTE):
            with open_runner(self.make(), HungryClassifier(100_000), pool, memory_limit=memory_limit) as runner:
                # A row has 12 bytes.
                small, large, again = (runner.fit(np.arange(rows)) for rows in (10, 200, 10))
                examined = runner.examine(np.arange(10))
            growth = [(report.peak_memory or 0) - (report.memory_before or 0) for report in (small, large, again)]
            # The first fit may import the learner's library.
            assert 8 * MEGABYTE <= growth[0] < 500 * MEGABYTE
            assert 200 * MEGABYTE <= growth[1] < 340 * MEGABYTE
            assert growth[2] < 100 * MEGABYTE
            assert (examined.peak_memory or 0) >= (again.memory_before or 0) > 0

    def test_a_learner_that_takes_more_than_the_memory_limit_is_stopped(self) -> None:
        """Soon enough that little more is taken. The model before can be loaded, and the runner used again."""
        pool, learner = make_pool(), HungryClassifier(1_000_000)
        with open_runner(self.make(), learner, pool) as runner:
            memory_limit = (runner.fit(np.arange(10)).peak_memory or 0) + 200 * MEGABYTE
        with open_runner(self.make(), learner, pool, memory_limit=memory_limit) as runner:
            runner.fit(np.arange(10))
            saved = runner.save()
            try:
                runner.fit(np.arange(200))
            except OutOfMemory as stopped:
                assert stopped.limit == memory_limit < stopped.n_bytes < memory_limit + 200 * MEGABYTE
            else:
                raise AssertionError("the learner was not stopped")
            runner.fit(np.arange(10))
            assert runner.examine(np.arange(10)).wrong.shape == (10,)
        assert saved.load().predict(pool.X[:1]).shape == (1,)
        saved.discard()

    def test_the_end_of_the_learners_process_is_described_by_its_cause(self) -> None:
        """A signal by its name, an exit by its code."""
        assert "SIGSEGV" in self.describe_death("segfaults")
        assert "SIGKILL" in self.describe_death("is killed")
        assert "exit code 3" in self.describe_death("exits")

    def test_a_model_that_cannot_be_pickled_is_reported(self) -> None:
        """As an exception of the learner, which says what to do."""
        with open_runner(self.make(), AwkwardClassifier("cannot be pickled"), make_pool()) as runner:
            runner.fit(np.arange(30))
            try:
                runner.save()
            except LearnerRaised as raised:
                assert type(raised.error) is TypeError
                assert "cannot be pickled" in str(raised.error)
                return
        raise AssertionError("a model that cannot be pickled was saved")
