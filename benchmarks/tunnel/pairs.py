"""The pairs of data set and learner that are recorded; imports nothing, so that a machine without NumPy can list them.

Which pairs are unseen follows from the table alone: in each family, the pairs in alphabetical order, the second, the
fifth, the eighth ... are unseen. They serve for the published table only; the policy is designed on the others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A data set and a learner.

    Parameters
    ----------
    data, learner : str
        Names in `datasets.py` and `learners.py`.
    family : str
        Kind of learner.
    rows : int
        Rows of the data set that are used, test rows included.
    seconds : float
        Rough seconds of a fit on every row; the longest pair is recorded first.
    encoding : {"numbers", "codes", "one-hot"}, default="numbers"
        Form of the features: one array of standardised numbers, the same without standardised codes of categories
        (for a pipeline that encodes them), or with one column for each category.
    test_rows : int, default=10_000
        Most rows for the test score; fewer where predictions are slow.
    """

    data: str
    learner: str
    family: str
    rows: int
    seconds: float
    encoding: str = "numbers"
    test_rows: int = 10_000

    @property
    def name(self) -> str:
        """Name of the recording."""
        return f"{self.data}-{self.learner}" + ("-one-hot" if self.encoding == "one-hot" else "")


PAIRS = (
    Pair("covtype", "lightgbm", "booster", 250_000, 5),
    Pair("unsw_nb15_82k", "lightgbm", "booster", 60_000, 4),
    Pair("letter", "lightgbm", "booster", 20_000, 2),
    Pair("dota2", "lightgbm-500", "booster", 102_944, 3),
    Pair("weatheraus", "xgboost-500", "booster", 142_193, 3),
    Pair("poker_hand_regenerated", "xgboost", "booster", 250_000, 4),
    Pair("covtype", "hist-gradient-boosting", "booster", 200_000, 5),
    Pair("adult", "catboost", "booster", 48_842, 5),
    Pair("synthetic-noisy", "lightgbm-500", "booster", 250_000, 6),
    Pair("gtsrb_huehist", "extra-trees", "forest", 20_000, 4),
    Pair("mnist", "random-forest", "forest", 20_000, 4),
    Pair("covtype", "random-forest", "forest", 80_000, 6),
    Pair("diabetes130us", "random-forest", "forest", 60_000, 5),
    Pair("synthetic-many-classes", "extra-trees", "forest", 60_000, 6),
    Pair("mnist", "logistic-regression", "linear", 40_000, 4),
    Pair("covtype", "linear-svc", "linear", 40_000, 10),
    Pair("fruits360_hsvhist", "logistic-regression", "linear", 60_000, 4),
    Pair("synthetic-many-classes", "logistic-saga", "linear", 100_000, 4),
    Pair("dota2", "sgd", "sgd", 102_944, 2),
    Pair("covtype", "sgd", "sgd", 120_000, 4),
    Pair("letter", "mlp", "mlp", 20_000, 2),
    Pair("mnist", "mlp", "mlp", 14_000, 4),
    Pair("synthetic-noisy", "mlp", "mlp", 60_000, 5),
    Pair("letter", "svc", "svc", 20_000, 2, test_rows=4_000),
    Pair("mnist", "svc", "svc", 10_000, 6, test_rows=2_000),
    Pair("synthetic-noisy", "svc", "svc", 24_000, 6, test_rows=3_000),
    Pair("mnist", "neighbors", "neighbors", 40_000, 2, test_rows=4_000),
    Pair("fruits360_hsvhist", "neighbors-manhattan", "neighbors", 30_000, 4, test_rows=3_000),
    Pair("covtype", "neighbors-tree", "neighbors", 100_000, 5, test_rows=3_000),
    Pair("mnist", "tree", "tree", 40_000, 4),
    Pair("covtype", "tree", "tree", 400_000, 3),
    Pair("synthetic-noisy", "shallow-tree", "tree", 250_000, 4),
    Pair("diabetes130us", "encoded-logistic-regression", "pipeline", 101_766, 4, "codes"),
    Pair("weatheraus", "encoded-lightgbm-500", "pipeline", 100_000, 3, "codes"),
    Pair("letter", "startup-mlp", "startup", 20_000, 5),
    Pair("weatheraus", "startup-extra-trees", "startup", 80_000, 6),
    Pair("diabetes130us", "lightgbm", "wide", 101_766, 4, "one-hot"),
    Pair("synthetic-wide", "lightgbm", "wide", 10_000, 10),
)

FAMILIES = tuple(dict.fromkeys(pair.family for pair in PAIRS))


def is_unseen(pair: Pair) -> bool:
    """Return whether a pair is kept for the published table; see the module's rule.

    Examples
    --------
    >>> [pair.name for pair in PAIRS if pair.family == "svc" and is_unseen(pair)]
    ['mnist-svc']
    """
    family = sorted(other.name for other in PAIRS if other.family == pair.family)
    return pair.name in family[1::3]
