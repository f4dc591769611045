"""Rivals of the comparison: teachers, a fit on all rows, and two alternatives that a user has."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from _accuracy_learners import LEARNERS
from _fault_booster import make_time_callback
from fitwithin import NoModelInTime, TimeConstrainedClassifier, teachers
from fitwithin.teachers import Answers, Deck, Lesson, Requests, TBatch, Teacher
from fitwithin_paper.study.plan import RunSpec, can_teach
from fitwithin_paper.study.study_run import TrainTestRows, describe_error

# Seconds that stand for no limit: ten days.
_NO_LIMIT_SECONDS = 10 * 24 * 3600.0

# Rows of the fit that starts the helper process before the measurement.
_WARM_UP_ROWS = 50


class _AutoWithoutEarlyStopping(teachers.Auto):
    """Auto that never uses early stopping."""

    def teach(self, deck: Deck) -> Requests:
        deck.costs.can_stop_early = False
        requests = super().teach(deck)
        answers: Answers | None = None
        while True:
            try:
                request = requests.send(answers)
            except StopIteration as end:
                return end.value
            answers = yield Lesson(request.rows) if isinstance(request, Lesson) else request


class _AutoReturningLast(teachers.Auto):
    """Auto that returns its last model instead of its best."""

    returns = "last"


VARIANTS: Mapping[str, Callable[[], Teacher]] = {
    "auto": teachers.Auto,
    "auto-random": lambda: teachers.Auto(oversampling=False),
    "auto-oversampled": lambda: teachers.Auto(oversampling=True),
    "auto-black-box": _AutoWithoutEarlyStopping,
    "auto-last": _AutoReturningLast,
}
"""Auto and its ablations: oversampling never or always, no early stopping, no choice among the models."""


@dataclass(frozen=True, eq=False)
class RivalTask:
    """Input of a rival.

    Parameters
    ----------
    learner : str
        A key of `LEARNERS`.
    rows : TrainTestRows
        Training and test rows.
    limit : float
        Time limit in seconds; a fit on all rows ignores it.
    seed : int
        Seed of the rival and the learner.
    full_rows : int or None, default=None
        Rows of the fit that measures T, where a fit on all of them would take too long.
    """

    learner: str
    rows: TrainTestRows
    limit: float
    seed: int
    full_rows: int | None = None

    @property
    def train(self) -> tuple[Any, Any]:
        """Features and labels of the training rows."""
        return self.rows.X[: self.rows.n_train], self.rows.y[: self.rows.n_train]

    @property
    def test(self) -> tuple[Any, Any]:
        """Features and labels of the test rows."""
        return self.rows.X[self.rows.n_train :], self.rows.y[self.rows.n_train :]


@dataclass(frozen=True)
class Outcome:
    """Result of a rival.

    Parameters
    ----------
    seconds : float
        Real time of the whole call.
    accuracy : float or None
        Accuracy of the returned model on the test rows; None without a model.
    fit_seconds : float or None
        Time of all finished fits.
    rows, rounds : int or None
        Training rows of the model; number of finished fits.
    stop : str or None
        Stop reason.
    overhead : float or None
        Seconds that were neither fit nor exam, nor lost.
    in_vain : float or None
        Seconds after the last finished round if the time ran out: mostly a fit that was cut off.
    lost : float or None
        Seconds in fits that left no model; those after the last finished round if the model does not tell.
    error : str or None
        Reason why there is no model.
    memory : int or None
        Peak memory in bytes beyond that before the fit.
    used_bytes : int or None
        Bytes of the rows that were trained on or predicted.
    settings : int or None
        Number of settings that a search tried.
    params : str or None
        Settings that a search chose.
    """

    seconds: float
    accuracy: float | None = None
    fit_seconds: float | None = None
    rows: int | None = None
    rounds: int | None = None
    stop: str | None = None
    overhead: float | None = None
    in_vain: float | None = None
    lost: float | None = None
    error: str | None = None
    memory: int | None = None
    used_bytes: int | None = None
    settings: int | None = None
    params: str | None = None


class Rival(Protocol):
    """A way to get a model by a deadline."""

    def applies(self, learner: str) -> bool:
        """Return whether the rival supports a learner."""
        ...

    def run(self, task: RivalTask) -> Outcome:
        """Fit, measure the time, and score the model on the test rows."""
        ...


@dataclass(frozen=True)
class TeacherRival:
    """A teacher of this package, with a running helper process.

    Parameters
    ----------
    teacher : callable
        Returns a new teacher.
    needs_proba : bool, default=False
        Whether it needs a learner with probabilities.
    """

    teacher: Callable[[], Teacher]
    needs_proba: bool = False

    def applies(self, learner: str) -> bool:
        return not self.needs_proba or can_teach("tct_al", learner)

    def run(self, task: RivalTask) -> Outcome:
        return _fit_with_teacher(LEARNERS[task.learner](), self.teacher(), task, task.limit)


class FullRival:
    """A fit without a time limit on all rows, or on random ones where all of them would take too long."""

    def applies(self, learner: str) -> bool:
        return True

    def run(self, task: RivalTask) -> Outcome:
        teacher = teachers.Full() if task.full_rows is None else TBatch(task.full_rows)
        return _fit_with_teacher(LEARNERS[task.learner](), teacher, task, _NO_LIMIT_SECONDS)


class SGDRival:
    """The paper's SGD; a substitute with `partial_fit` replaces a learner that has none."""

    def applies(self, learner: str) -> bool:
        return can_teach("sgd", learner)

    def run(self, task: RivalTask) -> Outcome:
        learner, teacher = RunSpec("", task.learner, "sgd", task.seed).build()
        return _fit_with_teacher(learner, teacher, task, task.limit)


