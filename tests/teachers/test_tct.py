"""TCT, compared with a literal implementation of Algorithm 1."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin.teachers import TCT, Answers, Deck, Exam, Lesson
from teacher_driver import a_deck

# The seven of the paper's table, and others.
ALPHAS = [0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.6, 0.7, 0.9, 1]


def drive(teacher, deck, answer):
    """Every request as plain lists, with the wrong rows of each exam; and the stop reason."""
    requests, transcript, answers = teacher.teach(deck), [], None
    while len(transcript) < 100:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return transcript, end.value
        rows = request.rows.tolist()
        if isinstance(request, Exam):
            wrong = [bool(is_wrong) for is_wrong in answer(rows)]
            transcript.append(("exam", rows, {row for row, is_wrong in zip(rows, wrong, strict=True) if is_wrong}))
            answers = Answers(request.rows, np.array(wrong, dtype=bool))
        else:
            transcript.append(("lesson", rows, set()))
            answers = None
    raise AssertionError("lessons double, so there are fewer than 100")


class Algorithm1:
    """The paper's loop over lists and sets, with the additions of `TCT`.

    Random choices (which rows are dealt, which are picked for U) come from a transcript. Everything else
    is computed here, and must agree with the transcript.
    """

    def __init__(self, size, alpha, transcript, reason):
        self.pool = set(range(size))
        self.alpha = Fraction(str(alpha))
        self.transcript = list(transcript)
        self.reason = reason
        self.ever_examined_or_taught = set()
        self.rounds = 0

    def run(self):
        s = self.next_rows("lesson")
        while True:
            self.rounds += 1
            assert len(s) == len(set(s)), "a row is taught once"
            self.ever_examined_or_taught |= set(s)
            if set(s) == self.pool:
                return self.end("all rows")
            a1, wrong1 = self.exam(len(s), s, [])
            a2, wrong2 = self.exam(self.second_size(s, a1, wrong1), s, a1)
            if not wrong1 and not wrong2 and set(s) | set(a1) | set(a2) == self.pool:
                return self.end("no mistakes")
            s = self.grown(s, a1, a2, wrong1 | wrong2)

    def next_rows(self, kind):
        assert self.transcript, f"it ended with {self.reason!r} where a {kind} was due"
        found, rows, self.wrong = self.transcript.pop(0)
        assert found == kind
        return rows

    def exam(self, count, s, examined):
        """Random rows that are not in the lesson; those of earlier exams only when no others are left."""
        open_to_exam = self.pool - set(s) - set(examined)
        fresh = self.pool - self.ever_examined_or_taught
        count = nearest(count, self.next_exam_size(), at_most=len(open_to_exam))
        if count == 0:
            return [], set()
        rows = self.next_rows("exam")
        assert len(rows) == len(set(rows)) == count
        assert set(rows) <= open_to_exam, "taught rows and rows of this round are not examined"
        assert set(rows) <= fresh or fresh <= set(rows), "rows come back when all were examined"
        self.ever_examined_or_taught |= set(rows)
        return rows, self.wrong

    def next_exam_size(self):
        return len(self.transcript[0][1]) if self.transcript and self.transcript[0][0] == "exam" else 0

    def second_size(self, s, a1, wrong1):
        mistakes = Fraction(len(wrong1)) or Fraction(1, 2)
        accuracy = 1 - mistakes / len(a1)
        return self.alpha * len(s) * accuracy / (1 - accuracy)

    def grown(self, s, a1, a2, wrong):
        lesson = self.next_rows("lesson")
        assert lesson[: len(s)] == s
        new = lesson[len(s) :]
        u_size = nearest((1 - self.alpha) * len(s), round((1 - float(self.alpha)) * len(s)), at_most=len(a1))
        u, w = new[:u_size], new[u_size:]
        assert len(u) == u_size
        assert set(u) <= set(a1)
        chosen = set(u)
        others = [row for row in a1 if row not in chosen]
        v = [row for row in a2 + others if row in wrong] + [row for row in a2 + others if row not in wrong]
        assert w == v[: len(s) - u_size]
        return lesson

    def end(self, reason):
        assert self.reason == reason
        assert not self.transcript


def nearest(exact, found, at_most):
    """The size that was found, if it is the exact one rounded; halves may be rounded either way."""
    wanted = found if abs(found - exact) <= Fraction(1, 2) else round(exact)
    return min(wanted, at_most)


def predictions_by(kind, seed, size):
    """Ways to be wrong: by chance, more and more rarely, on a fixed set of rows."""
    rng = np.random.default_rng(seed)
    rate = rng.choice([0, 0.01, 0.1, 0.3, 0.5, 0.9, 1])
    hard = set(np.flatnonzero(rng.random(size) < rate).tolist())
    exams = iter(range(10**6))
    return {
        "always right": lambda rows: [False] * len(rows),
        "always wrong": lambda rows: [True] * len(rows),
        "by chance": lambda rows: rng.random(len(rows)) < rate,
        "improving": lambda rows: rng.random(len(rows)) < rate * 0.5 ** next(exams),
        "on hard rows": lambda rows: [row in hard for row in rows],
        "on the first row": lambda rows: [True] + [False] * (len(rows) - 1),
        "on the first exam": lambda rows: [next(exams) == 0] * len(rows),
    }[kind]


PATTERNS = ["always right", "always wrong", "by chance", "improving", "on hard rows"]
PATTERNS += ["on the first row", "on the first exam"]


@settings(max_examples=500)
@given(
    size=st.integers(1, 40) | st.integers(1, 700),
    first=st.integers(1, 30),
    alpha=st.sampled_from(ALPHAS),
    pattern=st.sampled_from(PATTERNS),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_request_is_the_one_of_algorithm_1(size, first, alpha, pattern, seed):
    answer = predictions_by(pattern, seed, size)

    transcript, reason = drive(TCT(alpha=alpha, first=first), a_deck(size, seed), answer)

    reference = Algorithm1(size, alpha, transcript, reason)
    reference.run()
    assert len(transcript[0][1]) == min(first, size)
    assert reference.rounds == sum(kind == "lesson" for kind, _, _ in transcript)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_larger_pool_is_taught_as_algorithm_1_says(alpha):
    answer = predictions_by("on hard rows", seed=5, size=6000)

    transcript, reason = drive(TCT(alpha=alpha), a_deck(6000), answer)

    Algorithm1(6000, alpha, transcript, reason).run()
    assert len(transcript[0][1]) == 30


def test_one_session_worked_by_hand():
    requests = TCT(alpha=0.5, first=4).teach(a_deck(40))

    # Round 1. acc1 = 3/4, so the second exam has 0.5 * 4 * 0.75 / 0.25 = 6 rows.
    lesson = next(requests)
    assert isinstance(lesson, Lesson)
    s1 = lesson.rows.tolist()
    assert len(s1) == 4
    exam = requests.send(None)
    a1 = exam.rows.tolist()
    assert len(a1) == 4
    exam = requests.send(Answers(exam.rows, np.array([False, False, True, False])))
    a2 = exam.rows.tolist()
    assert len(a2) == 6
    assert len({*s1, *a1, *a2}) == 14

    # U is 2 rows of the first exam; W is 2 rows, and the second exam holds just 2 mistakes.
    lesson = requests.send(Answers(exam.rows, np.array([False, True, False, False, True, False])))
    s2 = lesson.rows.tolist()
    assert s2[:4] == s1
    assert set(s2[4:6]) < set(a1)
    assert s2[6:] == [a2[1], a2[4]]

    # Round 2. All 8 answers are right: half a mistake, so 0.5 * 8 * 7.5 / 0.5 = 60 rows are wanted.
    # 40 - 8 - 8 = 24 are left: 18 that were never examined, and 6 that were examined but not taught.
    exam = requests.send(None)
    b1 = exam.rows.tolist()
    assert len(b1) == 8
    assert not set(b1) & {*s1, *a1, *a2}
    exam = requests.send(Answers(exam.rows, np.zeros(8, dtype=bool)))
    b2 = exam.rows.tolist()
    assert sorted([*s2, *b1, *b2]) == list(range(40))
    assert set(b2[18:]) == {*a1, *a2} - set(s2)

    # One mistake among them: U is 4 rows of the first exam, W that mistake and then the first right ones.
    wrong = np.zeros(24, dtype=bool)
    wrong[20] = True
    lesson = requests.send(Answers(exam.rows, wrong))
    s3 = lesson.rows.tolist()
    assert s3[:8] == s2
    assert set(s3[8:12]) < set(b1)
    assert s3[12:] == [b2[20], b2[0], b2[1], b2[2]]

    # Round 3. 24 rows are left; 16 of them are examined, without a mistake, then all the others.
    exam = requests.send(None)
    c1 = exam.rows.tolist()
    assert len(c1) == 16
    exam = requests.send(Answers(exam.rows, np.zeros(16, dtype=bool)))
    assert sorted([*s3, *c1, *exam.rows.tolist()]) == list(range(40))
    with pytest.raises(StopIteration) as end:
        requests.send(Answers(exam.rows, np.zeros(8, dtype=bool)))
    assert end.value.value == "no mistakes"


def test_with_alpha_0_there_is_no_second_exam():
    transcript, _ = drive(TCT(alpha=0, first=10), a_deck(1000), lambda rows: [True, *[False] * (len(rows) - 1)])

    kinds = [kind for kind, _, _ in transcript]
    assert kinds == ["lesson", "exam"] * (len(kinds) // 2) + ["lesson"]


def test_a_first_exam_without_a_right_answer_needs_no_second():
    transcript, _ = drive(TCT(alpha=1, first=10), a_deck(1000), lambda rows: [True] * len(rows))

    assert [kind for kind, _, _ in transcript[:3]] == ["lesson", "exam", "lesson"]


def test_a_first_exam_that_takes_all_rows_leaves_none_for_a_second():
    transcript, reason = drive(TCT(alpha=0.5, first=6), a_deck(10), lambda rows: [True, *[False] * (len(rows) - 1)])

    assert [(kind, len(rows)) for kind, rows, _ in transcript] == [("lesson", 6), ("exam", 4), ("lesson", 10)]
    assert reason == "all rows"


def test_a_pool_smaller_than_the_first_lesson_is_taught_whole():
    transcript, reason = drive(TCT(first=50), a_deck(7), lambda rows: [False] * len(rows))

    assert transcript == [("lesson", list(range(7)), set())]
    assert reason == "all rows"


def test_a_fraction_of_a_small_pool_is_the_whole_pool():
    transcript, reason = drive(TCT(), a_deck(500), lambda rows: [False] * len(rows))

    assert transcript == [("lesson", list(range(500)), set())]
    assert reason == "all rows"


def test_right_answers_on_a_part_of_the_pool_do_not_end_the_session():
    transcript, reason = drive(TCT(alpha=0, first=10), a_deck(1000), lambda rows: [False] * len(rows))

    assert reason == "no mistakes"
    # 640 are taught when the remaining 360 fit into one exam.
    assert [len(rows) for kind, rows, _ in transcript if kind == "lesson"] == [10, 20, 40, 80, 160, 320, 640]


def test_a_class_with_one_row_is_taught_from_the_start():
    strata = np.zeros(2000, dtype=np.uint8)
    strata[1234] = 1

    lesson = next(TCT(first=10).teach(Deck(2000, np.random.default_rng(0), strata)))

    assert 1234 in lesson.rows
    assert len(lesson.rows) == 10


def test_the_best_model_is_returned():
    assert TCT().returns == "best"


def test_the_defaults_are_those_of_the_paper():
    assert TCT().get_params() == {"alpha": 0.2, "first": 0.005}


@pytest.mark.parametrize("alpha", [-0.1, 1.1, 2, float("nan"), float("inf"), "0.2", None, [0.2], 1j])
def test_an_invalid_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha") as caught:
        next(TCT(alpha=alpha).teach(a_deck(1000)))

    assert repr(alpha) in str(caught.value)


@pytest.mark.parametrize("alpha", [0, 1, 0.5, np.float32(0.25), np.int64(1)])
def test_any_number_from_0_to_1_is_a_valid_alpha(alpha):
    assert isinstance(next(TCT(alpha=alpha).teach(a_deck(1000))), Lesson)


def test_an_invalid_first_size_is_refused():
    with pytest.raises(ValueError, match="first"):
        next(TCT(first=0).teach(a_deck(1000)))


def test_an_exam_that_is_not_answered_is_an_error():
    requests = TCT(first=5).teach(a_deck(1000))
    next(requests)
    requests.send(None)

    with pytest.raises(TypeError, match="Answers"):
        requests.send(None)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_seed_teaches_the_same_rows(pattern):
    def transcript(seed):
        return drive(TCT(first=10), a_deck(2000, seed), predictions_by(pattern, 3, 2000))

    assert transcript(1) == transcript(1)
    assert transcript(1) != transcript(2)
