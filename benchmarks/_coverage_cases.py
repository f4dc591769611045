"""Cases of the coverage benchmark: a metric on a data set, with its target, weights and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from fitwithin._pools.tables import take_rows
from fitwithin_paper.study.paper_learners import make_paper_learner
from fitwithin_paper.study.study_run import TrainTestRows

Array = npt.NDArray[Any]

# Share of the rare class, and of a class that a metric of two classes is about.
_RARE_SHARE = 0.005
_POSITIVE_SHARE = 0.2

# Groups are rows with near values of the column with the most values.
_N_GROUPS = 400
_SOME_ROWS = 10_000

CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "decision-tree": lambda: make_paper_learner("decision-tree"),
    "sgd-log": lambda: make_paper_learner("sgd-log"),
    "random-forest": lambda: RandomForestClassifier(10, min_samples_split=30, n_jobs=1),
    "lightgbm": lambda: LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1),
}
"""Learners that fit and predict fast."""

REGRESSORS: Mapping[str, Callable[[], Any]] = {
    "decision-tree": lambda: DecisionTreeRegressor(min_samples_leaf=20),
    "ridge": Ridge,
    "lightgbm": lambda: LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1),
}
"""The same for values."""


@dataclass(frozen=True)
class CoverageCase:
    """A metric, and how the target, weights and groups are made.

    Parameters
    ----------
    name : str
        Name in the table.
    scoring : str
        scikit-learn's name of the metric.
    positive : float or None, default=None
        With a number, the target has two classes, and this is the share of one of them.
    regression : bool, default=False
        Whether the first column is the target.
    weighted, grouped : bool, default=False
        Whether the rows have random weights; whether groups are held out whole.
    """

    name: str
    scoring: str
    positive: float | None = None
    regression: bool = False
    weighted: bool = False
    grouped: bool = False

    @property
    def learners(self) -> Mapping[str, Callable[[], Any]]:
        """The learners of the case."""
        return REGRESSORS if self.regression else CLASSIFIERS


CASES: tuple[CoverageCase, ...] = (
    CoverageCase("accuracy", "accuracy"),
    CoverageCase("AUC", "roc_auc", _POSITIVE_SHARE),
    CoverageCase("AUC, rare class", "roc_auc", _RARE_SHARE),
    CoverageCase("F1", "f1", _POSITIVE_SHARE),
    CoverageCase("R2", "r2", regression=True),
    CoverageCase("accuracy, weights", "accuracy", weighted=True),
    CoverageCase("accuracy, groups", "accuracy", grouped=True),
)
"""The cases of each data set."""


@dataclass(frozen=True, eq=False)
class CoverageRows:
    """The rows of a case.

    Parameters
    ----------
    X, y : table and array
        All rows.
    weights, groups : array or None
        By row, if the case has them.
    n_train : int
        Rows that fits may take; the others are for the test.
    """

    X: Any
    y: Array
    weights: Array | None
    groups: Array | None
    n_train: int

    @classmethod
    def make(cls, rows: TrainTestRows, case: CoverageCase) -> CoverageRows:
        """Return the rows of a data set for a case."""
        rng, X, y = np.random.default_rng(0), rows.X, rows.y
        kept = np.arange(len(y))
        if case.regression:
            X, y = X[:, 1:], X[:, 0]
        elif case.positive is not None:
            classes, counts = np.unique(y, return_counts=True)
            # The class whose share is the nearest to a fifth; it is made as rare as the case asks.
            y = (y == classes[np.abs(counts / len(y) - _POSITIVE_SHARE).argmin()]).astype(np.int64)
            share = case.positive / (1 - case.positive) * np.count_nonzero(y == 0) / np.count_nonzero(y)
            kept = np.flatnonzero((y == 0) | (rng.random(len(y)) < share))
        n_train = int(np.count_nonzero(kept < rows.n_train))
        weights = rng.lognormal(size=len(kept)) if case.weighted else None
        groups = None
        if case.grouped:
            column = X[:, np.argmax([len(np.unique(values)) for values in np.asarray(X[:_SOME_ROWS]).T])]
            groups = np.digitize(column, np.unique(np.quantile(column, np.linspace(0, 1, _N_GROUPS))))
        return cls(take_rows(X, kept), y[kept], weights, groups, n_train)

    def draw(self, number: int, n_rows: int) -> tuple[Array, Array]:
        """Return the training rows and the test rows of a fit; with groups, those of the test are others."""
        rng, test = np.random.default_rng(number), np.arange(self.n_train, len(self.y))
        training = np.arange(self.n_train)
        if self.groups is not None:
            is_known = rng.random(int(self.groups.max()) + 1) < 1 / 2
            training, test = training[is_known[self.groups[training]]], test[~is_known[self.groups[test]]]
        return rng.choice(training, min(n_rows, len(training)), replace=False), test