class LightGBMCallbackRival:
    """LightGBM on all rows, stopped by a short callback, as a user would write it."""

    def applies(self, learner: str) -> bool:
        return learner == "lightgbm"

    def run(self, task: RivalTask) -> Outcome:
        learner = LEARNERS[task.learner]().set_params(random_state=task.seed)
        start = time.perf_counter()
        learner.fit(*task.train, callbacks=[make_time_callback(start + task.limit)])
        seconds = time.perf_counter() - start
        stop = "time" if learner.booster_.current_iteration() < learner.n_estimators else "all trees"
        with warnings.catch_warnings():
            # Older versions of LightGBM invent feature names and then warn that they are missing.
            warnings.simplefilter("ignore")
            accuracy = float(learner.score(*task.test))
        return Outcome(seconds, accuracy, seconds, task.rows.n_train, rounds=1, stop=stop)


def make_local_rivals() -> dict[str, Rival]:
    """Return all rivals that run in this interpreter."""
    return {
        "full": FullRival(),
        **{name: TeacherRival(variant) for name, variant in VARIANTS.items()},
        "tct": TeacherRival(lambda: teachers.TCT(alpha=0.2)),
        "double": TeacherRival(teachers.Double),
        "tct_al": TeacherRival(teachers.TCTActive, needs_proba=True),
        "sgd": SGDRival(),
        "lightgbm-callback": LightGBMCallbackRival(),
    }


def _fit_with_teacher(learner: Any, teacher: Teacher, task: RivalTask, limit: float) -> Outcome:
    X, y = task.train
    with warnings.catch_warnings():
        # Warnings of learners, such as too few iterations, are irrelevant here.
        warnings.simplefilter("ignore")
        _make_classifier(learner, TBatch(_WARM_UP_ROWS), task.seed, _NO_LIMIT_SECONDS).fit(X, y)
        model = _make_classifier(learner, teacher, task.seed, limit)
        start = time.perf_counter()
        try:
            model.fit(X, y)
        except NoModelInTime as error:
            return Outcome(time.perf_counter() - start, error=describe_error(error))
        seconds = time.perf_counter() - start
        return _make_outcome(model, seconds, float(model.score(*task.test)))


def _make_classifier(learner: Any, teacher: Teacher, seed: int, limit: float) -> TimeConstrainedClassifier:
    return TimeConstrainedClassifier(learner, time_limit=limit, teacher=teacher, progress=False, random_state=seed)


def _make_outcome(model: TimeConstrainedClassifier, seconds: float, accuracy: float) -> Outcome:
    history = model.history_
    fits, exams = sum(one.seconds_fit for one in history), sum(one.seconds_exam for one in history)
    after = seconds - history[-1].elapsed
    # A fit that the deadline cut off after the last finished round is the learner's time, not overhead.
    in_vain = after if model.stop_reason_ == "time" else 0.0
    lost = getattr(model, "lost_seconds_", None)
    lost = in_vain if lost is None else lost
    return Outcome(
        seconds,
        accuracy,
        fit_seconds=fits,
        rows=model.n_rows_trained_,
        rounds=len(history),
        stop=model.stop_reason_,
        overhead=max(0.0, seconds - fits - exams - lost),
        in_vain=in_vain,
        lost=lost,
    )
