"""Several loops of one session, in threads of this process and in processes of their own."""

import itertools
import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from fitwithin import LearnerFailed, LearnerFailedWarning, TimeConstrainedClassifier
from fitwithin.backends import Inline, Process
from fitwithin.backends._inline import InlineRunner
from fitwithin.teachers import Double, Exam, Lesson, Wait
from fitwithin.testing import AwkwardClassifier


class Threads(Inline):
    """Runs each learner in the thread that calls it."""

    def open(self, budget):
        return ThreadRunner(budget)


class ThreadRunner(InlineRunner):
    def open_sibling(self):
        sibling = ThreadRunner(self._budget)
        sibling._prepared_learner = self._prepared_learner
        return sibling


class Scripted:
    """Makes the requests that it was told, one list for each loop."""

    returns = "best"
    max_learners = None

    def __init__(self, *loops, reason="all rows"):
        self.loops = loops
        self.reason = reason
        self.n_learners = None

    def teach(self, deck):
        return self._teach(self.loops[0])

    def teach_parallel(self, deck, n_learners):
        self.n_learners = n_learners
        return [self._teach(requests) for requests in self.loops[:n_learners]]

    def _teach(self, requests):
        for request in requests:
            request = request() if callable(request) else request
            if request is not None:
                yield request
        return self.reason


def lesson(size):
    return Lesson(np.arange(size))


EXAM = Exam(np.arange(900, 1000), purpose="validation")


def make_rows(n_rows=1000):
    X = np.random.default_rng(0).random((n_rows, 3))
    return X, (X[:, 0] > 0.5).astype(int)


def fit(teacher, learner=None, *, backend=None, n_jobs=2, time_limit=60, n_rows=1000, **settings):
    return TimeConstrainedClassifier(
        learner or GaussianNB(),
        teacher=teacher,
        time_limit=time_limit,
        backend=backend or Threads(),
        n_jobs=n_jobs,
        progress=False,
        **settings,
    ).fit(*make_rows(n_rows))


class Meeting(GaussianNB):
    """Ends its fit when another one has begun; the barrier is not copied with it."""

    barrier = threading.Barrier(2)

    def fit(self, X, y):
        self.barrier.wait(30)
        return super().fit(X, y)


# The rounds of all loops


def test_loops_work_at_the_same_time_and_their_rounds_are_one_history():
    loops = [lesson(100), EXAM, lesson(300), EXAM], [lesson(200), EXAM, lesson(400), EXAM]

    classifier = fit(Scripted(*loops, reason="time"), Meeting())

    rounds = classifier.history_
    assert sorted(finished.rows for finished in rounds) == [100, 200, 300, 400]
    assert sorted(finished.number for finished in rounds) == [1, 2, 3, 4]


def test_each_exam_is_answered_by_the_model_of_its_own_lane():
    class Constant(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_, self.answer_ = np.unique(y), int(len(X) > 150)
            return self

        def predict(self, X):
            return np.full(len(X), self.answer_)

    answers = {}

    class Asking(Scripted):
        def _teach(self, requests):
            (first,) = requests
            for _ in range(5):
                yield first
                answers.setdefault(len(first.rows), []).append((yield Exam(np.arange(500, 600))).wrong)
            return "all rows"

    fit(Asking([lesson(100)], [lesson(200)]), Constant())

    _, y = make_rows()
    for size, expected in ((100, y[500:600] != 0), (200, y[500:600] != 1)):
        for wrong in answers.get(size, []):
            np.testing.assert_array_equal(wrong, expected)
    assert len(answers[100]) == 5


def test_without_a_second_job_there_is_one_lane_and_no_thread():
    threads = []
    teacher = Scripted([lesson(100), EXAM], [lesson(200), EXAM])

    classifier = fit(teacher, n_jobs=1, on_round=lambda finished: threads.append(threading.current_thread()))

    assert teacher.n_learners is None
    assert [finished.rows for finished in classifier.history_] == [100]
    assert threads == [threading.main_thread()]


def test_a_teacher_without_lanes_runs_one_learner_with_all_cores():
    teacher = Double(first=200)

    classifier = fit(teacher, n_jobs=4, backend=Inline())

    assert classifier.stop_reason_ == "all rows"


def test_a_teacher_gets_no_more_lanes_than_it_has_work_for():
    teacher = Scripted([lesson(100), EXAM], [lesson(200), EXAM])
    teacher.max_learners = 2

    fit(teacher, n_jobs=5)

    assert teacher.n_learners == 2


def test_the_inline_backend_refuses_a_second_learner_with_advice():
    with pytest.raises(TypeError, match=r"n_jobs of more than 1 with backend='inline'.*Use backend='process'"):
        fit("auto", backend=Inline())


@pytest.mark.parametrize("n_jobs", [0, "all", 1.5])
def test_a_bad_number_of_jobs_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be"):
        fit("auto", n_jobs=n_jobs)


# The best model


class Slow(GaussianNB):
    """Takes its time for fits of some sizes."""

    def __init__(self, seconds=None):
        super().__init__()
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds.get(len(X), 0.0))
        return super().fit(X, y)


