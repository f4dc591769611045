"""The loop of teacher, learner and budget, on a clock that only the learner moves."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from fitwithin import LearnerFailed, LearnerFailedWarning, NoModelInTime, Round, TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import LearnerDied, OutOfTime
from fitwithin._core.records import NO_LIMITS
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin._session import learner_loop
from fitwithin._session.selection import ModelSelector
from fitwithin._session.session import Session
from fitwithin.backends import FitReport, FitSettings, Inline
from fitwithin.backends._inline import InlineModel, InlineRunner
from fitwithin.backends._metrics import accuracy_interval
from fitwithin.backends._model_runner import FIRST_PIECE_ROWS
from fitwithin.teachers import TCT, Deck, Double, Exam, Full, Lesson, LessonReport
from fitwithin.testing import FakeClock


def nothing(rows):
    """What a learner does on the side if it does nothing."""


def always(share):
    return lambda rows: share


middling = always(0.8)


class Oracle(ClassifierMixin, BaseEstimator):
    """Right on a share of the rows that depends on how many it was taught.

    Its settings are functions of a number of rows: a clone shares functions, and so the clock that
    they move, with the original.
    """

    def __init__(self, fitting=nothing, predicting=nothing, skill=middling):
        self.fitting = fitting
        self.predicting = predicting
        self.skill = skill

    def fit(self, X, y):
        self.fitting(len(X))
        self.classes_ = np.unique(y)
        self.taught_ = len(X)
        return self

    def predict(self, X):
        self.predicting(len(X))
        right = X[:, 1] < self.skill(self.taught_)
        return np.where(right, X[:, 0], 1 - X[:, 0]).astype(int)


def a_pool(rows):
    """Features that hold the label, and how hard the row is: 0, 1/rows, 2/rows, ... over a permutation."""
    hardness = np.random.default_rng(0).permutation(rows) / rows
    y = np.arange(rows) % 2
    return np.column_stack([y, hardness]), y


class Scripted:
    """Makes the lessons and exams that it was told: for each round a lesson and its exams, as rows."""

    def __init__(self, *rounds, returns="best"):
        self.rounds = rounds
        self.returns = returns

    def teach(self, deck):
        for lesson, *exams in self.rounds:
            yield Lesson(np.array(lesson))
            for exam in exams:
                yield Exam(np.array(exam))
        return "all rows"


def fitted(learner, teacher, *, rows=1000, clock=None, backend=Inline, time_limit=100, on_round=None, seed=0):
    classifier = TimeConstrainedClassifier(
        learner,
        time_limit=time_limit,
        teacher=teacher,
        backend=backend(clock=clock or FakeClock()),
        progress=False,
        on_round=on_round,
        random_state=seed,
    )
    return classifier.fit(*a_pool(rows))


# The reason


@pytest.mark.parametrize(
    ("skill", "sizes", "reason"),
    [
        (0.9, (100, 800), "all rows"),
        (0.9, (100, 200), "time"),
        (lambda rows: 0.9 - rows / 2000, (100, 800), "no gain"),
        (lambda rows: 0.9 - rows / 2000, (100, 200), "no gain"),
    ],
)
def test_the_reason_is_true_of_the_returned_model(skill, sizes, reason):
    """The teacher says "all rows" in any case."""

    class Dealing:
        returns, validates = "best", True

        def teach(self, deck):
            exam, lesson = Exam(deck.deal(200), "validation"), deck.deal(0)
            for size in sizes:
                lesson = np.concatenate([lesson, deck.deal(size - len(lesson))])
                yield Lesson(lesson, (exam,))
            return "all rows"

    classifier = fitted(Oracle(skill=skill if callable(skill) else lambda rows: skill), Dealing())

    assert classifier.stop_reason_ == reason
    assert classifier.n_rows_trained_ == (sizes[0] if reason == "no gain" else sizes[-1])


# Time


def test_an_hour_is_used_well_on_a_clock_that_only_the_learner_moves():
    clock = FakeClock()
    learner = Oracle(
        fitting=lambda rows: clock.advance(0.05 * rows),
        predicting=lambda rows: clock.advance(0.001 * rows),
        skill=lambda rows: 0.7 - 5 / rows,
    )

    classifier = fitted(learner, TCT(first=100), rows=50_000, clock=clock, time_limit="1h")

    assert classifier.stop_reason_ == "time"
    assert 600 < classifier.time_used_ <= 3600
    assert classifier.time_used_ == clock()
    lessons = [finished.rows for finished in classifier.history_]
    assert lessons == [100 * 2**number for number in range(len(lessons))]
    assert lessons[-1] >= 12_800
    assert classifier.n_rows_trained_ == lessons[-1]


def test_a_lesson_without_a_chance_is_not_begun():
    clock, begun = FakeClock(), []

    def fitting(rows):
        begun.append(rows)
        clock.advance(rows)

    classifier = fitted(Oracle(fitting), Double(first=10), clock=clock, time_limit=85)

    assert begun == [10, 20]
    assert classifier.stop_reason_ == "time"
    assert classifier.time_used_ == 30
    assert classifier.n_rows_trained_ == 20


class Stoppable(Inline):
    """A backend that says it could stop a learner; here it notices at the end that it should have."""

    def open(self, budget):
        runner = super().open(budget)
        runner.killable = True
        return runner


def test_a_lesson_that_can_be_stopped_is_begun_if_it_might_end_in_time():
    clock, begun = FakeClock(), []

    def fitting(rows):
        begun.append(rows)
        clock.advance(rows)

    classifier = fitted(Oracle(fitting), Double(first=10), clock=clock, backend=Stoppable, time_limit=65)

    assert begun == [10, 20, 40]
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 20


def test_exams_are_part_of_what_the_next_round_is_expected_to_take():
    clock, begun = FakeClock(), []
    learner = Oracle(fitting=begun.append, predicting=lambda rows: clock.advance(rows))
    rounds = [(range(10), range(500, 530)), (range(20), range(530, 590))]

    classifier = fitted(learner, Scripted(*rounds), clock=clock, time_limit=80)

    assert begun == [10]
    assert classifier.stop_reason_ == "time"
    assert classifier.time_used_ == 30


@pytest.mark.parametrize(("returns", "slow"), [("best", "fitting"), ("best", "predicting"), ("last", "fitting")])
def test_a_round_that_overran_the_deadline_does_not_win(returns, slow):
    clock = FakeClock()
    learner = Oracle(skill=lambda rows: rows / 20)

    def costs(rows):
        clock.advance(1 if rows < 20 else 1000)

    setattr(learner, slow, costs)
    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds, returns=returns), clock=clock)

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 10
    assert classifier.best_estimator_.taught_ == 10
    assert [finished.rows for finished in classifier.history_] == [10]


def test_a_last_model_that_was_trained_in_time_is_returned_although_its_exam_overran():
    clock = FakeClock()
    learner = Oracle(skill=lambda rows: rows / 20)

    def costs(rows):
        clock.advance(1 if rows < 20 else 1000)

    learner.predicting = costs
    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds, returns="last"), clock=clock)

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 20
    assert [finished.best for finished in classifier.history_] == [True, True]
    assert classifier.score_estimate_ is None


def test_without_a_model_in_time_the_error_says_what_was_tried_and_what_limit_would_do():
    clock = FakeClock()

    with pytest.raises(NoModelInTime) as caught:
        fitted(Oracle(lambda rows: clock.advance(100)), TCT(first=50), clock=clock, time_limit=60)

    message = str(caught.value)
    assert "limit of 60 s" in message
    assert "100.00 s" in message
    assert "training on 50 rows" in message
    assert float(re.search(r"limit of ([\d.]+) s or more", message)[1]) >= 100
    assert "first=" in message


def test_a_first_model_that_was_not_examined_in_time_is_returned_without_a_score():
    clock = FakeClock()

    classifier = fitted(Oracle(predicting=lambda rows: clock.advance(100)), TCT(first=50), clock=clock, time_limit=60)

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == classifier.best_estimator_.taught_ == 50
    assert classifier.score_estimate_ is None
    (finished,) = classifier.history_
    assert (finished.best, finished.estimate, finished.examined) == (True, None, 0)
    assert classifier.lost_seconds_ == 0


def test_a_first_model_is_saved_before_its_exams_and_a_later_one_after_them():
    seen = []

    class Watched(InlineRunner):
        def fit(self, rows, *, exams=(), **others):
            seen.append(("fit", len(rows), [exam.purpose for exam in exams]))
            return super().fit(rows, exams=exams, **others)

        def examine(self, exam):
            seen.append(("examine", exam.purpose))
            return super().examine(exam)

        def save(self):
            seen.append(("save",))
            return super().save()

    fitted(Oracle(), Examining(range(10), range(20), validation=JUDGES), backend=Runners(Watched))

    assert seen == [
        ("fit", 10, []),
        ("save",),
        ("examine", "validation"),
        ("fit", 20, ["validation"]),
        ("examine", "validation"),
        ("save",),
    ]


@pytest.mark.parametrize("seconds", [0.001, 0.06, 1, 59.9, 12_345])
def test_the_limit_that_would_do_is_longer_than_the_one_that_did_not(seconds):
    clock = FakeClock()

    with pytest.raises(NoModelInTime) as caught:
        fitted(Oracle(lambda rows: clock.advance(seconds)), Full(), clock=clock, time_limit=seconds)

    assert float(re.search(r"limit of (\S+) s or more", str(caught.value))[1]) > seconds


def test_the_history_tells_the_seconds_of_every_part():
    clock = FakeClock()
    learner = Oracle(fitting=lambda rows: clock.advance(rows / 8), predicting=lambda rows: clock.advance(rows / 64))
    rounds = [(range(8), range(500, 564)), (range(16), range(600, 664), range(700, 764))]

    first, second = fitted(learner, Scripted(*rounds), clock=clock).history_

    assert (first.seconds_fit, first.seconds_exam, first.predicted_fit) == (1, 1, None)
    # The first model is the best one from the end of its fit on.
    assert first.elapsed == 1
    assert (second.seconds_fit, second.seconds_exam, second.elapsed) == (2, 2, 6)
    assert 2 < second.predicted_fit < 2.5


def test_the_seconds_of_scoring_are_a_part_of_those_of_the_exams():
    class SlowlyScoring(InlineRunner):
        def score(self, selected):
            return replace(super().score(selected), seconds=2.0)

    clock = FakeClock()
    learner = Oracle(predicting=lambda rows: clock.advance(3))

    (finished,) = fitted(learner, Scripted((range(8), EXAM)), clock=clock, backend=Runners(SlowlyScoring)).history_

    assert finished.seconds_exam == 5


def test_the_same_seed_and_the_same_clock_give_the_same_history():
    def run(seed):
        clock = FakeClock()
        learner = Oracle(
            fitting=lambda rows: clock.advance(rows**1.2 / 100),
            predicting=lambda rows: clock.advance(rows / 1000),
            skill=lambda rows: 1 - 3 / rows,
        )
        return fitted(learner, TCT(first=20), rows=20_000, clock=clock, time_limit=600, seed=seed)

    one, other, another = run(1), run(1), run(2)

    assert one.history_ == other.history_
    assert one.score_estimate_ == other.score_estimate_
    assert one.time_used_ == other.time_used_
    assert one.history_ != another.history_


# Which model is returned

EXAM = range(500, 600)


@pytest.mark.parametrize(
    ("skills", "kept"),
    [([0.8, 0.8], 10), ([0.8, 0.9], 20), ([0.9, 0.8], 10), ([0.6, 0.9, 0.9], 20), ([0.6, 0.9, 0.7, 0.95], 40)],
    ids=["equal", "better", "worse", "equal to the better", "up and down"],
)
def test_the_best_model_is_replaced_on_a_strictly_better_bound_only(skills, kept):
    by_rows = {10 * (number + 1): skill for number, skill in enumerate(skills)}
    rounds = [(range(rows), EXAM) for rows in by_rows]

    classifier = fitted(Oracle(skill=by_rows.__getitem__), Scripted(*rounds))

    assert classifier.n_rows_trained_ == classifier.best_estimator_.taught_ == kept
    assert [finished.rows for finished in classifier.history_ if finished.best][-1] == kept
    assert len(classifier.history_) == len(skills)


def test_a_better_share_of_a_smaller_exam_may_have_the_worse_bound():
    rounds = [(range(10), range(100, 1000)), (range(20), range(100, 110))]

    classifier = fitted(Oracle(skill=lambda rows: 0.8 if rows == 10 else 1.0), Scripted(*rounds))

    first, second = classifier.history_
    assert second.estimate == 1.0 > first.estimate
    assert classifier.n_rows_trained_ == 10


def test_a_teacher_of_last_models_gets_its_last_one():
    rounds = [(range(10), EXAM), (range(20), EXAM)]

    classifier = fitted(Oracle(skill=lambda rows: 0.9 if rows == 10 else 0.1), Scripted(*rounds, returns="last"))

    assert classifier.n_rows_trained_ == 20
    assert [finished.best for finished in classifier.history_] == [True, True]


def test_double_returns_its_last_model():
    classifier = fitted(Oracle(), Double(first=100))

    assert [finished.rows for finished in classifier.history_] == [100, 200, 400, 800, 1000]
    assert classifier.n_rows_trained_ == 1000
    assert classifier.stop_reason_ == "all rows"
    assert classifier.score_estimate_ is None


def test_a_model_that_sat_no_exam_does_not_win():
    classifier = fitted(Oracle(skill=always(0.1)), Scripted((range(10), EXAM), (range(20),)))

    assert classifier.n_rows_trained_ == 10
    assert [finished.best for finished in classifier.history_] == [True, False]


def test_a_model_that_was_taught_every_row_wins_without_an_exam():
    classifier = fitted(Oracle(skill=always(0.9)), Scripted((range(10), EXAM), (range(1000),)))

    assert classifier.n_rows_trained_ == 1000
    assert classifier.stop_reason_ == "all rows"


# The end


def test_a_callback_that_returns_true_stops_the_session():
    told = []

    def on_round(finished):
        told.append(finished)
        return len(told) == 2

    classifier = fitted(Oracle(), TCT(first=10), rows=10_000, on_round=on_round)

    assert classifier.stop_reason_ == "on_round"
    assert all(isinstance(finished, Round) for finished in told)
    assert classifier.history_ == told
    assert [finished.rows for finished in told] == [10, 20]


def test_a_callback_may_stop_after_the_last_round():
    assert fitted(Oracle(), Full(), on_round=lambda finished: True).stop_reason_ == "on_round"


def test_a_callback_that_returns_nothing_stops_nothing():
    told = []

    classifier = fitted(Oracle(), Double(first=100), on_round=told.append)

    assert classifier.stop_reason_ == "all rows"
    assert classifier.history_ == told


def test_a_model_without_a_mistake_on_all_other_rows_ends_the_session():
    classifier = fitted(Oracle(skill=always(1.0)), TCT(alpha=0.2, first=10))

    assert classifier.stop_reason_ == "no mistakes"
    assert classifier.n_rows_trained_ < 1000


class Tantrum(ArithmeticError):
    """A learner's own kind of error."""


