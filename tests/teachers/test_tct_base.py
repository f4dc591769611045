"""TCTBase, compared with a literal implementation of Algorithm 2."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline
from fitwithin.teachers import Answers, Deck, Exam, Lesson, TCTBase
from fitwithin.testing import FakeClock
from fitwithin_paper.theory.bad_example import make_bad_example
from fitwithin_paper.theory.finite_problem import simulate_tct_base
from fitwithin_paper.theory.round_schedule import RoundSchedule
from teacher_driver import a_deck, timeless


def drive(teacher, deck, wrong_after, most=9):
    """The lessons as lists, the exams before each of them in one list, and the stop reason; None if it would continue.

    `wrong_after` stands for a learner: it takes the lessons and returns the rows that the last model gets wrong.
    """
    requests, lessons, sampled, answers = teacher.teach(deck), [], [[]], None
    while True:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return lessons, sampled, end.value
        if isinstance(request, Exam):
            sampled[-1] += request.rows.tolist()
            answers = Answers(request.rows, np.isin(request.rows, list(wrong_after(lessons))))
            continue
        lessons.append(request.rows.tolist())
        sampled.append([])
        answers = None
        if len(lessons) == most:
            return lessons, sampled, None


def check_against_algorithm_2(size, first, alpha, wrong_after, lessons, sampled, reason):
    """Algorithm 2 over lists; the random samples come from the transcript."""
    s = lessons[0]
    assert len(s) == min(first, size)
    for number in range(1, len(lessons)):
        wrong, samples = wrong_after(lessons[:number]), sampled[number]
        s_next = lessons[number]

        # "Set S_i+1 as S_i plus these new 2^i samples"
        assert s_next[: len(s)] == s
        new = s_next[len(s) :]
        assert len(new) == 2**number * len(lessons[0])

        # "(1 - alpha) 2^i unbiased labeled examples", then samples until alpha 2^i of them are wrong.
        wanted = round(alpha * len(new))
        assert abs(wanted - Fraction(str(alpha)) * len(new)) <= Fraction(1, 2)
        unbiased, mistakes = new[: len(new) - wanted], new[len(new) - wanted :]
        assert set(unbiased) <= set(range(size))
        assert mistakes == [row for row in samples if row in wrong][:wanted]
        assert wanted or not samples, "no mistakes are searched for if none are wanted"
        s = s_next
    if reason is not None:
        # An exam without mistakes ends the session if it has as many samples as the pool has rows.
        assert reason == "no mistakes"
        wrong, samples = wrong_after(lessons), sampled[-1]
        assert sum(row in wrong for row in samples) < round(alpha * 2 ** len(lessons) * len(lessons[0]))
        assert not wrong & set(samples[-size:])


def learner_of(kind, seed, size):
    """Ways to be wrong, as functions of the lessons."""
    hard = set(np.flatnonzero(np.random.default_rng(seed).random(size) < 0.3).tolist())
    return {
        "on what it was not taught": lambda lessons: set(range(size)) - set(lessons[-1]),
        "on hard rows": lambda lessons: hard,
        "on everything": lambda lessons: set(range(size)),
        "on one row": lambda lessons: {size // 2},
        "on nothing": lambda lessons: set(),
    }[kind]


LEARNERS = ["on what it was not taught", "on hard rows", "on everything", "on one row", "on nothing"]


@settings(max_examples=300, deadline=None)
@given(
    size=st.integers(1, 300),
    first=st.integers(1, 8),
    alpha=st.sampled_from([0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9, 1]),
    kind=st.sampled_from(LEARNERS),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_lesson_is_the_one_of_algorithm_2(size, first, alpha, kind, seed):
    learner = learner_of(kind, seed, size)

    lessons, sampled, reason = drive(TCTBase(alpha=alpha, first=first), a_deck(size, seed), learner)

    check_against_algorithm_2(size, first, alpha, learner, lessons, sampled, reason)


class LoadedDice:
    """Random generator that returns given rows, and does not shuffle."""

    def __init__(self):
        self.rows = []

    def integers(self, below, *, size):
        shown, self.rows = self.rows[:size], self.rows[size:]
        assert len(shown) == size
        return np.array(shown, dtype=int)

    def shuffle(self, rows):
        pass


def test_one_session_worked_by_hand():
    dice = LoadedDice()
    requests = TCTBase(alpha=0.5).teach(Deck(6, dice))

    def answer(exam, *wrong):
        return requests.send(Answers(exam.rows, np.isin(exam.rows, wrong)))

    # Round 1 adds two rows: an unbiased one, which may be there already, and a mistake, which takes three exams.
    assert next(requests).rows.tolist() == [0]
    dice.rows = [4, 1, 0, 2, 5, 3, 1, 3]
    exam = requests.send(None)
    assert exam.rows.tolist() == [1]
    exam = answer(exam, 3, 5)
    assert exam.rows.tolist() == [0, 2]
    exam = answer(exam, 3, 5)
    assert exam.rows.tolist() == [5, 3, 1, 3]
    lesson = answer(exam, 3, 5)
    assert lesson.rows.tolist() == [0, 4, 5]

    # Round 2: two and two. The first exam has one mistake, the second has two more, and one of them is needed.
    dice.rows = [2, 2, 3, 0, 0, 3, 3, 1]
    exam = requests.send(None)
    assert exam.rows.tolist() == [3, 0]
    exam = answer(exam, 3)
    assert exam.rows.tolist() == [0, 3, 3, 1]
    lesson = answer(exam, 3)
    assert lesson.rows.tolist() == [0, 4, 5, 2, 2, 3, 3]

    # Round 3: four and four. No mistake in 4 draws, then none in 6, as many as the pool has rows: it stops.
    dice.rows = [1, 1, 1, 1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5]
    exam = requests.send(None)
    assert exam.rows.tolist() == [0, 1, 2, 3]
    exam = answer(exam)
    assert exam.rows.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(StopIteration) as end:
        answer(exam)
    assert end.value.value == "no mistakes"


def test_the_search_for_mistakes_continues_until_enough_are_found():
    # Two rows in a hundred are wrong: 100 mistakes take about 5,000 draws from 1,000 rows.
    lessons, sampled, _ = drive(TCTBase(alpha=1, first=50), a_deck(1000), lambda lessons: set(range(20)), most=2)

    assert len(lessons[1]) == 150
    assert set(lessons[1][50:]) <= set(range(20))
    assert 4000 < len(sampled[1]) < 8000


def test_unbiased_rows_are_drawn_from_the_whole_pool_with_replacement():
    lessons, _, _ = drive(TCTBase(alpha=0, first=1000), a_deck(2000), lambda lessons: set(), most=2)

    # 2000 draws from 2000 rows miss a fraction of 1/e of them.
    assert len(set(lessons[1][1000:])) == pytest.approx(2000 * (1 - np.exp(-1)), rel=0.05)
    assert np.mean(lessons[1][1000:]) == pytest.approx(1000, rel=0.05)


def test_with_alpha_0_there_is_no_exam_and_no_end():
    lessons, sampled, reason = drive(TCTBase(alpha=0), a_deck(10), lambda lessons: set(), most=12)

    assert [len(rows) for rows in lessons] == [2**number - 1 for number in range(1, 13)]
    assert not any(sampled)
    assert reason is None


def test_the_first_lesson_holds_every_class():
    strata = np.zeros(1000, dtype=np.uint8)
    strata[77] = 1

    lesson = next(TCTBase().teach(Deck(1000, np.random.default_rng(0), strata)))

    assert len(lesson.rows) == 2
    assert 77 in lesson.rows


def test_the_same_seed_teaches_the_same_rows():
    def transcript(seed):
        return drive(TCTBase(), a_deck(300, seed), learner_of("on hard rows", 3, 300))

    assert transcript(1) == transcript(1)
    assert transcript(1) != transcript(2)


def test_the_last_model_is_returned():
    assert TCTBase().returns == "last"


def test_the_defaults_are_those_of_the_paper():
    assert TCTBase().get_params() == {"alpha": 0.2, "first": 1}


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.2", None])
def test_an_invalid_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha") as caught:
        next(TCTBase(alpha=alpha).teach(a_deck(1000)))

    assert repr(alpha) in str(caught.value)


def test_an_invalid_first_size_is_refused():
    with pytest.raises(ValueError, match="first"):
        next(TCTBase(first=0).teach(a_deck(1000)))


def test_an_answer_is_needed_before_a_lesson():
    requests = TCTBase(alpha=1).teach(a_deck(1000))
    assert isinstance(next(requests), Lesson)
    requests.send(None)

    with pytest.raises(TypeError, match="Answers"):
        requests.send(None)


# In a session


class Slow(DecisionTreeClassifier):
    clock = FakeClock()

    def fit(self, X, y):
        self.clock.advance(len(X))
        return super().fit(X, y)


def test_the_last_model_within_the_time_is_returned_and_rows_may_be_taught_twice(rows):
    X, y = rows[0][:400], rows[1][:400]

    classifier = TimeConstrainedClassifier(
        Slow(max_depth=4), time_limit=2000, teacher=TCTBase(alpha=0.3), backend=Inline(clock=Slow.clock), random_state=0
    ).fit(X, y)

    # Five classes, so five rows at first. These lessons take 1235 seconds; another one of 1275 would not end in time.
    assert classifier.stop_reason_ == "time"
    assert [finished.rows for finished in classifier.history_] == [5 * (2**number - 1) for number in range(1, 8)]
    assert classifier.n_rows_trained_ == 635 == classifier.best_estimator_.tree_.n_node_samples[0]
    assert sum(finished.new_rows for finished in classifier.history_) < 635
    assert classifier.history_[-1].new_mistakes <= classifier.history_[-1].new_rows


def test_both_backends_teach_the_same_rows_and_return_the_same_model(rows):
    X, y = rows[0][:400], rows[1][:400]

    def run(backend):
        return TimeConstrainedClassifier(
            DecisionTreeClassifier(max_depth=4),
            teacher=TCTBase(),
            backend=backend,
            random_state=0,
            on_round=lambda finished: finished.rows > 500,
        ).fit(X, y)

    here, there = run(timeless()), run("process")

    for name in ("rows", "new_rows", "new_mistakes", "examined", "fresh", "estimate"):
        assert [getattr(r, name) for r in here.history_] == [getattr(r, name) for r in there.history_]
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))


# On the paper's bad example


def found_by_the_teacher(problem, rounds, seed):
    """The learner's hypothesis in each round; the first in the list if several are equally good."""
    pool = np.repeat(np.arange(len(problem.masses)), np.rint(1000 * problem.masses).astype(int))
    requests, hypotheses, answers = TCTBase(alpha=0.9).teach(a_deck(len(pool), seed)), [], None
    while len(hypotheses) < rounds:
        request = requests.send(answers)
        points = pool[request.rows]
        if isinstance(request, Lesson):
            hypotheses.append(int(problem.wrong[:, points].sum(axis=1).argmin()))
            answers = None
        else:
            answers = Answers(request.rows, problem.wrong[hypotheses[-1], points])
    return hypotheses


def test_on_the_bad_example_it_finds_the_best_classifier_as_rarely_as_the_simulation():
    problem, rounds, attempts = make_bad_example(), 8, 400
    best = int(problem.errors.argmin())

    taught = np.mean([best in found_by_the_teacher(problem, rounds, seed) for seed in range(attempts)])
    schedule = RoundSchedule(0.9, rounds, "nearest")
    simulated = (simulate_tct_base(problem, schedule, 20_000, np.random.default_rng(0)) == best).any(axis=0).mean()

    assert taught == pytest.approx(simulated, abs=4 * np.sqrt(simulated * (1 - simulated) / attempts))
