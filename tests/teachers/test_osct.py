"""OSCT, compared with a literal implementation of the figure in the appendix."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import Inline, Process
from fitwithin.teachers import OSCT, Answers, Deck, Exam, Lesson
from fitwithin.teachers._osct import _ExampleWeights
from fitwithin.testing import FakeClock
from fitwithin.testing._backends import RecordingClassifier, open_runner
from teacher_driver import a_deck, timeless


def drive(teacher, deck, wrong_after, most=12):
    """The lessons as lists, and the stop reason; None if it would continue.

    `wrong_after` stands for a learner: it takes the lessons and returns the rows that the last model gets wrong.
    """
    requests, lessons, answers = teacher.teach(deck), [], None
    while True:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return lessons, end.value
        if isinstance(request, Lesson):
            if len(lessons) == most:
                return lessons, None
            lessons.append(request.rows.tolist())
            answers = None
        else:
            assert request.rows.tolist() == list(range(deck.size)), "every exam is the whole pool"
            answers = Answers(request.rows, np.isin(request.rows, list(wrong_after(lessons))))


class Figure:
    """The figure, example by example and in exact fractions.

    As in `OSCT`, probabilities are halved, and examples that were sent are not sent again.
    """

    def __init__(self, size, log_n, deck):
        self.examples = range(size)
        self.log_n = log_n
        self.deck = deck
        self.initialize_weights()

    def initialize_weights(self):
        self.weight = dict.fromkeys(self.examples, Fraction(1, 2 * len(self.examples)))

    def run(self, first, wrong_after, most=12):
        lessons = [self.deck.opening(first).tolist()]
        while len(lessons) <= most:
            wrong = sorted(wrong_after(lessons))
            if set(wrong) <= set(lessons[-1]):
                return lessons, "no mistakes"
            lessons.append(lessons[-1] + self.send(wrong, lessons[-1]))
        return lessons[:-1], None

    def send(self, wrong, sent_before):
        while True:
            increase = self.update_weights(wrong)
            chance = {example: increase[example] / 2 for example in wrong if example not in sent_before}
            sent = self.sample(chance, math.ceil(4 * self.log_n))
            if sent:
                return sent
            self.log_n *= 2
            self.initialize_weights()

    def update_weights(self, wrong):
        before = dict(self.weight)
        while sum(self.weight[example] for example in wrong) < 1:
            for example in wrong:
                self.weight[example] *= 2
        return {example: self.weight[example] - before[example] for example in wrong}

    def sample(self, chance, times):
        if times > len(self.examples):
            # Many draws are counted at once; a test below shows that the probabilities are the same.
            rest = 1 - sum(chance.values())
            counts = self.deck.rng.multinomial(times, [float(share) for share in [*chance.values(), rest]])
            hit = [example for example, count in zip(chance, counts, strict=False) if count]
            return self.deck.rng.permutation(np.array(hit, dtype=int)).tolist()
        drawn = [draw_at_most_one(chance, Fraction(self.deck.rng.random())) for _ in range(times)]
        return list(dict.fromkeys(example for example in drawn if example is not None))


def draw_at_most_one(chance, point):
    """The example whose interval within [0, 1] contains the point; None beyond the last interval."""
    for example, share in chance.items():
        if point < share:
            return example
        point -= share
    return None


def learner_of(kind, seed, size):
    """Ways to be wrong, as functions of the lessons."""
    hard = set(np.flatnonzero(np.random.default_rng(seed).random(size) < 0.4).tolist())
    everything = set(range(size))

    def by_chance(lessons):
        return set(np.flatnonzero(np.random.default_rng([seed, len(lessons)]).random(size) < 0.3).tolist())

    return {
        "on what it was not taught": lambda lessons: everything - set(lessons[-1]),
        "on hard rows until they are taught": lambda lessons: hard - set(lessons[-1]),
        "on hard rows whatever it is taught": lambda lessons: hard,
        "on everything": lambda lessons: everything,
        "by chance": by_chance,
        "on one row that it was not taught": lambda lessons: {min(everything - set(lessons[-1]), default=0)},
        "on what it was taught": lambda lessons: set(lessons[-1]),
        "on nothing": lambda lessons: set(),
    }[kind]


LEARNERS = ["on what it was not taught", "on hard rows until they are taught", "on hard rows whatever it is taught"]
LEARNERS += ["on everything", "by chance", "on one row that it was not taught", "on what it was taught", "on nothing"]


@settings(max_examples=400, deadline=None)
@given(
    size=st.integers(1, 60),
    first=st.integers(1, 10),
    guess=st.integers(2, 10**6) | st.just("half-percent"),
    kind=st.sampled_from(LEARNERS),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_lesson_is_the_one_of_the_figure(size, first, guess, kind, seed):
    learner = learner_of(kind, seed, size)
    log_n = 0.005 * size if guess == "half-percent" else math.log2(guess)

    lessons, reason = drive(OSCT(guess=guess, first=first), a_deck(size, seed), learner)

    assert (lessons, reason) == Figure(size, log_n, a_deck(size, seed)).run(first, learner)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 400),
    first=st.integers(1, 30),
    kind=st.sampled_from(LEARNERS),
    seed=st.integers(0, 2**32 - 1),
)
def test_lessons_grow_by_mistakes_and_hold_no_row_twice(size, first, kind, seed):
    learner = learner_of(kind, seed, size)

    lessons, reason = drive(OSCT(first=first), a_deck(size, seed), learner)

    assert len(lessons[0]) == min(first, size)
    for number in range(1, len(lessons)):
        before, after = lessons[number - 1], lessons[number]
        assert after[: len(before)] == before
        assert len(after) > len(before)
        assert set(after[len(before) :]) <= learner(lessons[:number])
        assert len(set(after)) == len(after)
    nothing_to_send = learner(lessons) <= set(lessons[-1])
    assert (reason == "no mistakes") == nothing_to_send


@settings(max_examples=100, deadline=None)
@given(size=st.integers(1, 300), seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 30))
def test_the_weights_of_wrong_rows_add_up_to_at_least_one_and_are_not_doubled_needlessly(size, seed, rounds):
    rng, weights = np.random.default_rng(seed), _ExampleWeights(size)

    def weight():
        """The weights in units of 1/(2m)."""
        return 2.0**weights._doublings

    for _ in range(rounds):
        wrong = rng.random(size) < rng.choice([0.01, 0.3, 0.9])
        if not wrong.any():
            continue
        before = weight()
        weights.draw(wrong, wrong, 1.0, rng)

        one = 2 * size
        assert weight()[wrong].sum() >= one
        assert weight()[wrong].sum() < 2 * one or before[wrong].sum() >= one
        np.testing.assert_array_equal(weight()[~wrong], before[~wrong])
        factors = weight()[wrong] / before[wrong]
        assert len(set(factors.tolist())) == 1


class LoadedDice:
    """Random generator that returns given numbers, and does not shuffle."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self, count):
        shown, self.numbers = self.numbers[:count], self.numbers[count:]
        assert len(shown) == count
        return np.array(shown)

    def shuffle(self, rows):
        pass