def trouble_above(largest, error):
    """Raises when it is given more rows than that."""

    def act(rows):
        if rows > largest:
            raise error

    return act


@pytest.mark.parametrize(("part", "doing"), [("fitting", "training on 50 rows"), ("predicting", "predicting 50 rows")])
def test_a_learner_that_raises_in_round_1_comes_out_as_itself_with_a_note(part, doing):
    with pytest.raises(Tantrum, match="not today") as caught:
        fitted(Oracle(**{part: trouble_above(0, Tantrum("not today"))}), TCT(first=50))

    note = "\n".join(caught.value.__notes__)
    assert "round 1" in note
    assert doing in note
    assert "Traceback" in note


@pytest.mark.parametrize("part", ["fitting", "predicting"])
def test_a_learner_that_raises_in_round_3_is_a_warning_and_the_best_model_is_returned(part):
    learner = Oracle(**{part: trouble_above(20, Tantrum("no more"))})
    rounds = [(range(rows), range(500, 500 + rows)) for rows in (10, 20, 40)]

    with pytest.warns(RuntimeWarning, match="in round 3") as caught:
        classifier = fitted(learner, Scripted(*rounds))

    (warning,) = caught
    text = str(warning.message)
    assert "Traceback (most recent call last)" in text
    assert "Tantrum: no more" in text
    assert "raise error" in text
    assert warning.filename == __file__
    assert classifier.stop_reason_ == "learner failed"
    assert len(classifier.history_) == 2
    assert classifier.n_rows_trained_ == 20