@pytest.mark.parametrize("slow", [100, 700])
def test_the_best_model_does_not_depend_on_who_is_first(slow):
    # In the first loop few rows, in the second many, which win.
    teacher = Scripted([lesson(100), EXAM, Wait(), Wait()], [lesson(700), EXAM], reason="time")

    classifier = fit(teacher, Slow({slow: 0.3}))

    assert classifier.n_rows_trained_ == 700
    assert len(classifier.history_) == 2


class FirstThenReplaced(GaussianNB):
    """Two fits side by side; the model of `first` rows is saved first, and examined when the other one is the best."""

    first = fails = barrier = examining = replaced = None

    def fit(self, X, y):
        self.barrier.wait(30)
        assert len(X) == self.first or self.examining.wait(30)
        return super().fit(X, y)

    def predict(self, X):
        if self.class_count_.sum() == self.first and not self.replaced.is_set():
            self.examining.set()
            assert self.replaced.wait(30)
            if self.fails:
                raise RuntimeError("no predictions today")
        return super().predict(X)


def fit_first_then_replaced(first, fails=False):
    learner = type("Learner", (FirstThenReplaced,), {"first": first, "fails": fails, "barrier": threading.Barrier(2)})
    learner.examining, learner.replaced = threading.Event(), threading.Event()
    other = 800 - first

    def on_round(finished):
        if finished.rows == other:
            learner.replaced.set()

    teacher = Scripted([lesson(first), EXAM], [lesson(other), EXAM], reason="time")
    return fit(teacher, learner(), on_round=on_round)


@pytest.mark.parametrize("first", [100, 700])
def test_a_first_model_that_was_replaced_before_its_exam_is_compared_after_it(first):
    classifier = fit_first_then_replaced(first)

    assert classifier.n_rows_trained_ == 700
    replacing, compared = classifier.history_
    assert (compared.rows, compared.best) == (first, first == 700)
    assert replacing.best
    assert classifier.lost_seconds_ == 0


@pytest.mark.filterwarnings("ignore::fitwithin.LearnerFailedWarning")
@pytest.mark.parametrize("first", [100, 700])
def test_a_first_model_that_was_replaced_and_cannot_predict_leaves_the_one_that_replaced_it(first, caplog):
    classifier = fit_first_then_replaced(first, fails=True)

    # Learners that record their warnings in threads of one process may swallow that of the session, but not its log.
    assert classifier.stop_reason_ == "learner failed"
    assert "no predictions today" in caplog.text
    assert classifier.n_rows_trained_ == 800 - first
    assert [finished.rows for finished in classifier.history_] == [800 - first]


def test_a_model_that_was_overtaken_while_it_was_saved_does_not_win():
    saving, overtaken = threading.Event(), threading.Event()

    class Overtaken(Threads):
        def open(self, budget):
            return SlowRunner(budget)

    class SlowRunner(ThreadRunner):
        def open_sibling(self):
            sibling = SlowRunner(self._budget)
            sibling._prepared_learner = self._prepared_learner
            return sibling

        def save(self):
            saved = super().save()
            if self._newest.model.class_count_.sum() == 100:
                saving.set()
                assert overtaken.wait(30)
            return saved

    class Second(GaussianNB):
        def fit(self, X, y):
            assert len(X) == 100 or saving.wait(30)
            return super().fit(X, y)

    def on_round(finished):
        if finished.rows == 700:
            overtaken.set()

    teacher = Scripted([lesson(100), EXAM], [lesson(700), EXAM], reason="time")

    classifier = fit(teacher, Second(), backend=Overtaken(), on_round=on_round)

    assert classifier.n_rows_trained_ == 700
    assert {finished.rows: finished.best for finished in classifier.history_} == {700: True, 100: False}


# Waiting


@pytest.mark.parametrize("_", range(20))
def test_loops_begin_in_their_order(_):
    order = []
    loops = [[partial(order.append, number), lesson(100 + number), EXAM] for number in range(3)]

    fit(Scripted(*loops, reason="time"), n_jobs=3)

    assert order == [0, 1, 2]


