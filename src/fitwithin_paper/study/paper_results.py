"""The paper's results, as its tables print them.

All of them are from Sergio Filho, Eduardo Laber, Pedro Lazera and Marco Molinaro, "Time-Constrained Learning".
The files are in the folder `paper/` next to this module:

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
    Table "Datasets and its details", with the numbers of test rows; only the source of the paper has it. The printed
    paper has the table "Datasets" instead.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from fitwithin_paper.study.significance import Tally, mean_of_known

PAPER_CITATION = "Sergio Filho, Eduardo Laber, Pedro Lazera, Marco Molinaro: Time-Constrained Learning"


PaperExperiment = Literal["main", "sgd", "al"]
"""The main comparison (TCT, Double, OSCT, Full), TCT against SGD, and TCT against TCT_AL."""


LEARNER_NAMES: Mapping[str, str] = {
    "lightgbm": "LGBM",
    "random-forest": "Random Forest",
    "linear-svm": "SVM",
    "logistic-regression": "Log. Regression",
    "decision-tree": "Decision Tree",
}
"""The paper's names of the learners, in the order of its tables."""


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
"""The paper's names of the teachers."""


ALPHA_TEACHERS: Mapping[float, str] = {
    alpha: "tct" if alpha == 0.2 else f"tct-{alpha:g}" for alpha in (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)
}
"""Names of the teachers for each alpha of the paper's table."""


_LEARNERS_IN_FILE = {
    name.replace("Log.", "Logistic").replace(" ", ""): learner for learner, name in LEARNER_NAMES.items()
}


# The paper's accuracy tables show the OSCT that returns its best model.
_TEACHERS_IN_FILE = {
    "TCT": "tct",
    "Double": "double",
    "Full": "full",
    "OSCT": "osct-best",
    "SGD": "sgd",
    "TCT_AL": "tct_al",
}


@dataclass(frozen=True)
class PaperResults:
    """The accuracies of one of the paper's experiments, with the interface of `StudyResults`.

    Parameters
    ----------
    accuracies : mapping of (learner, data set, teacher) to float
        Shares of the test rows; the paper prints percentages with one decimal.
    limits : mapping of (learner, data set) to float
        Seconds of a full training.

    Examples
    --------
    >>> paper = PaperResults.read("main")
    >>> paper.accuracy("lightgbm", "covtype", "tct"), paper.limit_seconds("lightgbm", "covtype")
    (0.866, 15.5)
    >>> paper.test_rows("covtype")
    174304
    >>> len(paper.datasets("random-forest")), paper.accuracy("lightgbm", "iris", "tct")
    (20, None)
    """

    accuracies: Mapping[tuple[str, str, str], float]
    limits: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, experiment: PaperExperiment) -> PaperResults:
        """Read the accuracies of an experiment."""
        accuracies, limits = {}, {}
        for row in _read_rows("accuracies.csv"):
            if row["experiment"] == experiment:
                pair = _LEARNERS_IN_FILE[row["learner"]], row["dataset"]
                accuracies[*pair, _TEACHERS_IN_FILE[row["teacher"]]] = _percent_to_share(row["test_accuracy_pct"])
                limits[pair] = float(row["time_limit_s"])
        return cls(accuracies, limits)

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """Printed accuracy as a share; None if the paper has none."""
        return self.accuracies.get((learner, dataset, teacher))

    def never_had_model(self, learner: str, dataset: str, teacher: str) -> bool:
        """Whether no run ended with a model: the paper reports no such case."""
        return False

    def limit_seconds(self, learner: str, dataset: str) -> float | None:
        """Printed time limit."""
        return self.limits.get((learner, dataset))

    def datasets(self, learner: str) -> tuple[str, ...]:
        """Data sets of the learner's table."""
        return tuple(dataset for taught, dataset in self.limits if taught == learner)

    def test_rows(self, dataset: str) -> int | None:
        """Number of test rows; None for a data set that the paper does not have."""
        sizes = read_paper_sizes().get(dataset)
        return None if sizes is None else sizes[1]


@dataclass(frozen=True)
class AlphaResult:
    """A row of the paper's table on alpha: TCT against Double on 68 pairs, and TCT's mean accuracy."""

    tally: Tally
    accuracy: float


def read_paper_tally(against: str, learner: str | None = None) -> Tally:
    """Return the printed wins and losses of TCT against a teacher, for one learner or for all.

    Examples
    --------
    >>> read_paper_tally("double"), read_paper_tally("full", "lightgbm")
    (Tally(wins=33, ties=26, losses=9), Tally(wins=6, ties=2, losses=7))
    """
    found = Tally()
    for row in _read_rows("wins.csv"):
        if row["against"] == against and learner in (None, row["learner"]):
            found += _build_tally(row["wins"], row["losses"], int(row["datasets"]))
    return found


def read_paper_training_share(teacher: str, learner: str | None = None) -> float | None:
    """Return the printed share of the training rows that Double or TCT used, for one learner or as simple mean of all.

    Examples
    --------
    >>> read_paper_training_share("tct", "lightgbm")
    0.171
    >>> round(1 - read_paper_training_share("tct") / read_paper_training_share("double"), 2)
    0.15
    """
    rows = (row for row in _read_rows("training_set.csv") if learner in (None, row["learner"]))
    return mean_of_known(_percent_to_share(row[f"{teacher}_pct"]) for row in rows)


def read_paper_alphas() -> dict[float, AlphaResult]:
    """Return the table on alpha.

    Examples
    --------
    >>> read_paper_alphas()[0.3]
    AlphaResult(tally=Tally(wins=37, ties=19, losses=12), accuracy=0.704)
    """
    pairs = read_paper_tally("double").pairs
    return {
        float(row["alpha"]): AlphaResult(
            _build_tally(row["wins"], row["losses"], pairs), _percent_to_share(row["average_accuracy_pct"])
        )
        for row in _read_rows("alpha.csv")
    }


@cache
def read_paper_sizes() -> Mapping[str, tuple[int, int]]:
    """Return the numbers of training and test rows of each of the paper's data sets.

    Examples
    --------
    >>> len(read_paper_sizes()), read_paper_sizes()["poker_hand"]
    (20, (1000000, 25010))
    """
    return {row["dataset"]: (int(row["train_rows"]), int(row["test_rows"])) for row in _read_rows("sizes.csv")}


def display_name(name: str) -> str:
    """Return the paper's name of a learner or a teacher; any other name stays as it is.

    Examples
    --------
    >>> display_name("lightgbm"), display_name("tct"), display_name("auto")
    ('LGBM', 'TCT', 'auto')
    """
    return LEARNER_NAMES.get(name) or TEACHER_NAMES.get(name, name)


def sort_learners(learners: Iterable[str]) -> list[str]:
    """Return learners in the order of the paper's tables, followed by the others.

    Examples
    --------
    >>> sort_learners({"decision-tree", "naive-bayes", "lightgbm"})
    ['lightgbm', 'decision-tree', 'naive-bayes']
    """
    known = list(LEARNER_NAMES)
    return sorted(learners, key=lambda name: (known.index(name) if name in LEARNER_NAMES else len(known), name))


@cache
def _read_rows(name: str) -> tuple[Mapping[str, str], ...]:
    text = (resources.files("fitwithin_paper.study") / "paper" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _build_tally(wins: str, losses: str, pairs: int) -> Tally:
    return Tally(int(wins), pairs - int(wins) - int(losses), int(losses))


def _percent_to_share(per_cent: str) -> float:
    # Rounded, because 57.3 / 100 is not the same float as 0.573.
    return round(float(per_cent) / 100, 5)