def test_one_session_worked_by_hand():
    dice = LoadedDice()
    requests = OSCT(guess=2, first=1).teach(Deck(8, dice))

    def answer(*wrong):
        return requests.send(Answers(np.arange(8), np.isin(np.arange(8), wrong)))

    # m = 8, so each weight is 1/16, and 4 log 2 = 4 draws a round.
    assert next(requests).rows.tolist() == [0]
    assert requests.send(None).rows.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]

    # Rows 1, 3, 6 are wrong: 3/16 becomes 24/16 in 3 doublings, an increase of 7/16 each. Halved, their
    # stretches end at 7/32 = 0.219, 0.438 and 0.656: the dice hit row 6, row 1, nothing, row 1 again.
    dice.numbers = [0.65, 0.1, 0.66, 0.2]
    assert answer(1, 3, 6).rows.tolist() == [0, 6, 1]
    requests.send(None)

    # Rows 1 (taught), 2, 3: 8/16 + 1/16 + 8/16 is 1 already: no doubling, no increase, nothing is sent.
    # N becomes 4, 8 draws, the weights are 1/16 again: 3 doublings, 7/16 each. Row 1 is not sent again, so
    # row 2 has the stretch to 0.219 and row 3 that to 0.438.
    dice.numbers = [0.0] * 4 + [0.44, 0.9, 0.43, 0.5, 0.43, 0.99, 0.7, 0.8]
    assert answer(1, 2, 3).rows.tolist() == [0, 6, 1, 3]
    requests.send(None)

    # Rows 1 and 5: 8/16 + 1/16, one doubling makes 18/16. Row 5 alone can be sent: 1/16 halved is 0.03125.
    dice.numbers = [0.5, 0.04, 0.0315, 0.031, 0.9, 0.9, 0.9, 0.9]
    assert answer(1, 5).rows.tolist() == [0, 6, 1, 3, 5]
    requests.send(None)

    # Only taught rows are wrong: nothing is left to send.
    assert not dice.numbers
    with pytest.raises(StopIteration) as end:
        answer(0, 3)
    assert end.value.value == "no mistakes"