def test_a_lane_waits_until_another_one_has_done_something():
    order = []

    def note(word):
        return lambda: order.append(word)

    teacher = Scripted(
        [lesson(100), note("first fit"), EXAM, note("first exam")],
        [Wait(), note("second"), lesson(200), EXAM],
        reason="time",
    )

    fit(teacher, Slow({100: 0.2}))

    assert order[0] == "first fit"
    assert set(order) == {"first fit", "first exam", "second"}


def test_a_first_lane_that_waits_for_no_one_goes_on():
    classifier = fit(Scripted([Wait(), lesson(100), EXAM, Wait(), Wait(), lesson(200), EXAM], []))

    assert [finished.rows for finished in classifier.history_] == [100, 200]


def test_a_lane_looks_again_before_the_first_one_goes_on_waiting():
    class Following(Scripted):
        """The first loop waits until the second one has ended, and that until the first one has said so."""

        def teach_parallel(self, deck, n_learners):
            self.is_ready = self.is_over = False
            return [self._lead(), self._follow()]

        def _lead(self):
            yield lesson(100)
            yield EXAM
            self.is_ready = True
            while not self.is_over:
                yield Wait()
            return "all rows"

        def _follow(self):
            while not self.is_ready:
                yield Wait()
            yield lesson(200)
            yield EXAM
            self.is_over = True
            return "time"

    classifier = fit(Following(), time_limit=10)

    assert sorted(finished.rows for finished in classifier.history_) == [100, 200]


def test_another_lane_that_waits_for_no_one_ends():
    def endless():
        while True:
            yield Wait()

    class Waiting(Scripted):
        def teach_parallel(self, deck, n_learners):
            return [self.teach(deck), endless()]

    start = time.monotonic()
    classifier = fit(Waiting([lesson(100), EXAM], reason="time"))

    assert classifier.stop_reason_ == "time"
    assert time.monotonic() - start < 10


# The end


def test_the_session_ends_with_its_first_lane():
    learner = AwkwardClassifier("hangs in Python", above=200)

    start = time.monotonic()
    classifier = fit(Scripted([lesson(100), EXAM], [lesson(300), EXAM]), learner, backend=Process())

    assert classifier.stop_reason_ == "time"
    assert [finished.rows for finished in classifier.history_] == [100]
    assert time.monotonic() - start < 30


def test_a_first_lane_without_time_leaves_the_others_theirs():
    teacher = Scripted([lesson(100), EXAM], [lesson(500), EXAM], reason="time")

    classifier = fit(teacher, Slow({500: 0.5}))

    assert classifier.n_rows_trained_ == 500
    assert classifier.stop_reason_ == "time"


def test_the_user_can_say_stop_after_a_round_of_any_lane():
    teacher = Scripted([lesson(100), EXAM, lesson(110)], [lesson(200), EXAM, lesson(210)], reason="time")

    classifier = fit(teacher, Slow({110: 1.0}), on_round=lambda finished: finished.rows == 200)

    assert classifier.stop_reason_ == "on_round"


@pytest.mark.parametrize("loop", [0, 1])
def test_an_error_of_a_teacher_in_any_lane_comes_out(loop):
    loops = [[lesson(100), EXAM, Wait(), Wait(), Wait()], [lesson(200), EXAM, Wait()]]
    loops[loop].insert(2, "nonsense")

    with pytest.raises(TypeError, match="nonsense"):
        fit(Scripted(*loops, reason="time"))


@pytest.mark.parametrize("loop", [0, 1])
def test_a_learner_that_is_killed_in_any_lane_leaves_the_best_model(loop, nothing_left_behind):
    calm, deadly = [lesson(100), EXAM, *[Wait()] * 5], [lesson(90), EXAM, lesson(800), EXAM]
    loops = (deadly, calm) if loop == 0 else (calm, deadly)
    learner = AwkwardClassifier("is killed", above=500)

    with pytest.warns(LearnerFailedWarning, match="training on 800 rows"):
        classifier = fit(Scripted(*loops, reason="time"), learner, backend=Process())

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.n_rows_trained_ in (90, 100)


def test_a_learner_that_fails_beside_the_first_model_leaves_the_first_lane_alone():
    class Picky(GaussianNB):
        def fit(self, X, y):
            if len(X) > 500:
                raise ValueError("too many rows")
            time.sleep(0.2)
            return super().fit(X, y)

    classifier = fit(Scripted([lesson(100), EXAM], [lesson(800), EXAM]), Picky())

    assert classifier.stop_reason_ == "time"
    assert [finished.rows for finished in classifier.history_] == [100]


