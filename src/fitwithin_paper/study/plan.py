"""The plan of a study: learners, teachers, seeds, and the runs that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fitwithin.teachers import OSCT, SGD, TCT, Auto, Double, Full, TCTActive, TCTBase, Teacher
from fitwithin_paper.study.paper_learners import PAPER_LEARNERS, make_paper_learner

PAPER_ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)
"""Values of alpha in the paper's table on alpha."""


# The learner that replaces another for mini-batches, and the paper's best batch size in rows.
_MINI_BATCH_LEARNERS = {"linear-svm": ("sgd-hinge", 256), "logistic-regression": ("sgd-log", 512)}


_BATCH_SIZES = (64, 128, 256, 512)
"""Batch sizes that the paper tried, in rows."""


STUDY_TEACHERS: Mapping[str, Callable[[], Teacher]] = {
    "full": Full,
    "double": Double,
    "tct": TCT,
    **{f"tct-{alpha:g}": partial(TCT, alpha=alpha) for alpha in PAPER_ALPHAS if alpha != 0.2},
    "osct": OSCT,
    "osct-half-percent": lambda: OSCT(guess="half-percent"),
    "osct-best": lambda: OSCT(returns="best"),
    "tct_al": TCTActive,
    "sgd": SGD,
    **{f"sgd-{batch}": partial(SGD, batch=batch) for batch in _BATCH_SIZES},
    "tct_base": lambda: TCTBase(first=0.005),
    "auto": Auto,
}
"""Every teacher of a study: the package's own, and variants of them that the paper measures."""


PAPER_TEACHERS = tuple(name for name in STUDY_TEACHERS if not name.startswith(("sgd-", "tct_base", "auto")))
"""The teachers of the paper's tables and figures."""


@dataclass(frozen=True, order=True)
class RunSpec:
    """Specification of one run: a data set, a learner, a teacher and a seed."""

    dataset: str
    learner: str
    teacher: str
    seed: int

    def build(self) -> tuple[Any, Teacher]:
        """Return new instances of the learner and the teacher."""
        if not self.teacher.startswith("sgd"):
            return make_paper_learner(self.learner), STUDY_TEACHERS[self.teacher]()
        name, batch = _MINI_BATCH_LEARNERS[self.learner]
        return make_paper_learner(name), SGD(batch=batch) if self.teacher == "sgd" else STUDY_TEACHERS[self.teacher]()


@dataclass(frozen=True)
class StudyList:
    """The runs of a study.

    Parameters
    ----------
    datasets, learners, teachers : tuple of str
        Names.
    seeds : tuple of int
        Seeds of the runs under a time limit.
    full_runs : int, default=4
        Number of full trainings; their mean time is the time limit.
    min_seconds : float, default=10.0
        Shortest time limit; pairs of a data set and a learner below it are dropped.
    max_seconds : float or None
        Longest full training; pairs above it are dropped as soon as one takes longer.
    seconds : float or None
        Longest full training: rows are left out until it takes about this time. At least 5,000 rows (times `scale`)
        stay, and pairs for which those take far longer are dropped.
    scale : float, default=1.0
        Share of the rows of every data set, and factor for all seconds.
    test_rows : int or None
        Number of test rows at most.

    Examples
    --------
    >>> plan = StudyList(("covtype",), ("linear-svm",), ("full", "tct", "tct_al", "sgd"), (0, 1))
    >>> [spec.teacher for spec in plan.list_limited_runs("covtype", "linear-svm")]
    ['tct', 'sgd', 'tct', 'sgd']
    """

    datasets: tuple[str, ...]
    learners: tuple[str, ...] = PAPER_LEARNERS
    teachers: tuple[str, ...] = PAPER_TEACHERS
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    full_runs: int = 4
    min_seconds: float = 10.0
    seconds: float | None = None
    scale: float = 1.0
    test_rows: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        _check_names("learner", self.learners, PAPER_LEARNERS)
        _check_names("teacher", self.teachers, STUDY_TEACHERS)

    def list_full_runs(self, dataset: str, learner: str) -> list[RunSpec]:
        """Return the full trainings of a pair."""
        return [RunSpec(dataset, learner, "full", seed) for seed in range(self.full_runs)]

    def list_limited_runs(self, dataset: str, learner: str) -> list[RunSpec]:
        """Return the runs of a pair under a time limit, seed by seed so that teachers alternate."""
        return [
            RunSpec(dataset, learner, teacher, seed)
            for seed in self.seeds
            for teacher in self.teachers
            if teacher != "full" and can_teach(teacher, learner)
        ]

    @property
    def min_limit_seconds(self) -> float:
        """Shortest time limit at this scale; a pair below it is dropped."""
        return self.min_seconds * self.scale

    @property
    def max_limit_seconds(self) -> float | None:
        """Longest full training at this scale; None for any."""
        return None if self.max_seconds is None else self.max_seconds * self.scale

    def to_line(self) -> dict[str, Any]:
        """Return the plan as it is written to the result log."""
        return asdict(self)


def can_teach(teacher: str, learner: str) -> bool:
    """Whether the learner supports the methods that the teacher needs."""
    if teacher.startswith("sgd"):
        return learner in _MINI_BATCH_LEARNERS
    return teacher != "tct_al" or learner != "linear-svm"


def _check_names(kind: str, names: Sequence[str], known: Sequence[str] | Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(
            f"{'Unknown' if unknown else 'No'} {kind} {', '.join(map(repr, unknown))}; known are {', '.join(known)}."
        )