@pytest.mark.parametrize("draws", [8, 12, 1000])
def test_an_example_is_sent_with_its_probability(draws):
    # Of ten rows, 1, 4 and 7 are wrong, with weights of 1/20, 2/20 and 4/20. Two doublings add 3/20, 6/20 and 12/20.
    wrong = np.isin(np.arange(10), [1, 4, 7])
    rng, sent = np.random.default_rng(0), np.zeros(10)
    times = 4000

    for _ in range(times):
        weights = _ExampleWeights(10)
        weights._doublings[[1, 4, 7]] = [0, 1, 2]
        sent[weights.draw(wrong, wrong, draws / 4, rng)] += 1

    chance = np.zeros(10)
    chance[[1, 4, 7]] = np.array([3, 6, 12]) / 20 / 2
    expected = 1 - (1 - chance) ** draws
    np.testing.assert_allclose(sent / times, expected, rtol=0, atol=4 * 0.5 / np.sqrt(times))


def test_half_percent_guesses_a_number_too_large_for_a_float():
    deck = a_deck(1_000_000)
    requests = OSCT(guess="half-percent", first=100).teach(deck)
    next(requests)
    exam = requests.send(None)

    lesson = requests.send(Answers(exam.rows, np.ones(len(exam.rows), dtype=bool)))

    # 2 ** 5000 hypotheses: 20,000 draws, and with all rows wrong a fourth of them sends one.
    assert 4700 < len(lesson.rows) - 100 < 5300


@pytest.mark.parametrize("log_guess", [1e6, 2.0**80, 2.0**1023, math.inf])
def test_a_huge_guess_sends_every_mistake_and_needs_little_memory(log_guess):
    wrong = np.arange(1000) % 3 == 0

    sent = _ExampleWeights(1000).draw(wrong, wrong, log_guess, np.random.default_rng(0))

    assert sorted(sent.tolist()) == np.flatnonzero(wrong).tolist()


def test_a_learner_that_never_learns_is_taught_until_nothing_is_left():
    # Half of the pool is always wrong, taught or not, so that nearly every round squares the guess.
    lessons, reason = drive(OSCT(first=1), a_deck(300), lambda lessons: set(range(150)), most=300)

    assert reason == "no mistakes"
    assert set(range(150)) <= set(lessons[-1])


def test_sent_rows_are_in_random_order_however_many_there_are():
    wrong = np.ones(1000, dtype=bool)

    for log_guess in (200, 2000):
        sent = _ExampleWeights(1000).draw(wrong, wrong, log_guess, np.random.default_rng(0)).tolist()

        assert sent != sorted(sent)


def test_the_same_seed_teaches_the_same_rows():
    def lessons(seed):
        return drive(OSCT(first=5), a_deck(300, seed), learner_of("by chance", 3, 300))

    assert lessons(1) == lessons(1)
    assert lessons(1) != lessons(2)


def test_a_model_that_is_right_on_all_rows_ends_the_session():
    assert drive(OSCT(first=3), a_deck(50), lambda lessons: set())[1] == "no mistakes"


def test_the_defaults_are_those_of_the_paper():
    assert OSCT().get_params() == {"guess": 2, "returns": "last", "first": 0.005}


@pytest.mark.parametrize("guess", [1, 0, -5, 2.0, 1.5, True, None, "two", "half", [2], float("inf")])
def test_an_invalid_guess_is_refused(guess):
    with pytest.raises(ValueError, match="guess must be an integer of at least 2") as caught:
        next(OSCT(guess=guess).teach(a_deck(1000)))

    assert repr(guess) in str(caught.value)


@pytest.mark.parametrize("guess", [2, np.int64(3), 10**400, "half-percent"])
def test_any_integer_from_two_on_is_a_valid_guess(guess):
    assert isinstance(next(OSCT(guess=guess).teach(a_deck(1000))), Lesson)


@pytest.mark.parametrize("returns", ["worst", None, 1])
def test_an_invalid_returns_is_refused(returns):
    with pytest.raises(ValueError, match=r'returns must be "best" or "last"'):
        next(OSCT(returns=returns).teach(a_deck(1000)))


def test_an_invalid_first_size_is_refused():
    with pytest.raises(ValueError, match="first"):
        next(OSCT(first=1.5).teach(a_deck(1000)))


# In a session


class Skilled(ClassifierMixin, BaseEstimator):
    """Right on rows whose hardness, the first feature, is below the skill of the lesson."""

    def __init__(self, given):
        self.given = given

    def fit(self, X, y):
        self.skill_ = self.given()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] < self.skill_, X[:, 1], 1 - X[:, 1]).astype(int)