def test_a_learner_that_fails_in_every_lane_tells_why():
    class Broken(GaussianNB):
        def fit(self, X, y):
            raise ValueError("no rows are good enough")

    with pytest.raises(ValueError, match="no rows are good enough"):
        fit(Scripted([lesson(100), EXAM], [lesson(800), EXAM]), Broken())


def test_a_learner_that_is_killed_before_the_first_model_is_an_error():
    teacher = Scripted([lesson(800), EXAM], [lesson(900), EXAM])

    with pytest.raises(LearnerFailed, match="SIGKILL"):
        fit(teacher, AwkwardClassifier("is killed", above=500), backend=Process())


def interrupt_when(condition):
    def wait_and_interrupt():
        while not condition():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait_and_interrupt, daemon=True).start()


@pytest.mark.parametrize("trouble", ["hangs in Python", "ignores signals"])
def test_an_interrupt_stops_all_lanes_and_keeps_the_best_model(trouble, nothing_left_behind):
    done = []
    teacher = Scripted([lesson(100), EXAM, lesson(800)], [lesson(110), EXAM, lesson(900)])
    interrupt_when(lambda: len(done) == 2)

    classifier = fit(teacher, AwkwardClassifier(trouble, above=500), backend=Process(), on_round=done.append)

    assert classifier.stop_reason_ == "interrupted"
    assert classifier.n_rows_trained_ in (100, 110)
    assert classifier.time_used_ < 30


def test_an_interrupt_without_a_model_is_an_interrupt(nothing_left_behind):
    teacher = Scripted([lesson(800)], [lesson(900)])
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        fit(teacher, AwkwardClassifier("hangs in Python", above=500), backend=Process())


def test_loops_store_their_rounds_and_the_best_model_in_the_checkpoint(tmp_path):
    pytest.importorskip("skops")
    teacher = Scripted([lesson(100), EXAM, lesson(300), EXAM], [lesson(200), EXAM, lesson(700), EXAM], reason="time")

    first = fit(teacher, backend=Process(), checkpoint=tmp_path / "fit", random_state=0)
    again = fit(Scripted([], [], reason="time"), backend=Process(), checkpoint=tmp_path / "fit", random_state=0)

    assert again.n_rows_trained_ == first.n_rows_trained_
    assert len(again.history_) == len(first.history_) == 4


# Real processes and the clock


@pytest.mark.slow
def test_two_hanging_learners_are_stopped_at_the_deadline(nothing_left_behind):
    fit(Scripted([lesson(100), EXAM], []), backend=Process())  # A first fit waits for imports.
    late = []
    for trouble in ("hangs in Python", "hangs in threads", "ignores signals") * 2:
        teacher = Scripted([lesson(100), EXAM, lesson(800)], [lesson(110), EXAM, lesson(900)])
        start = time.monotonic()
        classifier = fit(teacher, AwkwardClassifier(trouble, above=500), backend=Process(), time_limit=2)
        late.append(time.monotonic() - start - 2)
        assert classifier.stop_reason_ == "time"

    assert max(late) < 0.25  # 0.1 s, and room for a busy machine.


class Counting(Scripted):
    """Fits as often as the time allows."""

    def __init__(self):
        super().__init__([], [])

    def _teach(self, requests):
        while True:
            yield lesson(500)
            yield EXAM


class Noting(Slow):
    """Notes when its fits begin and end."""

    def __init__(self, seconds=None, folder=None):
        super().__init__(seconds)
        self.folder = folder

    def fit(self, X, y):
        start = time.monotonic()
        super().fit(X, y)
        (self.folder / f"{os.getpid()}-{start}").write_text(f"{start} {time.monotonic()}")
        return self


def test_two_learners_are_at_work_at_the_same_time(tmp_path):
    learner = Noting({500: 0.1}, tmp_path)

    fit(Counting(), learner, backend=Process(), n_jobs=2, on_round=lambda finished: finished.number == 8)

    spans = {file.name: tuple(map(float, file.read_text().split())) for file in tmp_path.iterdir()}
    processes = {name.partition("-")[0] for name in spans}
    assert len(processes) == 2
    assert any(
        first[0] < second[1] and second[0] < first[1]
        for (name, first), (other, second) in itertools.combinations(spans.items(), 2)
        if name.partition("-")[0] != other.partition("-")[0]
    )