def test_a_learner_that_raises_before_any_model_won_comes_out_as_itself():
    class Measuring(Scripted):
        def teach(self, deck):
            yield Lesson(np.arange(10), give_up_over=1.0)
            return (yield from super().teach(deck))

    with pytest.raises(Tantrum) as caught:
        fitted(Oracle(trouble_above(10, Tantrum())), Measuring((range(20), EXAM)), backend=Runners(GivingUp))

    assert "round 2" in caught.value.__notes__[0]


def test_a_learner_that_raises_after_a_first_model_without_an_exam_is_a_warning():
    rounds = [(range(10),), (range(20), EXAM)]

    with pytest.warns(LearnerFailedWarning, match="in round 2, training on 20 rows"):
        classifier = fitted(Oracle(trouble_above(10, Tantrum())), Scripted(*rounds))

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.n_rows_trained_ == 10


class Runners(Inline):
    """A backend with runners of another class; call it with a clock."""

    def __init__(self, kind, clock=None):
        self.kind, self.clock = kind, clock

    def __call__(self, clock):
        return Runners(self.kind, clock)

    def open(self, budget):
        return self.kind(budget)


class GivingUp(InlineRunner):
    """A runner that gives up every fit that may give up."""

    def fit(self, rows, *, limits=NO_LIMITS, **others):
        if limits.give_up_over is not None:
            return FitReport(0.0, 0.5, skipped_seconds=9.5, setup_seconds=0.25, steps=2, planned_steps=40, gave_up=True)
        return super().fit(rows, limits=limits, **others)


class Mortal(InlineRunner):
    """A runner whose learner dies of a lesson of more than 20 rows."""

    def fit(self, rows, **others):
        if len(rows) > 20:
            raise LearnerDied("it was killed by SIGSEGV")
        return super().fit(rows, **others)


def test_a_learner_that_dies_in_round_1_is_an_error_that_says_how():
    with pytest.raises(LearnerFailed, match=r"round 1.*SIGSEGV"):
        fitted(Oracle(), TCT(first=50), backend=Runners(Mortal))


def test_a_learner_that_dies_in_its_first_exam_is_an_error_that_says_how():
    class MortalInExams(InlineRunner):
        def examine(self, exam):
            raise LearnerDied("it was killed by SIGSEGV")

    with pytest.raises(LearnerFailed, match=r"round 1, predicting 50 rows.*SIGSEGV"):
        fitted(Oracle(), TCT(first=50), backend=Runners(MortalInExams))


def test_a_learner_that_dies_later_is_a_warning_and_the_best_model_is_returned():
    with pytest.warns(RuntimeWarning, match=r"(?s)in round 3.*SIGSEGV"):
        classifier = fitted(Oracle(), Double(first=10), backend=Runners(Mortal))

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.n_rows_trained_ == 20


@pytest.mark.parametrize("part", ["fitting", "predicting"])
def test_an_interrupt_with_a_model_in_hand_means_deadline_now(part):
    learner = Oracle(**{part: trouble_above(10, KeyboardInterrupt)})
    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds))

    assert classifier.stop_reason_ == "interrupted"
    assert classifier.n_rows_trained_ == 10


def test_an_interrupt_without_a_model_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        fitted(Oracle(fitting=trouble_above(0, KeyboardInterrupt)), TCT(first=10))


def test_an_interrupt_in_the_first_exam_returns_the_first_model():
    classifier = fitted(Oracle(predicting=trouble_above(0, KeyboardInterrupt)), TCT(first=10))

    assert classifier.stop_reason_ == "interrupted"
    assert classifier.n_rows_trained_ == 10
    assert classifier.score_estimate_ is None


