"""The paper's own figures, as its tables print them.

All of them are from Sergio Filho, Eduardo Laber, Pedro Lazera and Marco Molinaro, "Time-Constrained Learning".
The files lie beside this module, in `paper/`:

accuracies.csv
    The tables "LGBM accuracies in the testing sets for TCT, Double, OSCT and Full Training for each dataset" and its
    four siblings (experiment main), "SVM accuracies in the testing sets for TCT and SGD" and its sibling (sgd), "Random
    Forest accuracies in the testing sets for TCT and TCT_AL" and its three siblings (al). Per cent, one decimal.
wins.csv
    Table "Additional Relevant Statistics" (against double and full), table "Comparison Between TCT and variation of
    TCT that selects examples via active learning" (tct_al), and the text of "Comparisons with SGD" (sgd).
training_set.csv
    Table "Additional Relevant Statistics", "% of Training Set".
alpha.csv
    Table "Sensibility to alpha: Win and Losses of TCT over Double and average accuracy of TCT".
sizes.csv
    Table "Datasets and its details", with the sizes of the test sets; it is in the source of the paper only, where the
    printed table "Datasets" took its place.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from fitwithin._research.study.statistics import Tally, mean

SOURCE = "Sergio Filho, Eduardo Laber, Pedro Lazera, Marco Molinaro: Time-Constrained Learning"


Experiment = Literal["main", "sgd", "al"]


# In the order of the paper's tables.
LEARNER_NAMES: Mapping[str, str] = {
    "lightgbm": "LGBM",
    "random-forest": "Random Forest",
    "linear-svm": "SVM",
    "logistic-regression": "Log. Regression",
    "decision-tree": "Decision Tree",
}


TEACHER_NAMES: Mapping[str, str] = {
    "tct": "TCT",
    "double": "Double",
    "full": "Full",
    "osct": "OSCT",
    "osct-half-percent": "OSCT 0.5 %",
    "osct-best": "OSCT best",
    "sgd": "SGD",
    "tct_al": "TCT_AL",
}


ALPHA_TEACHERS: Mapping[float, str] = {
    alpha: "tct" if alpha == 0.2 else f"tct-{alpha:g}" for alpha in (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)
}


_LEARNERS_IN_FILE = {
    name.replace("Log.", "Logistic").replace(" ", ""): learner for learner, name in LEARNER_NAMES.items()
}


# The paper's accuracy tables hold the OSCT that returns its best model.
_TEACHERS_IN_FILE = {
    "TCT": "tct",
    "Double": "double",
    "Full": "full",
    "OSCT": "osct-best",
    "SGD": "sgd",
    "TCT_AL": "tct_al",
}


@dataclass(frozen=True)
class Paper:
    """The accuracies of one of the paper's experiments, with the interface of a study.

    Parameters
    ----------
    accuracies : mapping of (learner, data set, teacher) to float
        Shares of the test set; the paper prints one decimal of the percentage.
    limits : mapping of (learner, data set) to float
        Seconds for training on all rows.

    Examples
    --------
    >>> paper = Paper.read("main")
    >>> paper.accuracy("lightgbm", "covtype", "tct"), paper.limit("lightgbm", "covtype"), paper.test_rows("covtype")
    (0.866, 15.5, 174304)
    >>> len(paper.datasets("random-forest")), paper.accuracy("lightgbm", "iris", "tct")
    (20, None)
    """

    accuracies: Mapping[tuple[str, str, str], float]
    limits: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, experiment: Experiment) -> Paper:
        """The experiment "main" (TCT, Double, OSCT, Full), "sgd" or "al" (TCT against TCT_AL)."""
        accuracies, limits = {}, {}
        for row in _rows("accuracies.csv"):
            if row["experiment"] == experiment:
                pair = _LEARNERS_IN_FILE[row["learner"]], row["dataset"]
                accuracies[*pair, _TEACHERS_IN_FILE[row["teacher"]]] = _share(row["test_accuracy_pct"])
                limits[pair] = float(row["time_limit_s"])
        return cls(accuracies, limits)

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """The printed accuracy, as a share; None where the paper has none."""
        return self.accuracies.get((learner, dataset, teacher))

    def came_to_nothing(self, learner: str, dataset: str, teacher: str) -> bool:
        """The paper tells of no such run."""
        return False

    def limit(self, learner: str, dataset: str) -> float | None:
        """The printed time limit."""
        return self.limits.get((learner, dataset))

    def datasets(self, learner: str) -> tuple[str, ...]:
        """The data sets of the learner's table."""
        return tuple(dataset for taught, dataset in self.limits if taught == learner)

    def test_rows(self, dataset: str) -> int | None:
        """The size of the test set."""
        sizes = paper_sizes().get(dataset)
        return None if sizes is None else sizes[1]


