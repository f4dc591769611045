"""Tests that every backend must pass, to be run on each implementation."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fitwithin._core.records import Exam, FitLimits, Purpose
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import Backend, LearnerRaised, OutOfTime, Runner
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._scoring import Scoring
from fitwithin.testing._backends import (
    FAULT_ABOVE,
    FEW_ROWS,
    GATHER_LIMIT_BYTES,
    LONG_SECONDS,
    MANY_ROWS,
    OTHER_ROWS,
    RecordingClassifier,
    check_fit,
    fitted_numbers,
    load_once,
    make_pool,
    open_runner,
    raises,
    save_and_load,
)
from fitwithin.testing._learners import AwkwardClassifier


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

    def open(self, learner: Any, pool: TablePool | None = None, **settings: Any) -> Runner:
        """Return a prepared runner, to be entered; see `open_runner`."""
        return open_runner(self.make(), learner, pool or make_pool(), **settings)

    def test_a_fit_trains_on_exactly_its_rows_in_their_order(self) -> None:
        """Also after other fits and exams, whatever rows they share, and if a row is there twice.

        The learner overwrites its input; the pool and the rows of later fits stay the same.
        """
        pool, rng = make_pool(), np.random.default_rng(0)
        before = pool.X.copy()
        with self.open(RecordingClassifier(), pool) as runner:
            for count in (len(FEW_ROWS), len(MANY_ROWS), len(pool), 2):
                check_fit(runner, pool, rng.permutation(len(pool))[:count])
                runner.examine(Exam(rng.permutation(len(pool))[: len(MANY_ROWS)]))
            for rows in (rng.choice(FEW_ROWS, len(MANY_ROWS)), rng.choice(MANY_ROWS, 2), FEW_ROWS, FEW_ROWS):
                check_fit(runner, pool, rows)
        np.testing.assert_array_equal(pool.X, before)

    def test_features_keep_their_dtype_and_values(self) -> None:
        """In any memory order."""
        for dtype in (np.float64, np.float32, np.int64, np.uint8, np.bool_):
            for order in ("C", "F"):
                pool = make_pool(dtype=dtype, order=order)
                with self.open(RecordingClassifier(), pool) as runner:
                    check_fit(runner, pool, OTHER_ROWS[::-2])

    def test_an_exam_reports_which_rows_are_wrong(self) -> None:
        """For new rows, rows examined before, and training rows."""
        pool = make_pool()
        with self.open(RecordingClassifier(), pool) as runner:
            runner.fit(FEW_ROWS)
            for rows in (OTHER_ROWS, np.append(OTHER_ROWS[::-2], [FEW_ROWS[1], len(pool) - 1])):
                examined = runner.examine(Exam(rows))
                np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
                assert examined.exam_seconds >= 0

    def test_a_fit_and_its_exams_are_one_call(self) -> None:
        """Each exam comes back with its score, unless it is about mistakes only; influence is for comparisons."""
        pool, rows = make_pool(), OTHER_ROWS
        purposes: tuple[Purpose, ...] = ("holdout", "validation", "score", "mistakes")
        exams = [Exam(rows[number:], purpose) for number, purpose in enumerate(purposes)]
        with self.open(RecordingClassifier(), pool) as runner:
            report = runner.fit(FEW_ROWS, exams=exams)
            whole = runner.score(np.arange(sum(len(exam.rows) for exam in exams)) < len(rows))
        assert [examined.n_rows for examined in report.exams] == [len(exam.rows) for exam in exams]
        for exam, examined in zip(exams, report.exams, strict=True):
            np.testing.assert_array_equal(examined.wrong, pool.read(exam.rows).y != "a")
            assert (examined.score is None) == (exam.purpose == "mistakes")
            assert (examined.influence is None) == (exam.purpose in ("mistakes", "holdout"))
        assert whole.selected == report.exams[0].score
        assert not report.gave_up
        assert not report.was_cut_short

    def test_rows_that_cannot_be_predicted_are_wrong_and_no_part_of_the_score(self) -> None:
        """The report has them, and what could be set to predict them."""
        X = np.array([["a"], ["b"]] * 50 + [["c"]], dtype=object)
        pool, rows = TablePool(X, Labels.encode([0, 1] * 50 + [1])), np.array([97, 100, 98, 99])
        learner = make_pipeline(OrdinalEncoder(), GaussianNB())
        for scoring in (Scoring(), Scoring(get_scorer("neg_log_loss"))):
            with self.open(learner, pool, scoring=scoring) as runner:
                (examined,) = runner.fit(np.arange(50), exams=[Exam(rows, "validation")]).exams
                scored = runner.score(np.ones(len(rows), dtype=np.bool_))
            np.testing.assert_array_equal(examined.wrong, [False, True, False, False])
            assert examined.unpredicted is not None
            np.testing.assert_array_equal(examined.unpredicted.mask, examined.wrong)
            assert "The step 'ordinalencoder' was not fitted on every value in column 0" in examined.unpredicted.reason
            assert examined.score is not None
            assert scored.overall == examined.score
            assert abs(examined.score.value - (1 if scoring.is_accuracy else 0)) < 1e-6
            assert examined.influence is not None
            assert len(examined.influence) == 3

    def test_an_exam_with_too_few_seconds_answers_its_first_rows(self) -> None:
        """At least some of them; one with enough seconds answers all."""
        pool = make_pool(5_000)
        rows = np.arange(len(pool))[::-1]
        with self.open(RecordingClassifier(row_seconds=2e-4), pool) as runner:
            cut, whole = runner.fit(FEW_ROWS, exams=[Exam(rows, "validation", seconds=0.1), Exam(rows)]).exams
        assert 0 < cut.n_rows < whole.n_rows == len(rows)
        np.testing.assert_array_equal(cut.wrong, whole.wrong[: cut.n_rows])
        assert cut.score is not None
        assert cut.influence is not None
        assert len(cut.influence) == cut.n_rows

    def test_a_fit_gives_up_if_its_projection_is_too_long(self) -> None:
        """After a few steps, and without exams; an affordable one goes on, and one without known steps does too."""
        n_trees, exams = 400, [Exam(FEW_ROWS)]
        forest = RandomForestClassifier(n_trees, random_state=0)
        with self.open(GaussianNB()) as runner:
            gave_up = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=1e-3), learner=forest)
            went_on = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=LONG_SECONDS), learner=forest)
            unknown = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=1e-9))
        assert gave_up.gave_up
        assert gave_up.was_cut_short
        assert gave_up.exams == ()
        assert gave_up.steps is not None
        assert 2 < gave_up.steps < n_trees == gave_up.planned_steps
        assert gave_up.skipped_seconds > gave_up.fit_seconds / gave_up.steps
        assert (went_on.steps, went_on.planned_steps, went_on.skipped_seconds) == (n_trees, n_trees, 0)
        assert (unknown.steps, unknown.planned_steps) == (None, None)
        for report in (went_on, unknown):
            assert not report.gave_up
            assert not report.was_cut_short
            assert len(report.exams) == 1

    def test_influence_is_the_same_in_every_backend(self) -> None:
        """Of the exam's rows alone, with weights and without, and by resample; two exams of one model do not differ."""
        pool = make_pool()
        even, odd = np.split(np.argsort(np.arange(len(pool)) % 2, kind="stable"), 2)
        weights = 1.0 + np.arange(len(pool))
        for name, row_params in (("accuracy", {"sample_weight": weights}), ("neg_log_loss", {}), ("f1_macro", {})):
            scoring, pool.row_params = Scoring(get_scorer(name), seed=0), row_params
            direct = ModelRunner(GaussianNB(), scoring)
            direct.fit(pool.read(even), {})
            expected = direct.examine([pool.read(odd)], "validation")
            with self.open(GaussianNB(), pool, scoring=scoring) as runner:
                runner.fit(even)
                runner.examine(Exam(MANY_ROWS))
                first, second = (runner.examine(Exam(odd, "validation")) for _ in range(2))
            assert expected.influence is not None
            assert first.score == second.score == expected.score
            assert expected.influence.dtype == np.float32
            for examined in (first, second):
                assert examined.influence is not None
                np.testing.assert_array_equal(examined.influence, expected.influence)

    def test_a_saved_model_outlives_the_next_fit_and_the_runner(self) -> None:
        """It can be loaded after the runner is closed."""
        pool = make_pool()
        with self.open(RecordingClassifier(), pool) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            runner.fit(MANY_ROWS)
        model = load_once(saved)
        assert type(model) is RecordingClassifier
        assert len(model.X_) == len(FEW_ROWS)
        assert model.predict(pool.X[:2]).tolist() == ["a", "a"]

    def test_a_saved_model_can_be_written_to_a_skops_file(self) -> None:
        """Checkpoints need this; types that are not on fitwithin's list are named. skops is optional."""
        if importlib.util.find_spec("skops") is None:
            return
        pool = make_pool()
        with self.open(RecordingClassifier(), pool) as runner, tempfile.TemporaryDirectory() as folder:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            dump = saved.dump(Path(folder) / "model.skops")
            assert dump.wait(LONG_SECONDS)
            names = dump.result()
            assert (Path(folder) / "model.skops").stat().st_size
        assert names == (f"{RecordingClassifier.__module__}.RecordingClassifier",)
        assert len(load_once(saved).X_) == len(FEW_ROWS)

    def test_a_warning_of_the_learner_reaches_the_user(self) -> None:
        """When its model is loaded, and not before."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with self.open(RecordingClassifier("slow going")) as runner:
                runner.fit(FEW_ROWS)
                saved = runner.save()
            assert not caught
            load_once(saved)
        assert [str(warning.message) for warning in caught] == ["slow going"]

    def test_an_exception_of_the_learner_is_reported_with_its_traceback(self) -> None:
        """With its type and text; the runner can be used again."""
        with self.open(AwkwardClassifier("raises", above=FAULT_ABOVE)) as runner:
            with raises(LearnerRaised) as caught:
                runner.fit(MANY_ROWS)
            runner.fit(FEW_ROWS)
        raised = caught.exception
        assert type(raised.error) is ArithmeticError
        assert f"no more than {FAULT_ABOVE} rows" in str(raised.error)
        assert "in _raise" in raised.traceback

    def test_no_fit_starts_when_the_budget_is_spent(self) -> None:
        """The runner raises `OutOfTime` instead."""
        with self.open(RecordingClassifier(), seconds=1e-9) as runner, raises(OutOfTime):
            runner.fit(FEW_ROWS)

    def test_a_runner_that_was_stopped_raises_out_of_time(self) -> None:
        """In every later fit and exam; a model that it saved can be loaded."""
        with self.open(RecordingClassifier()) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            runner.stop()
            runner.stop()
            with raises(OutOfTime):
                runner.fit(FEW_ROWS)
            with raises(OutOfTime):
                runner.examine(Exam(FEW_ROWS))
        assert len(load_once(saved).X_) == len(FEW_ROWS)

    def test_continued_training_gets_its_rows_in_batches(self) -> None:
        """In their order. The first batch comes with all classes; a plain fit trains a new model."""
        pool = make_pool()
        subsets = [OTHER_ROWS, OTHER_ROWS[:2], np.repeat(FEW_ROWS, 2)]
        with self.open(RecordingClassifier(), pool) as runner:
            for rows in subsets:
                runner.fit(rows, batch=2)
                runner.examine(Exam(MANY_ROWS))
            batches = save_and_load(runner).batches_
            check_fit(runner, pool, FEW_ROWS)
        expected = [rows[start : start + 2] for rows in subsets for start in range(0, len(rows), 2)]
        for rows, (X, y, _) in zip(expected, batches, strict=True):
            np.testing.assert_array_equal(X, pool.X[rows])
            np.testing.assert_array_equal(y, pool.read(rows).y)
        assert batches[0][2].tolist() == ["a", "b", "c"]
        assert all(classes is None for _, _, classes in batches[1:])

    def test_continued_training_equals_partial_fit_called_directly(self) -> None:
        """To the last bit, for randomized learners too."""
        pool, rng, batch = make_pool(), np.random.default_rng(0), len(FEW_ROWS)
        subsets = [rng.permutation(len(pool))[:count] for count in (batch, batch, 2 * batch + 1, len(pool))]
        for learner in (SGDClassifier(random_state=0), GaussianNB()):
            direct = clone(learner)
            with self.open(learner, pool) as runner:
                for rows in subsets:
                    runner.fit(rows, batch=batch)
                    for start in range(0, len(rows), batch):
                        part = pool.read(rows[start : start + batch])
                        direct.partial_fit(part.X, part.y, classes=np.array(["a", "b", "c"]))
                np.testing.assert_equal(fitted_numbers(save_and_load(runner)), fitted_numbers(direct))

    def test_continued_training_does_not_change_a_saved_model(self) -> None:
        """Whether a plain fit or continued training made it, and also if the next fit raises."""
        pool = make_pool()
        few, more = len(FEW_ROWS), len(MANY_ROWS)
        n_classes = len(np.unique(pool.read(FEW_ROWS).y))
        for batch in (None, few // 2):
            with self.open(AwkwardClassifier("raises", above=2 * more), pool) as runner:
                runner.fit(FEW_ROWS, batch=batch)
                first = runner.save()
                runner.fit(MANY_ROWS[few:], batch=few)
                second = runner.save()
                with contextlib.suppress(LearnerRaised):
                    runner.fit(np.arange(more, len(pool)), batch=few)
            for saved, rows in ((first, few), (second, more)):
                model = load_once(saved).model_
                assert model.class_count_.sum() == rows
                np.testing.assert_allclose(model.theta_[0], pool.X[:rows:n_classes].mean(axis=0), rtol=1e-5)

    def test_margins_are_the_gaps_between_the_two_most_probable_classes(self) -> None:
        """If they are requested. The mistakes are those of `predict` either way."""
        pool, training, asked = make_pool(), MANY_ROWS, np.append(OTHER_ROWS, FEW_ROWS[::-1])
        for learner in (GaussianNB(), SGDClassifier(loss="log_loss", random_state=0), RandomForestClassifier(10)):
            with self.open(learner, pool) as runner:
                runner.fit(training)
                plain, examined = runner.examine(Exam(asked)), runner.examine(Exam(asked, margins=True))
                model = save_and_load(runner)
            assert plain.margins is None
            assert examined.margins is not None
            ranked = np.sort(model.predict_proba(pool.X[asked]), axis=1)
            np.testing.assert_allclose(examined.margins, ranked[:, -1] - ranked[:, -2], rtol=0, atol=1e-6)
            np.testing.assert_array_equal(examined.wrong, model.predict(pool.X[asked]) != pool.read(asked).y)
            np.testing.assert_array_equal(examined.wrong, plain.wrong)

    def test_an_exam_of_the_whole_pool_is_read_in_pieces(self) -> None:
        """A pool may fill most of the memory, so there is no room for a second copy."""
        pool = TablePool(np.ones((40_000, 120)), Labels.encode(np.arange(40_000) % len(FEW_ROWS)))
        all_rows = np.arange(len(pool))
        with self.open(RecordingClassifier(), pool) as runner:
            runner.fit(all_rows[-2:])
            examined = runner.examine(Exam(all_rows))
            model = save_and_load(runner)
        np.testing.assert_array_equal(examined.wrong, pool.read(all_rows).y != model.classes_[0])
        assert pool.X.nbytes > GATHER_LIMIT_BYTES