class Ledger:
    """A backend in memory that counts its kept models, and is as slow and as fragile as it is told."""

    def __init__(self, *, load=0.0, interrupts=0, broken=()):
        self.load_seconds = load
        self.interrupts = interrupts
        self.broken = broken
        self.kept = []
        self.discarded = []

    def __call__(self, clock):
        self.clock = clock
        return self

    def open(self, budget):
        return LedgerSeat(budget, self)


class LedgerSeat(InlineRunner):
    def __init__(self, budget, ledger):
        super().__init__(budget)
        self.ledger = ledger

    def save(self):
        model = LedgerModel(super().save(), self.ledger)
        self.ledger.kept.append(model)
        return model


class LedgerModel:
    save_seconds = 0.0
    n_bytes = None

    def __init__(self, model: InlineModel, ledger):
        self.model = model
        self.ledger = ledger
        self.load_seconds = ledger.load_seconds

    def load(self):
        if self.ledger.interrupts:
            self.ledger.interrupts -= 1
            raise KeyboardInterrupt
        if self.ledger.kept.index(self) in self.ledger.broken:
            raise ImportError("no module named 'elsewhere'")
        return self.model.load()

    def discard(self):
        self.ledger.discarded.append(self)


def test_an_interrupt_while_the_model_is_brought_still_brings_it():
    classifier = fitted(Oracle(), Full(), backend=Ledger(interrupts=1))

    assert classifier.stop_reason_ == "interrupted"
    assert classifier.n_rows_trained_ == 1000


def test_a_second_interrupt_always_raises():
    with pytest.raises(KeyboardInterrupt):
        fitted(Oracle(), Full(), backend=Ledger(interrupts=2))
    with pytest.raises(KeyboardInterrupt):
        fitted(Oracle(trouble_above(10, KeyboardInterrupt)), Double(first=10), backend=Ledger(interrupts=1))


def test_a_model_that_cannot_be_loaded_in_time_does_not_win():
    clock, ledger = FakeClock(), Ledger(load=30)
    rounds = [(range(10), EXAM), (range(20), EXAM)]
    learner = Oracle(lambda rows: clock.advance(1 if rows == 10 else 90), skill=lambda rows: rows / 20)

    classifier = fitted(learner, Scripted(*rounds), clock=clock, backend=ledger)

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 10


def test_a_model_that_cannot_be_loaded_gives_way_to_the_one_before():
    ledger = Ledger(broken={1})
    rounds = [(range(10), EXAM), (range(20), EXAM)]

    with pytest.warns(LearnerFailedWarning, match="cannot be loaded in this process.*elsewhere"):
        classifier = fitted(Oracle(skill=lambda rows: rows / 20), Scripted(*rounds), backend=ledger)

    assert classifier.n_rows_trained_ == 10
    assert classifier.stop_reason_ == "learner failed"
    assert [finished.best for finished in classifier.history_] == [True, False]
    assert sorted(map(id, ledger.discarded)) == sorted(map(id, ledger.kept))


def test_models_that_cannot_be_loaded_at_all_are_an_error_that_says_why():
    rounds = [(range(10), EXAM), (range(20), EXAM)]

    with pytest.raises(LearnerFailed, match="elsewhere"):
        fitted(Oracle(skill=lambda rows: rows / 20), Scripted(*rounds), backend=Ledger(broken={0, 1}))


class Hurried(Scripted):
    """Has no time to choose after its last round."""

    def teach(self, deck):
        yield from super().teach(deck)
        raise OutOfTime


def test_a_model_that_was_examined_is_kept_when_there_is_no_time_to_choose_the_next_rows():
    classifier = fitted(Oracle(), Hurried((range(10), EXAM)))

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 10


def test_no_rows_are_chosen_when_choosing_might_outlast_the_limit():
    clock, asked = FakeClock(), []

    class Slow(Scripted):
        def teach(self, deck):
            for request in super().teach(deck):
                asked.append(request)
                clock.advance(21)
                yield request

    classifier = fitted(Oracle(), Slow((range(10), EXAM), (range(20), EXAM), (range(30), EXAM)), clock=clock)

    assert classifier.stop_reason_ == "time"
    # Three more choices would not fit after the second one.
    assert len(asked) == 2
    assert classifier.time_used_ <= 100


def test_no_lesson_is_begun_whose_rows_there_is_no_time_to_count(monkeypatch):
    monkeypatch.setattr(learner_loop, "_LARGE_LESSON", 15)
    monkeypatch.setattr(learner_loop, "_COUNT_SECONDS", 10.0)

    classifier = fitted(Oracle(), Scripted((range(10), EXAM), (range(20), EXAM)))

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 10


def test_time_to_load_the_best_model_is_kept_free():
    clock, begun = FakeClock(), []

    def fitting(rows):
        begun.append(rows)
        clock.advance(20)

    classifier = fitted(Oracle(fitting), Double(first=10), clock=clock, backend=Ledger(load=30))

    assert begun == [10]
    assert classifier.stop_reason_ == "time"


def test_every_kept_model_is_let_go_of_once():
    ledger = Ledger()
    by_rows = {10: 0.5, 20: 0.7, 30: 0.6, 40: 0.9}

    fitted(Oracle(skill=by_rows.__getitem__), Scripted(*[(range(rows), EXAM) for rows in by_rows]), backend=ledger)

    assert len(ledger.kept) == 3
    assert ledger.discarded == ledger.kept


def test_a_first_model_that_cannot_predict_is_let_go_of():
    ledger = Ledger()

    with pytest.raises(Tantrum):
        fitted(Oracle(predicting=trouble_above(0, Tantrum())), Scripted((range(10), EXAM)), backend=ledger)

    assert len(ledger.kept) == 1
    assert ledger.discarded == ledger.kept


def test_a_first_model_that_cannot_predict_its_validation_rows_is_no_model():
    class Audited(Scripted):
        def teach(self, deck):
            exams = Exam(np.arange(100, 105), "holdout"), Exam(np.arange(200, 250), "validation")
            yield Lesson(np.arange(10), exams)
            return "all rows"

    with pytest.raises(Tantrum):
        fitted(Oracle(predicting=trouble_above(5, Tantrum())), Audited())


def throw(error):
    raise error


@pytest.mark.parametrize(
    ("last_lesson", "on_round", "interrupts", "error"),
    [
        (range(5000), None, 0, IndexError),
        (range(30), lambda finished: finished.number == 2 and throw(Tantrum()), 0, Tantrum),
        (range(30), None, 2, KeyboardInterrupt),
    ],
    ids=["of the teacher", "of the callback", "of a second interrupt"],
)
def test_every_kept_model_is_let_go_of_when_the_session_ends_in_an_error(last_lesson, on_round, interrupts, error):
    ledger = Ledger(interrupts=interrupts)
    rounds = [(range(10), EXAM), (range(20), EXAM), (last_lesson, EXAM)]

    with pytest.raises(error):
        fitted(Oracle(skill=lambda rows: rows / 40), Scripted(*rounds), backend=ledger, on_round=on_round)

    assert ledger.kept
    assert ledger.discarded == ledger.kept


