"""Who is compared: teachers, training on all rows, and two things that a user would do instead."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sklearn.ensemble import HistGradientBoostingClassifier

from fitwithin import TimeConstrainedClassifier, teachers
from fitwithin._presets import preset
from fitwithin._research.study.plan import Job, can_teach
from fitwithin._research.study.running import Rows
from fitwithin.teachers import Answers, Deck, Lesson, Requests, TBatch, Teacher

# No limit at all, for the clock.
_NO_LIMIT = 10 * 24 * 3600.0
_WARM_UP_ROWS = 50


class _NeverAsksToStop(teachers.Auto):
    """Takes every learner for a black box."""

    def teach(self, deck: Deck) -> Requests:
        deck.outlook.can_stop_early = False
        requests = super().teach(deck)
        answers: Answers | None = None
        while True:
            try:
                request = requests.send(answers)
            except StopIteration as end:
                return end.value
            answers = yield Lesson(request.rows) if isinstance(request, Lesson) else request


class _ReturnsItsLast(teachers.Auto):
    """Lets nobody choose."""

    returns = "last"


VARIANTS: Mapping[str, Callable[[], Teacher]] = {
    "auto": teachers.Auto,
    "auto-random": lambda: teachers.Auto(emphasis=False),
    "auto-emphasis": lambda: teachers.Auto(emphasis=True),
    "auto-black-box": _NeverAsksToStop,
    "auto-last": _ReturnsItsLast,
}
"""The teacher that is on trial, and under other names the same with a piece left out: no emphasis, emphasis without a
trial, nobody asked to stop, no choice among the models."""


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, verbosity=0)


_PRESETS = ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression")
LEARNERS: Mapping[str, Callable[[], Any]] = {
    **{name: lambda name=name: preset(name) for name in _PRESETS},
    "xgboost": _xgboost,
    "hist-gradient-boosting": HistGradientBoostingClassifier,
}
"""The paper's five and two more. The last one takes its threads from OMP_NUM_THREADS."""


@dataclass(frozen=True, eq=False)
class RivalTask:
    """What a rival is given.

    Parameters
    ----------
    learner : str
        A key of `LEARNERS`.
    rows : Rows
        To learn from, and to be judged by afterwards.
    limit : float
        Seconds; a training on all rows does not look at it.
    seed : int
        Of its choices and of the learner.
    """

    learner: str
    rows: Rows
    limit: float
    seed: int

    @property
    def train(self) -> tuple[Any, Any]:
        """The rows to learn from."""
        return self.rows.X[: self.rows.train], self.rows.y[: self.rows.train]

    @property
    def test(self) -> tuple[Any, Any]:
        """The rows to be judged by."""
        return self.rows.X[self.rows.train :], self.rows.y[self.rows.train :]


@dataclass(frozen=True)
class Outcome:
    """What a rival came to.

    Parameters
    ----------
    seconds : float
        Real time of the whole call.
    accuracy : float or None
        Of the returned model, on the test set; None without a model.
    fit_seconds : float or None
        Of all finished trainings.
    rows, rounds : int or None
        Rows behind the model; trainings that were finished.
    stop : str or None
        Why it ended.
    overhead : float or None
        Seconds that were neither training nor exam.
    in_vain : float or None
        Seconds after the last finished round, where the time was up: of a training that was cut off, mostly.
    error : str or None
        Why there is no model.
    """

    seconds: float
    accuracy: float | None = None
    fit_seconds: float | None = None
    rows: int | None = None
    rounds: int | None = None
    stop: str | None = None
    overhead: float | None = None
    in_vain: float | None = None
    error: str | None = None


class Rival(Protocol):
    """A way to a model by a deadline."""

    def applies(self, learner: str) -> bool:
        """Whether it can do anything with a learner."""
        ...

    def run(self, task: RivalTask) -> Outcome:
        """Train, look at the clock, then at the test set."""
        ...


