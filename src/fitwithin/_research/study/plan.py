"""What a study runs: which learners, which teachers, which seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fitwithin import teachers
from fitwithin._presets import make_preset
from fitwithin.teachers import OSCT, SGD, TCT, Teacher

LEARNERS = ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression")
"""The paper's five, by the names of their presets."""


ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)
"""Of the paper's table."""


# What stands in for a learner where mini-batches are taught, and the paper's best size of a batch for it.
_BY_BATCHES = {"linear-svm": ("sgd-hinge", 256), "logistic-regression": ("sgd-log", 512)}


_BATCHES = (64, 128, 256, 512)


TEACHERS: Mapping[str, Callable[[], Teacher]] = {
    "full": teachers.Full,
    "double": teachers.Double,
    "tct": lambda: TCT(alpha=0.2),
    **{f"tct-{alpha:g}": partial(TCT, alpha=alpha) for alpha in ALPHAS if alpha != 0.2},
    "osct": OSCT,
    "osct-half-percent": lambda: OSCT(guess="half-percent"),
    "osct-best": lambda: OSCT(returns="best"),
    "tct_al": teachers.TCTActive,
    "sgd": SGD,
    **{f"sgd-{batch}": partial(SGD, batch=batch) for batch in _BATCHES},
    "tct_base": lambda: teachers.TCTBase(first=0.005),
    "auto": teachers.Auto,
}
"""Every teacher that a study knows."""


PAPER_TEACHERS = tuple(name for name in TEACHERS if not name.startswith(("sgd-", "tct_base", "auto")))
"""Those of the paper's tables and figures."""


@dataclass(frozen=True, order=True)
class Job:
    """One run: a data set, a learner, a teacher, a seed."""

    dataset: str
    learner: str
    teacher: str
    seed: int

    def cast(self) -> tuple[Any, Teacher]:
        """The learner and the teacher themselves."""
        if not self.teacher.startswith("sgd"):
            return make_preset(self.learner), TEACHERS[self.teacher]()
        name, batch = _BY_BATCHES[self.learner]
        return make_preset(name), SGD(batch=batch) if self.teacher == "sgd" else TEACHERS[self.teacher]()


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    datasets, learners, teachers : tuple of str
        By name.
    seeds : tuple of int
        Of the runs under a time limit.
    full_runs : int, default=4
        Trainings on all rows that the time limit is the mean of.
    min_seconds : float, default=10.0
        Pairs whose time limit is below are dropped.
    seconds : float or None
        Where a full training takes longer, rows are left out until it takes about so long; 5,000 stay (times the
        scale), and pairs where those take far longer are dropped.
    scale : float, default=1.0
        The share of the rows of every data set that is used, and of `min_seconds` and `seconds`.
    test_rows : int or None
        Test rows at most.

    Examples
    --------
    >>> plan = Plan(("covtype",), ("linear-svm",), ("full", "tct", "tct_al", "sgd"), (0, 1))
    >>> [job.teacher for job in plan.jobs("covtype", "linear-svm")]
    ['tct', 'sgd', 'tct', 'sgd']
    """

    datasets: tuple[str, ...]
    learners: tuple[str, ...] = LEARNERS
    teachers: tuple[str, ...] = PAPER_TEACHERS
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    full_runs: int = 4
    min_seconds: float = 10.0
    seconds: float | None = None
    scale: float = 1.0
    test_rows: int | None = None

    def __post_init__(self) -> None:
        _check_names("learner", self.learners, LEARNERS)
        _check_names("teacher", self.teachers, TEACHERS)

    def full(self, dataset: str, learner: str) -> list[Job]:
        """The trainings on all rows of a pair."""
        return [Job(dataset, learner, "full", seed) for seed in range(self.full_runs)]

    def jobs(self, dataset: str, learner: str) -> list[Job]:
        """The runs under a time limit of a pair, seed by seed so that teachers alternate."""
        return [
            Job(dataset, learner, teacher, seed)
            for seed in self.seeds
            for teacher in self.teachers
            if teacher != "full" and can_teach(teacher, learner)
        ]

    @property
    def shortest(self) -> float:
        """Seconds below which a pair is dropped."""
        return self.min_seconds * self.scale

    def as_line(self) -> dict[str, Any]:
        """The plan as it is written down."""
        return asdict(self)


def can_teach(teacher: str, learner: str) -> bool:
    """Whether a teacher has anything to ask of a learner that it can't do."""
    if teacher.startswith("sgd"):
        return learner in _BY_BATCHES
    return teacher != "tct_al" or learner != "linear-svm"


def _check_names(kind: str, names: Sequence[str], known: Sequence[str] | Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(
            f"{'Unknown' if unknown else 'No'} {kind} {', '.join(map(repr, unknown))}; known are {', '.join(known)}."
        )