# The estimate


def test_the_score_is_estimated_from_the_rows_that_are_fresh():
    # Round 2 examines 40 rows again, and 60 for the first time.
    X, _ = a_pool(1000)
    rounds = [(range(10), range(500, 540)), (range(20), range(500, 600))]

    classifier = fitted(Oracle(skill=lambda rows: 0.5 if rows == 10 else 0.8), Scripted(*rounds))

    right = int((X[540:600, 1] < 0.8).sum())
    expected = accuracy_interval(right, 60)
    assert classifier.n_rows_trained_ == 20
    assert classifier.score_estimate_ == (expected.value, expected.low, expected.high)
    assert classifier.history_[1].fresh == 60
    assert classifier.history_[1].examined == 100


def test_the_score_is_that_of_the_winner():
    rounds = [(range(10), range(500, 700)), (range(20), range(700, 900))]

    classifier = fitted(Oracle(skill=lambda rows: 0.9 if rows == 10 else 0.2), Scripted(*rounds))

    first = classifier.history_[0]
    assert classifier.score_estimate_ == (first.estimate, first.low, first.high)


def test_a_winner_that_saw_no_fresh_row_has_no_estimate():
    rounds = [(range(10), EXAM), (range(20), EXAM)]

    classifier = fitted(Oracle(skill=lambda rows: 0.5 if rows == 10 else 0.9), Scripted(*rounds))

    assert classifier.n_rows_trained_ == 20
    assert classifier.history_[1].estimate > 0.8
    assert classifier.score_estimate_ is None


def test_rows_that_come_back_when_the_pool_is_exhausted_do_not_count():
    learner = Oracle(skill=lambda rows: 0.99 if rows >= 400 else 0.8)

    classifier = fitted(learner, TCT(first=50), rows=600, on_round=lambda finished: finished.rows >= 400)

    history = classifier.history_
    assert [finished.rows for finished in history] == [50, 100, 200, 400]
    assert sum(finished.fresh for finished in history) == 550
    assert (history[-1].examined, history[-1].fresh, history[-1].best) == (200, 0, True)
    assert classifier.score_estimate_ is None


def test_a_model_that_was_taught_every_row_has_no_estimate():
    assert fitted(Oracle(), Full()).score_estimate_ is None


# Judges and auditors


class Panel:
    """Lessons that are judged, audited and examined as they are told; remembers the answers."""

    returns = "best"

    def __init__(self, *lessons, **exams):
        self.lessons = lessons
        self.exams = exams
        self.answers = []

    def teach(self, deck):
        for lesson in self.lessons:
            yield Lesson(np.array(lesson))
            for purpose, rows in self.exams.items():
                self.answers.append((yield Exam(np.array(rows), purpose)))
        return "all rows"


JUDGES, AUDITORS = range(200, 600), range(600, 1000)


@pytest.mark.parametrize(
    ("skills", "kept"), [((0.8, 0.8), 20), ((0.8, 0.799), 20), ((0.8, 0.78), 10), ((0.8, 0.9), 20)]
)
def test_by_the_same_judges_a_new_model_wins_unless_it_is_clearly_worse(skills, kept):
    skill = dict(zip((10, 20), skills, strict=True)).__getitem__

    classifier = fitted(Oracle(skill=skill), Panel(range(10), range(20), validation=JUDGES))

    assert classifier.n_rows_trained_ == classifier.best_estimator_.taught_ == kept
    assert classifier.history_[1].best is (kept == 20)


def test_judges_alone_make_the_estimate_of_a_round_and_auditors_alone_that_of_the_user():
    X, _ = a_pool(1000)
    by_rows = {"validation": JUDGES, "holdout": AUDITORS}

    classifier = fitted(Oracle(), Panel(range(10), range(20), **by_rows))

    judged, audited = (accuracy_interval(int((X[rows, 1] < 0.8).sum()), 400) for rows in by_rows.values())
    for finished in classifier.history_:
        assert (finished.estimate, finished.low, finished.high) == (judged.value, judged.low, judged.high)
        assert (finished.examined, finished.fresh) == (800, 400)
    assert classifier.score_estimate_ == (audited.value, audited.low, audited.high)


def test_auditors_do_not_tell_which_of_their_answers_are_wrong():
    teacher = Panel(range(10), holdout=AUDITORS, validation=JUDGES, score=range(100, 200))

    fitted(Oracle(), teacher)

    audit, judged, scored = teacher.answers
    assert audit.mistakes == 0
    assert audit.score is None
    assert judged.mistakes > 0
    assert judged.score == accuracy_interval(400 - judged.mistakes, 400)
    assert scored.score == accuracy_interval(100 - scored.mistakes, 100)


def test_scored_exams_tell_what_each_row_adds_to_the_error_and_audits_do_not():
    teacher = Panel(range(10), holdout=AUDITORS, validation=JUDGES, score=range(100, 200), mistakes=range(50, 90))

    fitted(Oracle(), teacher)

    audit, judged, scored, examined = teacher.answers
    assert audit.influence is examined.influence is None
    for answers in (judged, scored):
        share = answers.wrong.mean()
        np.testing.assert_allclose(answers.influence, (share - answers.wrong) / len(answers.rows), rtol=1e-5)


class Examining(Panel):
    """Names the exams in its lessons; remembers the reports."""

    def __init__(self, *lessons, oversampled=(), **exams):
        super().__init__(*lessons, **exams)
        self.oversampled = oversampled

    def teach(self, deck):
        exams = tuple(Exam(np.array(rows), purpose) for purpose, rows in self.exams.items())
        for number, lesson in enumerate(self.lessons):
            lesson = Lesson(np.array(lesson), exams=exams, oversampled=number in self.oversampled)
            self.answers.append((yield lesson))
        return "all rows"


def test_a_lesson_is_answered_with_a_report():
    clock = FakeClock()
    learner = Oracle(lambda rows: clock.advance(rows / 10), lambda rows: clock.advance(1), {10: 0.8, 20: 0.5}.get)
    teacher = Examining(range(10), range(20), validation=JUDGES, holdout=AUDITORS, mistakes=range(50, 90))

    fitted(learner, teacher, clock=clock)

    for report, n_rows, is_best in zip(teacher.answers, (10, 20), (True, False), strict=True):
        assert isinstance(report, LessonReport)
        assert (report.seconds, report.is_best) == (pytest.approx(n_rows / 10), is_best)
        assert (report.setup_seconds, report.steps, report.planned_steps) == (None, None, None)
        assert not report.was_cut_short
        assert not report.gave_up
        assert {purpose: list(answers.rows) for purpose, answers in report.answers.items()} == {
            "validation": list(JUDGES),
            "holdout": list(AUDITORS),
            "mistakes": list(range(50, 90)),
        }
        judged, audit, examined = (report.answers[purpose] for purpose in ("validation", "holdout", "mistakes"))
        assert judged.score == accuracy_interval(400 - judged.mistakes, 400)
        assert (audit.mistakes, audit.score, examined.score) == (0, None, None)
        assert examined.mistakes > 0


