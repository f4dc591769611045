"""TCT_AL, compared with a literal implementation of the paper's section on active learning."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline
from fitwithin.teachers import TCT, Answers, Exam, Lesson, TCTActive
from fitwithin.testing import FakeClock
from teacher_driver import a_deck, timeless

PAPERS_ALPHAS = [0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9]


def drive(teacher, deck, margin_of):
    """Every request as plain lists, and the stop reason."""
    requests, transcript, answers = teacher.teach(deck), [], None
    while len(transcript) < 100:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return transcript, end.value
        rows = request.rows.tolist()
        transcript.append(("exam" if isinstance(request, Exam) else "lesson", rows))
        if isinstance(request, Exam):
            assert request.margins, "the exam asks for margins"
            margins = np.array([margin_of(row) for row in rows], dtype=np.float32)
            answers = Answers(request.rows, np.zeros(len(rows), dtype=bool), margins)
        else:
            answers = None
    raise AssertionError("lessons double, so there are fewer than 100")


def check_against_the_paper(size, first, alpha, margin_of, transcript):
    """The section's text over lists and sets; random choices come from the transcript."""
    pool, ever_examined = set(range(size)), set()
    transcript = iter(transcript)
    kind, training_set = next(transcript)
    assert kind == "lesson"
    assert len(training_set) == min(first, size)
    while set(training_set) != pool:
        i = len(training_set)

        # "a set S, containing 2i random examples": of those that were not taught, never examined ones first.
        kind, s = next(transcript)
        untaught = pool - set(training_set)
        fresh = untaught - ever_examined
        assert kind == "exam"
        assert len(s) == len(set(s)) == min(2 * i, len(untaught))
        assert set(s) <= untaught
        assert set(s) <= fresh or fresh <= set(s)
        ever_examined |= set(s)

        # "picking the alpha i most uncertain examples from S and (1 - alpha) i additional random examples from S"
        kind, grown = next(transcript)
        assert kind == "lesson"
        assert grown[:i] == training_set
        s_prime = grown[i:]
        assert len(s_prime) == len(set(s_prime)) == min(i, len(s))
        assert set(s_prime) <= set(s)
        uncertain = nearest(Fraction(str(alpha)) * i, round(alpha * i), at_most=len(s_prime))
        assert s_prime[:uncertain] == sorted(s, key=margin_of)[:uncertain]
        training_set = grown
    assert next(transcript, None) is None


def nearest(exact, found, at_most):
    """The size that was found, if it is the exact one rounded; halves may be rounded either way."""
    assert abs(found - exact) <= Fraction(1, 2)
    return min(found, at_most)