def a_session(teacher):
    """A session of five lessons of a second each, and one that is not over in time."""
    clock, rounds = FakeClock(), iter([(0.5, 1), (0.9, 1), (0.6, 1), (0.7, 1), (0.8, 1), (1.0, 1000)])

    def given():
        skill, seconds = next(rounds)
        clock.advance(seconds)
        return skill

    y = np.arange(1000) % 2
    X = np.column_stack([np.random.default_rng(0).permutation(1000) / 1000, y])
    return TimeConstrainedClassifier(
        Skilled(given), time_limit=20, teacher=teacher, backend=Inline(clock=clock), random_state=0
    ).fit(X, y)


@pytest.mark.parametrize(("returns", "skill"), [("last", 0.8), ("best", 0.9)])
def test_the_last_model_in_time_or_the_one_with_the_best_lower_bound_is_returned(returns, skill):
    classifier = a_session(OSCT(returns=returns, first=10))

    assert classifier.stop_reason_ == "time"
    assert classifier.best_estimator_.skill_ == skill
    # The model is right on 50, 90, ... per cent of 1000 rows, whatever was taught.
    assert [finished.estimate for finished in classifier.history_] == [0.5, 0.9, 0.6, 0.7, 0.8]
    assert [finished.examined for finished in classifier.history_] == [1000] * 5
    assert [finished.fresh for finished in classifier.history_] == [990, 0, 0, 0, 0]


def test_the_rows_of_a_lesson_after_the_first_are_mistakes_of_the_model_before():
    history = a_session(OSCT(guess=2**30, first=10)).history_

    assert all(finished.new_mistakes == finished.new_rows > 0 for finished in history[1:])


@pytest.mark.slow
@pytest.mark.parametrize("learner", [DecisionTreeClassifier(max_depth=4), LogisticRegression()], ids=repr)
def test_both_backends_teach_the_same_rows_and_return_the_same_model(learner, rows):
    X, y = rows[0][:3000], rows[1][:3000]

    def run(backend):
        return TimeConstrainedClassifier(
            learner,
            teacher=OSCT(guess="half-percent"),
            backend=backend,
            random_state=0,
            on_round=lambda finished: finished.number == 5,
        ).fit(X, y)

    here, there = run(timeless()), run("process")

    for name in ("rows", "new_rows", "new_mistakes", "examined", "fresh", "estimate"):
        assert [getattr(r, name) for r in here.history_] == [getattr(r, name) for r in there.history_]
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))


# Memory


class FirstFeature(ClassifierMixin, BaseEstimator):
    """A learner that needs next to no memory of its own."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0.3).astype(int)


@pytest.mark.parametrize("shape", [(40_000, 250), (4_000, 2_500)], ids=["long", "wide"])
def test_a_pool_that_is_examined_whole_in_every_round_is_not_copied(shape):
    X = np.random.default_rng(0).random(shape)
    y = (X[:, 0] > 0.5).astype(int)
    classifier = TimeConstrainedClassifier(
        FirstFeature(), teacher=OSCT(first=50), backend=timeless(), on_round=lambda finished: finished.number == 3
    )

    tracemalloc.start()
    classifier.fit(X, y)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [finished.examined for finished in classifier.history_] == [shape[0]] * 3
    # Two chunks of 16 MB, and a few bytes per row for the teacher; the pool has 80 MB.
    assert most < X.nbytes / 2


class CountingPool(TablePool):
    """Pool that counts the rows of each read."""

    def read(self, rows):
        self.reads = [*getattr(self, "reads", []), len(rows)]
        return super().read(rows)


def test_an_exam_reads_the_pool_once_and_in_chunks():
    pool = CountingPool(np.zeros((200_000, 100), dtype=np.float32), Labels.encode(np.arange(200_000) % 2))
    with open_runner(Inline(), RecordingClassifier(), pool) as runner:
        runner.fit(np.arange(10))
        pool.reads = []

        runner.examine(Exam(np.arange(len(pool))))

    pieces = [count for count in pool.reads if count > 1]
    assert sum(pieces) == len(pool)
    assert max(pieces) * 400 <= 16 << 20


def test_the_process_backend_shares_each_row_once_however_many_rounds_there_are():
    pool = TablePool(np.random.default_rng(0).random((5000, 40)), Labels.encode(np.arange(5000) % 2))
    requests = OSCT(guess="half-percent", first=20).teach(a_deck(5000))
    answers = None
    with open_runner(Process(), DecisionTreeClassifier(max_depth=3, random_state=0), pool) as runner:
        for _ in range(8):
            request = requests.send(answers)
            if isinstance(request, Exam):
                answers = Answers(request.rows, runner.examine(request).wrong)
            else:
                runner.fit(request.rows)
                answers = None

        assert runner._rows.n_appended == 5000
