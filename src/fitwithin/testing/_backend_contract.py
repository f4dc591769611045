"""Tests that every backend must pass, to be run on each implementation."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fitwithin._core.budget import Budget
from fitwithin._core.records import Exam, FitLimits, Purpose, Rows
from fitwithin._core.target import Labels
from fitwithin._pools.table_pool import TablePool
from fitwithin.backends import Backend, FitSettings, LearnerRaised, OutOfTime, Runner
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._scoring import Scoring
from fitwithin.testing._backends import (
    FEW_ROWS,
    GATHER_LIMIT_BYTES,
    LONG_SECONDS,
    MANY_ROWS,
    TROUBLE_ABOVE,
    RecordingClassifier,
    SlowToPredict,
    fitted_numbers,
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
        """Also after other fits and exams, whatever rows they share, and if a row is there twice.

        The learner overwrites its input; the pool and the rows of later fits stay the same.
        """
        pool, rng = make_pool(), np.random.default_rng(0)
        before = pool.X.copy()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            for count in (5, 20, 60, 200, 3):
                self.check_fit(runner, pool, rng.permutation(len(pool))[:count])
                runner.examine(Exam(rng.permutation(len(pool))[:50]))
            for rows in ([4, 4, 1, 7, 1], [9, 4, 9, 0], FEW_ROWS, FEW_ROWS):
                self.check_fit(runner, pool, np.array(rows))
        np.testing.assert_array_equal(pool.X, before)

    def test_features_keep_their_dtype_and_values(self) -> None:
        """In any memory order."""
        for dtype in (np.float64, np.float32, np.int64, np.uint8, np.bool_):
            for order in ("C", "F"):
                pool = make_pool(dtype=dtype, order=order)
                with open_runner(self.make(), RecordingClassifier(), pool) as runner:
                    self.check_fit(runner, pool, np.array([7, 150, 2]))

    def test_an_exam_reports_which_rows_are_wrong(self) -> None:
        """For new rows, rows examined before, and training rows."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(12))
            for rows in (np.arange(50, 61), np.array([55, 3, 199, 52])):
                examined = runner.examine(Exam(rows))
                np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
                assert examined.exam_seconds >= 0

    def test_a_fit_and_its_exams_are_one_call(self) -> None:
        """Each exam comes back with its score, unless it is about mistakes only; influence is for comparisons."""
        pool, rows = make_pool(), np.arange(50, 61)
        purposes: tuple[Purpose, ...] = ("holdout", "validation", "score", "mistakes")
        exams = [Exam(rows[number:], purpose) for number, purpose in enumerate(purposes)]
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            report = runner.fit(np.arange(12), exams=exams)
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
            with self.make().open(Budget(LONG_SECONDS)) as runner:
                runner.prepare(learner, pool, FitSettings(scoring))
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

    def test_an_exam_reports_the_influence_of_its_rows(self) -> None:
        """Of these alone, whatever was examined before."""
        pool, rows = make_pool(), np.arange(50, 61)
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.arange(12))
            runner.examine(Exam(MANY_ROWS))
            examined = runner.examine(Exam(rows, "validation"))
            plain = runner.score(np.arange(30 + len(rows)) >= 30)
        is_correct = pool.read(rows).y == "a"
        assert plain.overall is not None
        assert examined.score is not None
        assert examined.score == plain.selected
        assert examined.influence is not None
        assert examined.influence.dtype == np.float32
        np.testing.assert_allclose(examined.influence, (is_correct - is_correct.mean()) / len(rows), rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(examined.influence), examined.score.standard_error, rtol=1e-5)

    def test_an_exam_with_too_few_seconds_answers_its_first_rows(self) -> None:
        """At least some of them; one with enough seconds answers all."""
        pool = make_pool(5_000)
        rows = np.arange(len(pool))[::-1]
        with open_runner(self.make(), SlowToPredict(), pool) as runner:
            cut, whole = runner.fit(FEW_ROWS, exams=[Exam(rows, "validation", seconds=0.1), Exam(rows)]).exams
        assert 0 < cut.n_rows < whole.n_rows == len(rows)
        np.testing.assert_array_equal(cut.wrong, whole.wrong[: cut.n_rows])
        assert cut.score is not None
        assert cut.influence is not None
        assert len(cut.influence) == cut.n_rows

    def test_a_fit_gives_up_if_its_projection_is_too_long(self) -> None:
        """After a few steps, and without exams; an affordable one goes on, and one without known steps does too."""
        forest, exams = RandomForestClassifier(400, random_state=0), [Exam(FEW_ROWS)]
        with open_runner(self.make(), GaussianNB(), make_pool()) as runner:
            gave_up = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=1e-3), learner=forest)
            went_on = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=LONG_SECONDS), learner=forest)
            unknown = runner.fit(MANY_ROWS, exams=exams, limits=FitLimits(give_up_over=1e-9))
        assert gave_up.gave_up
        assert gave_up.was_cut_short
        assert gave_up.exams == ()
        assert gave_up.steps is not None
        assert 4 <= gave_up.steps < 400 == gave_up.planned_steps
        assert gave_up.skipped_seconds > gave_up.fit_seconds / gave_up.steps
        assert (went_on.steps, went_on.planned_steps, went_on.skipped_seconds) == (400, 400, 0)
        assert (unknown.steps, unknown.planned_steps) == (None, None)
        for report in (went_on, unknown):
            assert not report.gave_up
            assert not report.was_cut_short
            assert len(report.exams) == 1

    def test_influence_is_the_same_in_every_backend(self) -> None:
        """By row, with weights and without, and by resample; two scores of one model do not differ."""
        weights = np.arange(1, 201) / 100
        for name, row_params in (("accuracy", {"sample_weight": weights}), ("neg_log_loss", {}), ("f1_macro", {})):
            pool, scoring = make_pool(), Scoring(get_scorer(name), seed=0)
            pool.row_params = row_params
            direct = ModelRunner(GaussianNB(), scoring)
            direct.fit(pool.read(np.arange(0, 200, 2)), {})
            rows = np.arange(1, 200, 2)
            expected = direct.examine([pool.read(rows)], "validation")
            with self.make().open(Budget(LONG_SECONDS)) as runner:
                runner.prepare(GaussianNB(), pool, FitSettings(scoring))
                runner.fit(np.arange(0, 200, 2))
                first, second = (runner.examine(Exam(rows, "validation")) for _ in range(2))
            assert expected.influence is not None
            assert first.score == second.score == expected.score
            for examined in (first, second):
                assert examined.influence is not None
                np.testing.assert_array_equal(examined.influence, expected.influence)

    def test_a_saved_model_outlives_the_next_fit_and_the_runner(self) -> None:
        """It can be loaded after the runner is closed."""
        pool = make_pool()
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            runner.fit(MANY_ROWS)
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
            runner.fit(FEW_ROWS)
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
                runner.fit(FEW_ROWS)
                saved = runner.save()
            assert not caught
            saved.load()
        saved.discard()
        assert [str(warning.message) for warning in caught] == ["slow going"]

    def test_an_exception_of_the_learner_is_reported_with_its_traceback(self) -> None:
        """With its type and text; the runner can be used again."""
        with open_runner(self.make(), AwkwardClassifier("raises", above=TROUBLE_ABOVE), make_pool()) as runner:
            with raises(LearnerRaised) as caught:
                runner.fit(MANY_ROWS)
            runner.fit(FEW_ROWS)
        raised = caught.exception
        assert type(raised.error) is ArithmeticError
        assert f"no more than {TROUBLE_ABOVE} rows" in str(raised.error)
        assert "in _raise" in raised.traceback

    def test_no_fit_starts_when_the_budget_is_spent(self) -> None:
        """The runner raises `OutOfTime` instead."""
        with open_runner(self.make(), RecordingClassifier(), make_pool(), seconds=1e-9) as runner, raises(OutOfTime):
            runner.fit(FEW_ROWS)

    def test_a_runner_that_was_stopped_raises_out_of_time(self) -> None:
        """In every later fit and exam; a model that it saved can be loaded."""
        with open_runner(self.make(), RecordingClassifier(), make_pool()) as runner:
            runner.fit(FEW_ROWS)
            saved = runner.save()
            runner.stop()
            runner.stop()
            with raises(OutOfTime):
                runner.fit(FEW_ROWS)
            with raises(OutOfTime):
                runner.examine(Exam(FEW_ROWS))
        assert len(saved.load().X_) == len(FEW_ROWS)
        saved.discard()

    def test_continued_training_gets_its_rows_in_batches(self) -> None:
        """In their order. The first batch comes with all classes; a plain fit trains a new model."""
        pool = make_pool()
        subsets = [np.array([7, 150, 2, 9, 11]), np.array([150, 3]), np.array([8, 8, 1, 4])]
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            for rows in subsets:
                runner.fit(rows, batch=2)
                runner.examine(Exam(np.array([2, 160, 20])))
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
                    runner.fit(rows, batch=16)
                    for start in range(0, len(rows), 16):
                        part = pool.read(rows[start : start + 16])
                        direct.partial_fit(part.X, part.y, classes=np.array(["a", "b", "c"]))
                np.testing.assert_equal(fitted_numbers(save_and_load(runner)), fitted_numbers(direct))

    def test_continued_training_does_not_change_a_saved_model(self) -> None:
        """Whether a plain fit or continued training made it, and also if the next fit raises."""
        pool = make_pool()
        for batch in (None, 5):
            with open_runner(self.make(), AwkwardClassifier("raises", above=60), pool) as runner:
                runner.fit(FEW_ROWS, batch=batch)
                first = runner.save()
                runner.fit(np.arange(10, 40), batch=5)
                second = runner.save()
                with contextlib.suppress(LearnerRaised):
                    runner.fit(np.arange(40, 100), batch=5)
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
        pool = TablePool(np.ones((40_000, 120)), Labels.encode(np.arange(40_000) % 7))
        all_rows = np.arange(len(pool))
        with open_runner(self.make(), RecordingClassifier(), pool) as runner:
            runner.fit(np.array([39_998, 3, 7]))
            examined = runner.examine(Exam(all_rows))
            model = save_and_load(runner)
        np.testing.assert_array_equal(examined.wrong, pool.read(all_rows).y != model.classes_[0])
        assert pool.X.nbytes > GATHER_LIMIT_BYTES
