"""Tests for backends that can stop a running learner, and run several at the same time."""

from __future__ import annotations

import importlib.util
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._pools.pool import TablePool
from fitwithin.backends import FitSettings, LearnerDied, LearnerRaised, OutOfMemory, OutOfTime, Runner, SavedModel
from fitwithin.teachers import Exam
from fitwithin.testing._backend_contract import BackendContract
from fitwithin.testing._backends import (
    FAULT_ABOVE,
    FEW_ROWS,
    LONG_SECONDS,
    MANY_ROWS,
    OTHER_ROWS,
    RecordingClassifier,
    check_fit,
    load_once,
    make_pool,
    raises,
)
from fitwithin.testing._clock import FakeClock
from fitwithin.testing._learners import AwkwardClassifier, HungryClassifier

MEGABYTE = 1_000_000


class KillableBackendContract(BackendContract):
    """Further tests for a backend that can stop a running learner, and run several at the same time."""

    @contextmanager
    def open_pair(self, learner: Any) -> Iterator[tuple[Runner, Runner]]:
        """Yield a prepared runner and its sibling."""
        with self.open(learner, n_jobs=2) as runner, runner.open_sibling() as sibling:
            yield runner, sibling

    def test_siblings_are_at_work_at_the_same_time(self) -> None:
        """Each in a process of its own: their fits only end because both have begun."""
        with (
            tempfile.TemporaryDirectory() as folder,
            self.open_pair(RecordingClassifier(meeting=folder)) as pair,
            ThreadPoolExecutor(2) as threads,
        ):
            fits = [threads.submit(each.fit, FEW_ROWS) for each in pair]
            assert all(fit.result().fit_seconds >= 0 for fit in fits)

    def test_siblings_train_on_exactly_their_rows(self) -> None:
        """Whatever the others train on and examine at the same time."""
        pool = make_pool(20_000)
        with (
            self.open(RecordingClassifier(), pool, n_jobs=3) as runner,
            runner.open_sibling() as second,
            runner.open_sibling() as third,
            ThreadPoolExecutor(3) as threads,
        ):
            list(threads.map(self.check_runner, (runner, second, third), [pool] * 3, range(3)))

    def check_runner(self, runner: Runner, pool: TablePool, seed: int) -> None:
        """Fit and examine rows at random, and check that they are the right ones."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(pool))
        for count in (100, 2000, 9000, len(pool)):
            check_fit(runner, pool, order[:count])
            for rows in (rng.permutation(len(pool))[:3000], np.sort(order[:count])):
                np.testing.assert_array_equal(runner.examine(Exam(rows)).wrong, pool.read(rows).y != "a")

    def test_a_model_of_a_sibling_outlives_it(self) -> None:
        """And can be written to a skops file while the first runner lasts. skops is optional."""
        with self.open(RecordingClassifier(), n_jobs=2) as runner:
            with runner.open_sibling() as sibling:
                sibling.fit(FEW_ROWS)
                saved = sibling.save()
            if importlib.util.find_spec("skops") is not None:
                with tempfile.TemporaryDirectory() as folder:
                    assert saved.dump(Path(folder) / "model.skops").wait(LONG_SECONDS)
            runner.fit(MANY_ROWS)
        assert len(load_once(saved).X_) == len(FEW_ROWS)

    def test_a_fit_can_be_stopped_from_another_thread(self) -> None:
        """At once; a sibling goes on."""
        learner = AwkwardClassifier("ignores signals", above=FAULT_ABOVE)
        with self.open_pair(learner) as (runner, sibling):
            sibling.fit(FEW_ROWS)
            runner.fit(FEW_ROWS)
            timer = threading.Timer(0.3, runner.stop)
            timer.start()
            start = time.monotonic()
            with raises(OutOfTime):
                runner.fit(MANY_ROWS)
            assert 0.2 < time.monotonic() - start < LONG_SECONDS / 10
            assert sibling.examine(Exam(FEW_ROWS)).wrong.shape == FEW_ROWS.shape
            sibling.fit(OTHER_ROWS)
            assert sibling.examine(Exam(MANY_ROWS)).wrong.shape == MANY_ROWS.shape

    def test_the_end_of_one_learners_process_leaves_its_sibling_alone(self) -> None:
        """The runner whose process ended can be used again."""
        with self.open_pair(AwkwardClassifier("is killed", above=FAULT_ABOVE)) as (runner, sibling):
            for each, other in ((runner, sibling), (sibling, runner)):
                other.fit(FEW_ROWS)
                with raises(LearnerDied) as caught:
                    each.fit(MANY_ROWS)
                assert "SIGKILL" in str(caught.exception)
                assert other.examine(Exam(FEW_ROWS)).wrong.shape == FEW_ROWS.shape
                each.fit(FEW_ROWS)

    def test_a_saved_model_survives_the_end_of_the_learners_process(self) -> None:
        """It can be loaded after a crash in a later fit."""
        with self.open(AwkwardClassifier("segfaults", above=FAULT_ABOVE)) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            with raises(LearnerDied):
                runner.fit(MANY_ROWS)
        assert load_once(saved).predict(make_pool().X[:1]).shape == (1,)

    def test_a_saved_model_survives_continued_training_that_fails(self) -> None:
        """Whether the learner's process crashes or is stopped at the deadline."""
        faults = (("segfaults", 0.0, LearnerDied), ("hangs in Python", LONG_SECONDS - 0.5, OutOfTime))
        for fault, elapsed_seconds, expected in faults:
            saved = self.save_before(fault, elapsed_seconds, expected)
            assert load_once(saved).model_.class_count_.sum() == 2 * len(FEW_ROWS)

    def save_before(self, fault: str, elapsed_seconds: float, expected: type[Exception]) -> SavedModel:
        """Save a model, let time pass, and continue training into a fault."""
        skipped = FakeClock()
        classes = np.array(["a", "b", "c"])
        with self.make().open(Budget(LONG_SECONDS, clock=lambda: time.monotonic() + skipped())) as runner:
            runner.prepare(AwkwardClassifier(fault, above=FAULT_ABOVE), make_pool(), FitSettings(classes=classes))
            runner.fit(FEW_ROWS, batch=5)
            runner.save().discard()
            runner.fit(FEW_ROWS, batch=5)
            saved = runner.save()
            skipped.advance(elapsed_seconds)
            with raises(expected):
                runner.fit(MANY_ROWS, batch=5)
        return saved

    def test_a_fit_reports_the_memory_that_the_learner_took(self) -> None:
        """With the memory before it, whether there is a limit or not, and each fit its own."""
        pool = make_pool()
        for memory_limit in (None, 100_000 * MEGABYTE):
            with self.open(HungryClassifier(100_000), pool, memory_limit=memory_limit) as runner:
                # A row has 12 bytes.
                small, large, again = (runner.fit(np.arange(rows)) for rows in (10, 200, 10))
                examined = runner.examine(Exam(FEW_ROWS))
            growth = [(report.peak_memory or 0) - (report.memory_before or 0) for report in (small, large, again)]
            # The first fit may import the learner's library.
            assert 8 * MEGABYTE <= growth[0] < 500 * MEGABYTE
            assert 200 * MEGABYTE <= growth[1] < 340 * MEGABYTE
            assert growth[2] < 100 * MEGABYTE
            assert (examined.peak_memory or 0) >= (again.memory_before or 0) > 0

    def test_a_learner_that_takes_more_than_the_memory_limit_is_stopped(self) -> None:
        """Soon enough that little more is taken. The model before can be loaded, and the runner used again."""
        pool, learner = make_pool(), HungryClassifier(1_000_000)
        with self.open(learner, pool) as runner:
            memory_limit = (runner.fit(FEW_ROWS).peak_memory or 0) + 200 * MEGABYTE
        with self.open(learner, pool, memory_limit=memory_limit) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            with raises(OutOfMemory) as caught:
                runner.fit(np.arange(len(pool)))
            stopped = caught.exception
            assert stopped.limit == memory_limit < stopped.n_bytes < memory_limit + 200 * MEGABYTE
            runner.fit(FEW_ROWS)
            assert runner.examine(Exam(FEW_ROWS)).wrong.shape == FEW_ROWS.shape
        assert load_once(saved).predict(pool.X[:1]).shape == (1,)

    def test_the_end_of_the_learners_process_is_described_by_its_cause(self) -> None:
        """A signal by its name, an exit by its code."""
        for fault, cause in (("segfaults", "SIGSEGV"), ("is killed", "SIGKILL"), ("exits", "exit code 3")):
            with self.open(AwkwardClassifier(fault)) as runner, raises(LearnerDied) as caught:
                runner.fit(MANY_ROWS)
            assert cause in str(caught.exception)

    def test_a_model_that_cannot_be_pickled_is_reported(self) -> None:
        """As an exception of the learner, which says what to do."""
        with self.open(AwkwardClassifier("cannot be pickled")) as runner:
            runner.fit(MANY_ROWS)
            with raises(LearnerRaised) as caught:
                runner.save()
        error = caught.exception.error
        assert type(error) is TypeError
        assert "cannot be pickled" in str(error)