@settings(max_examples=300, deadline=None)
@given(
    size=st.integers(1, 40) | st.integers(1, 700),
    first=st.integers(1, 30),
    alpha=st.sampled_from([0, *PAPERS_ALPHAS, 0.5, 1]),
    levels=st.integers(1, 1000),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_request_is_the_one_of_the_paper(size, first, alpha, levels, seed):
    # With few levels, many rows have the same margin.
    margins = np.random.default_rng(seed).integers(levels, size=size) / levels

    transcript, reason = drive(TCTActive(alpha=alpha, first=first), a_deck(size, seed), margins.__getitem__)

    check_against_the_paper(size, first, alpha, margins.astype(np.float32).__getitem__, transcript)
    assert reason == "all rows"


@pytest.mark.parametrize("alpha", PAPERS_ALPHAS)
def test_a_larger_pool_is_taught_as_the_paper_says(alpha):
    margins = np.random.default_rng(0).random(6000).astype(np.float32)

    transcript, reason = drive(TCTActive(alpha=alpha), a_deck(6000), margins.__getitem__)

    check_against_the_paper(6000, 30, alpha, margins.__getitem__, transcript)
    assert reason == "all rows"


def test_one_session_worked_by_hand():
    requests = TCTActive(alpha=0.5, first=4).teach(a_deck(18))

    # Round 1: 4 rows, then 8 to choose from. The 2 least certain ones are the third and the sixth.
    s1 = next(requests).rows.tolist()
    assert len(s1) == 4
    exam = requests.send(None)
    a = exam.rows.tolist()
    assert len({*s1, *a}) == 12
    margins = np.array([0.9, 0.5, 0.1, 0.8, 0.7, 0.05, 0.6, 0.4], dtype=np.float32)
    s2 = requests.send(Answers(exam.rows, np.ones(8, dtype=bool), margins)).rows.tolist()
    assert s2[:6] == [*s1, a[5], a[2]]
    assert len(s2) == 8
    assert set(s2[6:]) < set(a) - {a[5], a[2]}

    # Round 2: 16 rows are wanted and 10 are left: 6 that were never examined come first, then 4 that came back.
    exam = requests.send(None)
    b = exam.rows.tolist()
    assert sorted([*s2, *b]) == list(range(18))
    assert set(b[6:]) == set(a) - set(s2)
    # Of rows with the same margin, those examined first are chosen. 4 of 8 are chosen by margin, 4 at random.
    margins = np.array([0.3, 0.2, 0.3, 0.9, 0.9, 0.3, 0.3, 0.9, 0.9, 0.9], dtype=np.float32)
    s3 = requests.send(Answers(exam.rows, np.zeros(10, dtype=bool), margins)).rows.tolist()
    assert s3[:12] == [*s2, b[1], b[0], b[2], b[5]]
    assert len(s3) == 16

    # Round 3: the last 2 rows, and there is nothing left to choose.
    exam = requests.send(None)
    assert sorted([*s3, *exam.rows.tolist()]) == list(range(18))
    s4 = requests.send(Answers(exam.rows, np.zeros(2, dtype=bool), np.zeros(2, dtype=np.float32))).rows.tolist()
    assert sorted(s4) == list(range(18))
    with pytest.raises(StopIteration) as end:
        requests.send(None)
    assert end.value.value == "all rows"


@pytest.mark.parametrize("alpha", [0, 0.2, 0.6])
def test_the_other_rows_of_a_lesson_are_random(alpha):
    transcript, _ = drive(TCTActive(alpha=alpha, first=2000), a_deck(20_000), lambda row: row / 20_000)

    (_, s), (_, lesson) = transcript[1:3]
    uncertain, random = np.split(np.array(lesson[2000:]), [round(alpha * 2000)])
    others = np.setdiff1d(s, uncertain)
    assert len(random) == round((1 - alpha) * 2000)
    assert abs(random.mean() - others.mean()) < 4 * others.std() / np.sqrt(len(random))
    assert random.max() > np.quantile(others, 0.98)


def test_a_pool_smaller_than_the_first_lesson_is_taught_whole():
    assert drive(TCTActive(first=50), a_deck(7), lambda row: 0) == ([("lesson", list(range(7)))], "all rows")


def test_the_best_model_is_returned():
    assert TCTActive().returns == "best"


def test_the_defaults_are_those_of_the_paper():
    assert TCTActive().get_params() == {"alpha": 0.2, "first": 0.005}


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.2", None])
def test_an_invalid_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha") as caught:
        next(TCTActive(alpha=alpha).teach(a_deck(1000)))

    assert repr(alpha) in str(caught.value)


def test_an_invalid_first_size_is_refused():
    with pytest.raises(ValueError, match="first"):
        next(TCTActive(first=0).teach(a_deck(1000)))


def test_answers_without_margins_are_an_error():
    requests = TCTActive(first=5).teach(a_deck(1000))
    next(requests)
    exam = requests.send(None)

    with pytest.raises(TypeError, match="margins"):
        requests.send(Answers(exam.rows, np.zeros(10, dtype=bool)))


def test_the_same_seed_teaches_the_same_rows():
    def transcript(seed):
        return drive(TCTActive(first=10), a_deck(2000, seed), lambda row: row % 7)

    assert transcript(1) == transcript(1)
    assert transcript(1) != transcript(2)


# In a session


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 5))
    y = np.array(["blue", "green", "red"])[((X[:, 0] + X[:, 1] + 0.2 * rng.random(4000)) * 1.3).astype(int)]
    return X, y


class RecordingTeacher:
    """Wraps a teacher and records its requests and their answers."""

    returns = "best"

    def __init__(self, teacher):
        self.teacher = teacher
        self.recorded = []

    def teach(self, deck):
        requests, answers = self.teacher.teach(deck), None
        while True:
            try:
                request = requests.send(answers)
            except StopIteration as end:
                return end.value
            answers = yield request
            self.recorded.append((request, answers))