def test_a_lesson_without_an_exam_on_validation_rows_does_not_know_whether_it_is_best():
    teacher = Examining(range(10), range(20), mistakes=JUDGES)

    fitted(Oracle(), teacher)

    assert [report.is_best for report in teacher.answers] == [None, None]


def test_a_lesson_that_gave_up_has_no_model_and_no_answers():
    class Measuring(Examining):
        def teach(self, deck):
            exams = (Exam(np.array(JUDGES), "validation"),)
            yield Lesson(np.arange(10), exams=exams)
            self.report = yield Lesson(np.arange(5, 30), exams=exams, give_up_over=1.0)
            self.costs = [deck.costs.fit_seconds(25), deck.costs.setup_seconds(25)]
            yield Lesson(np.arange(20), exams=exams)
            return "all rows"

    teacher = Measuring()
    classifier = fitted(Oracle(), teacher, backend=Runners(GivingUp))

    report = teacher.report
    assert (report.gave_up, report.seconds, report.setup_seconds) == (True, 0.5, 0.25)
    assert (report.steps, report.planned_steps, report.was_cut_short) == (2, 40, True)
    assert (dict(report.answers), report.is_best) == ({}, None)
    # The first steps tell what all would take.
    assert teacher.costs == [10.0, 0.25]
    _, gave_up, last = classifier.history_
    assert (gave_up.rows, gave_up.new_rows, gave_up.examined, gave_up.estimate) == (25, 0, 0, None)
    assert not gave_up.best
    assert (last.number, last.new_rows) == (3, 10)
    assert classifier.n_rows_trained_ == 20
    assert classifier.lost_seconds_ == 0


def test_fit_and_exams_of_a_lesson_are_one_call_of_the_runner():
    calls = []

    class Counting(InlineRunner):
        is_fitting = False

        def fit(self, rows, **others):
            calls.append("fit")
            self.is_fitting = True
            report = super().fit(rows, **others)
            self.is_fitting = False
            return report

        def examine(self, exam):
            if not self.is_fitting:
                calls.append("examine")
            return super().examine(exam)

        def score(self, selected):
            calls.append("score")
            return super().score(selected)

        def save(self):
            calls.append("save")
            return super().save()

    skill = {10: 0.8, 20: 0.5, 30: 0.9}.__getitem__
    lessons = map(range, (10, 20, 30))
    fitted(Oracle(skill=skill), Examining(*lessons, validation=JUDGES, holdout=AUDITORS), backend=Runners(Counting))

    assert calls == ["fit", "save", "examine", "examine", "fit", "fit", "save"]


@pytest.mark.parametrize("lessons", [(10,), (10, 20)], ids=["first model", "later model"])
def test_an_exam_that_takes_too_long_is_answered_for_its_first_rows(lessons):
    clock, n_rows = FakeClock(), FIRST_PIECE_ROWS

    class Hurried(Examining):
        def teach(self, deck):
            for size in lessons:
                exams = (Exam(np.array(JUDGES), "validation", seconds=0.5),)
                self.answers.append((yield Lesson(np.arange(size), exams=exams)))
            return "all rows"

    teacher = Hurried()
    classifier = fitted(Oracle(predicting=lambda rows: clock.advance(1)), teacher, clock=clock)

    for report, finished in zip(teacher.answers, classifier.history_, strict=True):
        answers = report.answers["validation"]
        assert answers.rows.tolist() == list(JUDGES)[:n_rows]
        assert answers.score == accuracy_interval(n_rows - answers.mistakes, n_rows)
        assert (finished.examined, finished.validation_rows, finished.estimate) == (n_rows, n_rows, answers.score.value)


def test_the_costs_of_a_lesson_are_known_before_the_teacher_plans_on():
    clock, known = FakeClock(), []

    class Planner(Examining):
        def teach(self, deck):
            for exam in (Exam(np.arange(500, 600), "validation"), Exam(np.arange(500, 550), "validation")):
                for n_rows in (10, 20):
                    yield Lesson(np.arange(n_rows), exams=(exam,))
                    known.append((deck.costs.fit_seconds(n_rows), deck.costs.exam_seconds(100)))
            return "all rows"

    learner = Oracle(lambda rows: clock.advance(rows / 2), lambda rows: clock.advance(rows / 100))
    classifier = fitted(learner, Planner(), clock=clock)

    assert known == [(pytest.approx(n_rows / 2), pytest.approx(1.0)) for n_rows in (10, 20, 10, 20)]
    assert [finished.predicted_fit is None for finished in classifier.history_] == [True, False, False, False]
    assert classifier.history_[-1].predicted_fit == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("second", "oversampled", "kept"),
    [
        (range(20), (), 20),
        ([*range(19, -1, -1)], (), 20),
        (range(5, 25), (), 10),
        (range(20), (1,), 10),
        (range(20), (0,), 10),
    ],
    ids=["more rows", "in another order", "other rows", "oversampled", "after an oversampled one"],
)
def test_only_a_plain_lesson_with_all_rows_of_the_best_one_wins_a_tie(second, oversampled, kept):
    teacher = Examining(range(10), second, oversampled=oversampled, validation=JUDGES)

    classifier = fitted(Oracle(), teacher)

    assert classifier.n_rows_trained_ == kept
    assert [report.is_best for report in teacher.answers] == [True, kept == 20]


@pytest.mark.parametrize(("lessons", "kept"), [((10, 20), 20), ((20, 10), 20)], ids=["more rows", "fewer rows"])
def test_of_two_models_that_judges_cannot_tell_apart_the_one_with_more_rows_is_returned(lessons, kept):
    classifier = fitted(Oracle(), Panel(*map(range, lessons), validation=JUDGES))

    assert classifier.n_rows_trained_ == kept


def overrun(clock, after):
    """Return what moves a clock by a second for each prediction, and far beyond the deadline after some of them."""
    exams = []

    def predicting(rows):
        exams.append(rows)
        clock.advance(1 if len(exams) <= after else 1000)

    return predicting


AUDIT_FIRST = {"holdout": AUDITORS, "validation": JUDGES}


@pytest.mark.parametrize("later", [{}, {"mistakes": range(50, 90)}, {"score": range(50, 90)}], ids=str)
def test_the_score_of_a_model_that_was_audited_first_is_known_as_soon_as_it_is_judged(later):
    clock, X = FakeClock(), a_pool(1000)[0]
    # The deadline comes in the next exam, or where there is none in the next lesson.
    learner = Oracle(fitting=lambda rows: clock.advance(1000 if rows == 20 else 1), predicting=overrun(clock, 2))

    classifier = fitted(learner, Panel(range(10), range(20), **AUDIT_FIRST, **later), clock=clock, backend=Stoppable)

    audited = accuracy_interval(int((X[AUDITORS, 1] < 0.8).sum()), 400)
    judged = accuracy_interval(int((X[JUDGES, 1] < 0.8).sum()), 400)
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 10
    assert classifier.score_estimate_ == (audited.value, audited.low, audited.high)
    assert [finished.estimate for finished in classifier.history_] == [judged.value]


