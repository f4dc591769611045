"""The log tells the start, the rounds, the end and the faults of a fit; by default it is silent."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fitwithin import LearnerFailedWarning, NoModelInTime, TimeConstrainedClassifier, TimeConstrainedSearch
from fitwithin._core.budget import Budget
from fitwithin._core.log import LOGGER
from fitwithin._session.listeners import SessionLog
from fitwithin.backends import Inline
from fitwithin.teachers import TCT, Double
from fitwithin.testing import AwkwardClassifier, FakeClock

RNG = np.random.default_rng(0)
X = RNG.random((2_000, 3))
Y = (X[:, 0] > 0.5).astype(int)


def fit(learner=None, **parameters):
    settings = {"backend": "inline", "teacher": Double(first=100), "progress": False, "random_state": 0} | parameters
    return TimeConstrainedClassifier(GaussianNB() if learner is None else learner, **settings).fit(X, Y)


@pytest.fixture
def lines(caplog):
    """The lines of the log at INFO and above, with their levels."""
    caplog.set_level(logging.INFO, "fitwithin")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "fitwithin"]


def test_start_rounds_and_end_have_a_line_each(lines):
    classifier = fit(time_limit=60, teacher=TCT(first=100))

    levels, texts = zip(*lines(), strict=True)
    assert set(levels) == {"INFO"}
    assert texts[0] == "Fitting GaussianNB on up to 2,000 rows within 60 s."
    assert len(texts) == 2 + len(classifier.history_)
    for text, finished in zip(texts[1:-1], classifier.history_, strict=True):
        assert text.startswith(f"Round {finished.number}: {finished.rows:,} rows, score {finished.estimate:.4f} [")
        assert ("the best so far" in text) == finished.best
    assert f"({classifier.stop_reason_}): a model of {classifier.n_rows_trained_:,} rows, " in texts[-1]


class Stepwise(GaussianNB):
    def __init__(self, steps=10):
        super().__init__()
        self.steps = steps


def test_a_learner_with_a_parameter_named_steps_is_no_pipeline(lines, tmp_path):
    classifier = fit(Stepwise())

    assert lines()[0][1].startswith("Fitting Stepwise on ")
    assert "<title>Stepwise" in classifier.report(tmp_path / "report.html").read_text()


def test_a_round_without_an_exam_has_no_score(lines):
    fit()

    assert lines()[1][1].startswith("Round 1: 100 rows, no score, ")


def test_all_learners_of_a_search_are_named(lines):
    SessionLog(Budget(60)).on_start([GaussianNB(), DecisionTreeClassifier()], 2_000)

    assert lines() == [("INFO", "Fitting GaussianNB, DecisionTreeClassifier on up to 2,000 rows within 60 s.")]


def test_the_learner_of_a_pipeline_is_named(lines):
    fit(make_pipeline(StandardScaler(), GaussianNB()))

    assert lines()[0][1].startswith("Fitting GaussianNB on")


@pytest.mark.filterwarnings("ignore::fitwithin.LearnerFailedWarning")
def test_the_last_line_has_the_seconds_of_fits_that_left_no_model(lines):
    clock = FakeClock()
    learner = AwkwardClassifier("raises", above=200)

    class Slow(Inline):
        def open(self, budget):
            runner = super().open(budget)
            fit_rows = runner.fit
            runner.fit = lambda rows, **others: (clock.advance(2.5), fit_rows(rows, **others))[1]
            return runner

    classifier = fit(learner, backend=Slow(clock=clock))

    assert classifier.lost_seconds_ == 2.5
    assert lines()[-1][1].endswith("no score; 2.5 s went into fits that left no model.")


def test_a_learner_that_fails_later_is_a_warning(lines):
    with pytest.warns(LearnerFailedWarning):
        fit(AwkwardClassifier("raises", above=200))

    (warning,) = [text for level, text in lines() if level == "WARNING"]
    assert "The learner failed in round" in warning
    assert "ArithmeticError" in warning
    assert "(learner failed): a model of" in lines()[-1][1]


def test_a_fit_without_a_model_is_a_warning(lines):
    clock = FakeClock()

    class Slow(GaussianNB):
        def fit(self, X, y):
            clock.advance(100)
            return super().fit(X, y)

    with pytest.raises(NoModelInTime):
        fit(Slow(), time_limit=10, backend=Inline(clock=clock))

    level, text = lines()[-1]
    assert level == "WARNING"
    assert text.startswith("There is no model. NoModelInTime: No model within the limit of 10 s")


def test_nothing_is_logged_below_the_level_that_the_user_asked_for(caplog):
    caplog.set_level(logging.WARNING, "fitwithin")

    fit()

    assert [record for record in caplog.records if record.name == "fitwithin"] == []


def test_a_program_that_configures_no_log_sees_nothing():
    program = f"""
import sys, warnings
sys.path.insert(0, {str(__file__).rpartition("/")[0]!r})
warnings.simplefilter("ignore")
from test_log import fit, AwkwardClassifier
fit(AwkwardClassifier("raises", above=200))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout == ended.stderr == ""


def test_the_log_can_be_written_by_every_part_of_the_package():
    assert LOGGER is logging.getLogger("fitwithin")
    assert any(isinstance(handler, logging.NullHandler) for handler in LOGGER.handlers)


def test_a_round_of_a_search_names_the_learner_and_its_settings(lines):
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(), {"max_depth": [3]}, backend="inline", progress=False, random_state=0, time_limit=60
    )
    search.fit(X, Y)

    texts = [text for _, text in lines()]
    assert any(": DecisionTreeClassifier, own hyperparameters; " in text for text in texts)
    assert any(": DecisionTreeClassifier, max_depth=3; " in text for text in texts)