def test_a_session_teaches_the_rows_that_the_model_is_least_certain_of(table):
    X, y = table
    recording = RecordingTeacher(TCTActive(alpha=0.5, first=100))

    TimeConstrainedClassifier(GaussianNB(), teacher=recording, backend=timeless(), random_state=0).fit(X, y)

    lessons = [request.rows for request, _ in recording.recorded if isinstance(request, Lesson)]
    exams = [answers for request, answers in recording.recorded if isinstance(request, Exam)]
    assert len(lessons) == len(exams) + 1 > 4
    for number, answers in enumerate(exams):
        model = GaussianNB().fit(X[lessons[number]], y[lessons[number]])
        ranked = np.sort(model.predict_proba(X[answers.rows]), axis=1)
        gaps = (ranked[:, -1] - ranked[:, -2]).astype(np.float32)
        np.testing.assert_allclose(answers.margins, gaps, atol=1e-6)
        np.testing.assert_array_equal(answers.wrong, model.predict(X[answers.rows]) != y[answers.rows])
        size = len(lessons[number])
        uncertain = lessons[number + 1][size : size + size // 2]
        least = answers.rows[np.argsort(gaps)][: len(uncertain)]
        assert len(set(uncertain.tolist()) & set(least.tolist())) >= len(uncertain) - 1


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeClassifier(max_depth=5),
        RandomForestClassifier(10),
        LogisticRegression(),
        SGDClassifier(loss="log_loss"),
        GaussianNB(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_learner_with_probabilities_can_be_taught(learner, table):
    classifier = TimeConstrainedClassifier(learner, teacher="tct_al", backend=timeless(), random_state=0).fit(*table)

    assert classifier.stop_reason_ == "all rows"
    assert [finished.rows for finished in classifier.history_] == [20 * 2**round_ for round_ in range(8)] + [4000]
    assert classifier.score(*table) > 0.6


def test_both_backends_teach_the_same_rows_and_return_the_same_model(table):
    settings = {"teacher": TCTActive(first=50), "random_state": 3, "on_round": lambda finished: finished.number == 4}
    here = TimeConstrainedClassifier(RandomForestClassifier(5), backend=timeless(), **settings).fit(*table)
    there = TimeConstrainedClassifier(RandomForestClassifier(5), backend="process", **settings).fit(*table)

    for name in ("rows", "new_rows", "new_mistakes", "examined", "fresh", "estimate", "best"):
        assert [getattr(r, name) for r in here.history_] == [getattr(r, name) for r in there.history_]
    np.testing.assert_array_equal(here.predict_proba(table[0]), there.predict_proba(table[0]))


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_mistakes_are_those_of_predict_even_where_it_does_not_choose_the_likeliest_class(scoring, table):
    # With this low threshold nearly every row is predicted as positive.
    X, y = table[0], (table[1] == "blue").astype(int)
    learner = FixedThresholdClassifier(GaussianNB(), threshold=0.01, pos_label=1)

    def estimate(teacher):
        return (
            TimeConstrainedClassifier(
                learner,
                teacher=teacher,
                backend=timeless(),
                scoring=scoring,
                on_round=lambda finished: True,
                random_state=0,
            )
            .fit(X, y)
            .score_estimate_
        )

    assert estimate(TCTActive(first=1000))[0] == pytest.approx(estimate(TCT(first=1000))[0], abs=0.1)


def test_the_deadline_ends_a_session_with_the_best_model_so_far(table):
    clock = FakeClock()

    class Slow(GaussianNB):
        def fit(self, X, y):
            clock.advance(len(X))
            return super().fit(X, y)

    classifier = TimeConstrainedClassifier(
        Slow(), time_limit=1000, teacher=TCTActive(first=20), backend=Inline(clock=clock), random_state=0
    ).fit(*table)

    assert classifier.stop_reason_ == "time"
    assert [finished.rows for finished in classifier.history_] == [20, 40, 80, 160, 320]
    assert classifier.n_rows_trained_ == [finished.rows for finished in classifier.history_ if finished.best][-1]