@dataclass(frozen=True)
class TeacherRival:
    """A teacher of ours, its helper warm.

    Parameters
    ----------
    teacher : callable
        Makes the teacher.
    needs_proba : bool, default=False
        Whether it needs a learner that says how sure it is.
    limited : bool, default=True
        Whether the limit holds.
    """

    teacher: Callable[[], Teacher]
    needs_proba: bool = False
    limited: bool = True

    def applies(self, learner: str) -> bool:
        return not self.needs_proba or can_teach("tct_al", learner)

    def run(self, task: RivalTask) -> Outcome:
        return _teach(LEARNERS[task.learner](), self.teacher(), task, task.limit if self.limited else _NO_LIMIT)


class SGDRival:
    """The paper's SGD, with the learner that stands in for one that has no `partial_fit`."""

    def applies(self, learner: str) -> bool:
        return can_teach("sgd", learner)

    def run(self, task: RivalTask) -> Outcome:
        learner, teacher = Job("", task.learner, "sgd", task.seed).cast()
        return _teach(learner, teacher, task, task.limit)


class LightGBMCallbackRival:
    """LightGBM on all rows, stopped by a callback of a few lines, as a user would write it."""

    def applies(self, learner: str) -> bool:
        return learner == "lightgbm"

    def run(self, task: RivalTask) -> Outcome:
        learner = LEARNERS[task.learner]().set_params(random_state=task.seed)
        start = time.perf_counter()
        learner.fit(*task.train, callbacks=[_stop_at(start + task.limit)])
        seconds = time.perf_counter() - start
        stop = "time" if learner.booster_.current_iteration() < learner.n_estimators else "all trees"
        with warnings.catch_warnings():
            # Older versions of LightGBM make up feature names and then miss them.
            warnings.simplefilter("ignore")
            accuracy = float(learner.score(*task.test))
        return Outcome(seconds, accuracy, seconds, task.rows.train, rounds=1, stop=stop)


def _stop_at(deadline: float) -> Callable[[Any], None]:
    from lightgbm.callback import EarlyStopException

    def stop(env: Any) -> None:
        if time.perf_counter() >= deadline:
            raise EarlyStopException(env.iteration, [])

    return stop


def make_local_rivals() -> dict[str, Rival]:
    """Everyone who runs in this interpreter."""
    return {
        "full": TeacherRival(teachers.Full, limited=False),
        **{name: TeacherRival(variant) for name, variant in VARIANTS.items()},
        "tct": TeacherRival(lambda: teachers.TCT(alpha=0.2)),
        "double": TeacherRival(teachers.Double),
        "tct_al": TeacherRival(teachers.TCTActive, needs_proba=True),
        "sgd": SGDRival(),
        "lightgbm-callback": LightGBMCallbackRival(),
    }


def _teach(learner: Any, teacher: Teacher, task: RivalTask, limit: float) -> Outcome:
    X, y = task.train
    with warnings.catch_warnings():
        # What learners warn of, such as too few iterations, is no matter of the benchmark.
        warnings.simplefilter("ignore")
        _classifier(learner, TBatch(_WARM_UP_ROWS), task.seed, _NO_LIMIT).fit(X, y)
        model = _classifier(learner, teacher, task.seed, limit)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        return _outcome(model, seconds, float(model.score(*task.test)))


def _classifier(learner: Any, teacher: Teacher, seed: int, limit: float) -> TimeConstrainedClassifier:
    return TimeConstrainedClassifier(learner, time_limit=limit, teacher=teacher, progress=False, random_state=seed)


def _outcome(model: TimeConstrainedClassifier, seconds: float, accuracy: float) -> Outcome:
    history = model.history_
    fits, exams = sum(one.seconds_fit for one in history), sum(one.seconds_exam for one in history)
    after = seconds - history[-1].elapsed
    # After the last finished round there may be a lesson that the deadline cut off: the learner's time, not ours.
    in_vain = after if model.stop_reason_ == "time" else 0.0
    return Outcome(
        seconds,
        accuracy,
        fit_seconds=fits,
        rows=model.n_rows_taught_,
        rounds=len(history),
        stop=model.stop_reason_,
        overhead=max(0.0, seconds - fits - exams - in_vain),
        in_vain=in_vain,
    )