class SlowToScore(Inline):
    """A backend that lets the deadline pass in a call of `score`."""

    calls = 0

    def open(self, budget):
        runner = super().open(budget)
        score = runner.score

        def slow_score(selected):
            SlowToScore.calls -= 1
            if SlowToScore.calls == 0:
                self.clock.advance(1000)
            return score(selected)

        runner.score = slow_score
        return runner


@pytest.mark.parametrize("later", [{"mistakes": range(50, 90)}, {"score": range(50, 90)}], ids=str)
def test_the_score_of_a_saved_model_is_not_lost_when_the_deadline_comes_in_the_score_of_a_later_exam(later):
    SlowToScore.calls = 2

    classifier = fitted(Oracle(), Panel(range(10), range(20), **AUDIT_FIRST, **later), backend=SlowToScore)

    assert SlowToScore.calls == 0
    assert classifier.stop_reason_ == "time"
    assert classifier.score_estimate_ is not None
    assert classifier.history_[-1].estimate is not None


def test_the_record_of_a_saved_model_has_its_score_before_the_round_is_over():
    class Curious(Panel):
        def teach(self, deck):
            yield Lesson(np.arange(10))
            for purpose, rows in AUDIT_FIRST.items():
                yield Exam(np.array(rows), purpose)
            self.record = session.state().model_record
            return "all rows"

    teacher, clock = Curious(), FakeClock()
    X, y = a_pool(1000)
    labels = Labels.encode(y)
    budget = Budget(100, clock=clock)
    with Inline(clock=clock).open(budget) as runner:
        runner.prepare(Oracle(), TablePool(X, labels), FitSettings())
        deck = Deck(1000, np.random.default_rng(0))
        session = Session(
            teacher, runner, deck, budget, CostEstimates(budget), ModelSelector(teacher.returns), labels=labels
        )
        result = session.run()

    assert (
        teacher.record.fresh_estimate
        == result.record.fresh_estimate
        == accuracy_interval(int((X[AUDITORS, 1] < 0.8).sum()), 400)
    )
    assert teacher.record.estimate == accuracy_interval(int((X[JUDGES, 1] < 0.8).sum()), 400)


@pytest.mark.parametrize("later", ["mistakes", "validation"])
def test_the_score_of_an_audit_is_not_lost_when_the_deadline_comes_exams_later(later):
    clock = FakeClock()

    class JudgedAgain(Panel):
        def teach(self, deck):
            yield Lesson(np.arange(10))
            yield Exam(np.array(JUDGES)[:100], "validation")
            yield Exam(np.array(AUDITORS), "holdout")
            if later == "validation":
                yield Exam(np.array(JUDGES), "validation")
            yield Exam(np.arange(50, 90))
            return "all rows"

    n_exams = 3 if later == "validation" else 2
    classifier = fitted(Oracle(predicting=overrun(clock, n_exams)), JudgedAgain(), clock=clock)

    audited = accuracy_interval(int((a_pool(1000)[0][AUDITORS, 1] < 0.8).sum()), 400)
    assert classifier.stop_reason_ == "time"
    assert classifier.score_estimate_ == (audited.value, audited.low, audited.high)


def test_a_model_that_was_only_audited_is_judged_although_choosing_takes_long():
    clock = FakeClock()

    class Slow(Panel):
        def teach(self, deck):
            yield Lesson(np.arange(10))
            yield Exam(np.array(JUDGES), "validation")
            yield Lesson(np.arange(20))
            clock.advance(30)
            yield Exam(np.array(AUDITORS), "holdout")
            yield Exam(np.array(JUDGES), "validation")
            return "all rows"

    classifier = fitted(Oracle(), Slow(), clock=clock, time_limit=100)

    assert [finished.validation_rows for finished in classifier.history_] == [400, 400]
    assert classifier.n_rows_trained_ == 20


def test_auditors_alone_do_not_choose_between_models():
    skill = {10: 0.5, 20: 0.9}.__getitem__

    class AuditOnly(Panel):
        def teach(self, deck):
            yield Lesson(np.arange(10))
            yield Exam(np.array(JUDGES), "validation")
            yield Lesson(np.arange(20))
            yield Exam(np.array(AUDITORS), "holdout")
            return "all rows"

    classifier = fitted(Oracle(skill=skill), AuditOnly())

    assert classifier.n_rows_trained_ == 10


def test_a_first_model_that_was_only_audited_is_better_than_none():
    classifier = fitted(Oracle(), Panel(range(10), holdout=AUDITORS))

    assert classifier.n_rows_trained_ == 10
    assert classifier.score_estimate_ is not None


def test_a_model_is_safe_once_it_was_judged_whatever_its_audit_takes():
    clock, exams = FakeClock(), []

    def predicting(rows):
        exams.append(rows)
        clock.advance(1000 if len(exams) == 4 else 1)

    classifier = fitted(
        Oracle(predicting=predicting), Panel(range(10), range(20), validation=JUDGES, holdout=AUDITORS), clock=clock
    )

    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 20
    assert classifier.score_estimate_ is None
    assert classifier.history_[-1].best


# Those who look on


class SlowToChoose:
    """A teacher that lets the deadline pass while it chooses rows after its exams."""

    def __init__(self, clock, returns, *purposes):
        self.clock = clock
        self.returns = returns
        self.purposes = purposes

    def teach(self, deck):
        yield Lesson(np.arange(10))
        for number, purpose in enumerate(self.purposes):
            yield Exam(np.arange(100, 200) + 100 * number, purpose)
        self.clock.advance(1000)
        yield Lesson(np.arange(20))
        return "all rows"


@pytest.mark.parametrize(
    ("returns", "purposes"), [("last", ["mistakes"]), ("best", ["validation", "holdout"])], ids=["last", "best"]
)
def test_the_score_of_a_saved_model_is_not_lost_when_the_deadline_comes_while_the_teacher_chooses(returns, purposes):
    clock = FakeClock()

    classifier = fitted(Oracle(), SlowToChoose(clock, returns, *purposes), clock=clock)

    assert classifier.stop_reason_ == "time"
    assert classifier.score_estimate_ is not None
    assert classifier.history_[-1].estimate is not None