@dataclass(frozen=True)
class AlphaRow:
    """A row of the paper's table on alpha: TCT against Double over 68 pairs, and TCT's average accuracy."""

    tally: Tally
    accuracy: float


def paper_tally(against: str, learner: str | None = None) -> Tally:
    """What the paper prints about TCT against another teacher; over all learners where none is named.

    Examples
    --------
    >>> paper_tally("double"), paper_tally("full", "lightgbm")
    (Tally(wins=33, ties=26, losses=9), Tally(wins=6, ties=2, losses=7))
    """
    found = Tally()
    for row in _rows("wins.csv"):
        if row["against"] == against and learner in (None, row["learner"]):
            found += _tally(row["wins"], row["losses"], int(row["datasets"]))
    return found


def paper_share(teacher: str, learner: str | None = None) -> float | None:
    """Which part of the training set Double or TCT used; for no learner the simple average that the paper speaks of.

    Examples
    --------
    >>> paper_share("tct", "lightgbm"), round(1 - paper_share("tct") / paper_share("double"), 2)
    (0.171, 0.15)
    """
    rows = (row for row in _rows("training_set.csv") if learner in (None, row["learner"]))
    return mean(_share(row[f"{teacher}_pct"]) for row in rows)


def paper_alphas() -> dict[float, AlphaRow]:
    """The table on alpha.

    Examples
    --------
    >>> paper_alphas()[0.3]
    AlphaRow(tally=Tally(wins=37, ties=19, losses=12), accuracy=0.704)
    """
    pairs = paper_tally("double").pairs
    return {
        float(row["alpha"]): AlphaRow(_tally(row["wins"], row["losses"], pairs), _share(row["average_accuracy_pct"]))
        for row in _rows("alpha.csv")
    }


@cache
def paper_sizes() -> Mapping[str, tuple[int, int]]:
    """Rows to learn from and rows to test on, for each of the paper's data sets.

    Examples
    --------
    >>> len(paper_sizes()), paper_sizes()["poker_hand"]
    (20, (1000000, 25010))
    """
    return {row["dataset"]: (int(row["train_rows"]), int(row["test_rows"])) for row in _rows("sizes.csv")}


def name_of(one: str) -> str:
    """What the paper calls a learner or a teacher; those that it does not have keep their name.

    Examples
    --------
    >>> name_of("lightgbm"), name_of("tct"), name_of("auto")
    ('LGBM', 'TCT', 'auto')
    """
    return LEARNER_NAMES.get(one) or TEACHER_NAMES.get(one, one)


def in_order(learners: Iterable[str]) -> list[str]:
    """Learners in the order of the paper's tables, and those that it does not have after them.

    Examples
    --------
    >>> in_order({"decision-tree", "naive-bayes", "lightgbm"})
    ['lightgbm', 'decision-tree', 'naive-bayes']
    """
    known = list(LEARNER_NAMES)
    return sorted(learners, key=lambda name: (known.index(name) if name in LEARNER_NAMES else len(known), name))


@cache
def _rows(name: str) -> tuple[Mapping[str, str], ...]:
    text = (resources.files("fitwithin._research.study") / "paper" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _tally(wins: str, losses: str, pairs: int) -> Tally:
    return Tally(int(wins), pairs - int(wins) - int(losses), int(losses))


def _share(per_cent: str) -> float:
    # Rounded, because 57.3 / 100 is not the float that is written 0.573.
    return round(float(per_cent) / 100, 5)