def test_an_error_without_a_model_says_what_the_learner_was_doing():
    clock = FakeClock()

    class Hesitant:
        returns = "best"

        def teach(self, deck):
            yield Lesson(np.arange(50), give_up_over=1.0)
            clock.advance(1000)
            return "all rows"

    expected = r"after 1000\.00 s the learner was still training on 50 rows. Try a limit of 2000 s or more."
    with pytest.raises(NoModelInTime, match=expected):
        fitted(Oracle(), Hesitant(), clock=clock, backend=Runners(GivingUp))
    # The same lesson without a limit leaves a model.
    assert fitted(Oracle(), Hesitant()).n_rows_trained_ == 50


class Diary:
    """A listener that writes everything down."""

    def __init__(self):
        self.entries = []

    def on_activity(self, activity, rows, candidate=None):
        self.entries.append((activity, rows))

    def on_round(self, finished):
        self.entries.append(("round over", finished.number))


def test_listeners_are_told_what_goes_on():
    X, y = a_pool(1000)
    pool, diaries = TablePool(X, Labels.encode(y)), (Diary(), Diary())
    backend = Inline(clock=FakeClock())
    budget = Budget(100, clock=backend.clock)

    with backend.open(budget) as runner:
        runner.prepare(Oracle(skill=lambda rows: 0.9 if rows == 10 else 0.2), pool, FitSettings())
        teacher = Scripted((range(10), EXAM, range(600, 650)), (range(20), EXAM))
        deck = Deck(1000, np.random.default_rng(0))
        result = Session(
            teacher, runner, deck, budget, CostEstimates(budget), ModelSelector(teacher.returns), listeners=diaries
        ).run()

    assert result.record.n_rows == 10
    for diary in diaries:
        activities = [(re.sub(r"^(train|predict|sav)\w*.*", r"\1", what), rows) for what, rows in diary.entries]
        assert activities == [
            ("train", 10),
            ("sav", 10),
            ("predict", 100),
            ("predict", 50),
            ("round over", 1),
            ("train", 20),
            ("predict", 100),
            ("round over", 2),
        ]


def test_a_round_is_over_for_listeners_before_the_user_is_asked():
    X, y = a_pool(100)
    diary = Diary()
    backend = Inline(clock=FakeClock())
    budget = Budget(100, clock=backend.clock)

    with backend.open(budget) as runner:
        runner.prepare(Oracle(), TablePool(X, Labels.encode(y)), FitSettings())
        Session(
            Full(),
            runner,
            Deck(100, np.random.default_rng(0)),
            budget,
            CostEstimates(budget),
            ModelSelector("best"),
            listeners=(diary,),
            on_round=lambda finished: diary.entries.append("user"),
        ).run()

    assert diary.entries[-2:] == [("round over", 1), "user"]


# Teachers of the user's own


@pytest.mark.parametrize(
    ("rounds", "error"),
    [
        ([(range(10), range(990, 1010))], IndexError),
        ([([],)], ValueError),
        ([([0.5, 1.5],)], ValueError),
    ],
    ids=["rows outside the pool", "no rows", "no row numbers"],
)
def test_a_teacher_that_asks_for_something_senseless_is_an_error(rounds, error):
    with pytest.raises(error, match=r"Lesson|Exam"):
        fitted(Oracle(), Scripted(*rounds))


def test_a_row_may_be_taught_twice_in_one_lesson():
    classifier = fitted(Oracle(), Scripted(([0, 1, 1, 1], EXAM)))

    assert classifier.n_rows_trained_ == 4


def test_an_error_of_the_teacher_comes_out_as_itself():
    with pytest.raises(ValueError, match="alpha"):
        fitted(Oracle(), TCT(alpha=3))


def test_warnings_of_the_winner_are_repeated_and_those_of_others_are_not():
    def complain(rows):
        warnings.warn(f"{rows} rows", UserWarning, stacklevel=2)

    with pytest.warns(UserWarning, match="rows") as caught:
        fitted(Oracle(complain, skill=lambda rows: rows / 40), Scripted((range(10), EXAM), (range(20), EXAM)))

    assert [str(warning.message) for warning in caught] == ["20 rows"]


# Plans and lost time


class Planning(Scripted):
    """Expects a score of its lessons."""

    def teach(self, deck):
        for lesson, *exams in self.rounds:
            yield Lesson(np.array(lesson), expected_score=0.75)
            for exam in exams:
                yield Exam(np.array(exam))
        return "all rows"


def test_the_score_that_a_teacher_expects_is_in_the_history():
    classifier = fitted(Oracle(), Planning((range(10), range(500, 510))))

    assert [finished.predicted_estimate for finished in classifier.history_] == [0.75]


def test_finished_rounds_lose_no_time():
    clock = FakeClock()
    learner = Oracle(fitting=lambda rows: clock.advance(5), skill=lambda rows: 1 - rows / 25)
    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds), clock=clock)

    assert [finished.best for finished in classifier.history_] == [True, False]
    assert classifier.lost_seconds_ == 0


@pytest.mark.parametrize("slow", ["fitting", "predicting"])
def test_the_seconds_of_a_round_that_the_deadline_ended_are_lost(slow):
    clock = FakeClock()
    learner = Oracle()
    setattr(learner, slow, lambda rows: clock.advance(1 if rows < 20 else 1000))
    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds), clock=clock)

    assert classifier.stop_reason_ == "time"
    assert classifier.lost_seconds_ == 1000


def test_a_last_model_whose_exam_the_deadline_ended_is_not_lost():
    clock = FakeClock()
    learner = Oracle(predicting=lambda rows: clock.advance(1000))

    classifier = fitted(learner, Scripted((range(10), range(500, 510)), returns="last"), clock=clock)

    assert classifier.n_rows_trained_ == 10
    assert classifier.lost_seconds_ == 0


def test_a_model_that_the_teacher_did_not_want_to_examine_is_not_lost():
    """A teacher may fit a model to measure the time."""
    clock = FakeClock()
    learner = Oracle(fitting=lambda rows: clock.advance(7))
    rounds = [(range(10), range(500, 510)), (range(20),), (range(30), range(510, 530))]

    classifier = fitted(learner, Scripted(*rounds), clock=clock)

    assert [finished.estimate is None for finished in classifier.history_] == [False, True, False]
    assert classifier.lost_seconds_ == 0


def test_a_last_model_that_was_never_examined_is_lost():
    clock = FakeClock()
    learner = Oracle(fitting=lambda rows: clock.advance(7))

    classifier = fitted(learner, Scripted((range(10), range(500, 510)), (range(20),)), clock=clock)

    assert [finished.estimate is None for finished in classifier.history_] == [False, True]
    assert classifier.lost_seconds_ == 7


def test_an_interrupt_loses_the_round_under_way():
    clock = FakeClock()

    def interrupt(rows):
        clock.advance(3)
        if rows > 10:
            raise KeyboardInterrupt

    rounds = [(range(10), range(500, 510)), (range(20), range(510, 530))]

    classifier = fitted(Oracle(fitting=interrupt), Scripted(*rounds), clock=clock)

    assert classifier.lost_seconds_ == 3
