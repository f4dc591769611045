"""Pairs of the regression benchmark: a data set, a learner, and the training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# Trees of LightGBM: with the default of 100 no fit would take more than 2 s.
_LIGHTGBM_TREES = 1_200

# Most trees of histogram boosting. Above 10,000 rows it stops early by default, below it does not; with many more trees
# a fit on few rows would take as long as one on all of them.
_HISTOGRAM_TREES = 500

# Passes over the rows of the network; 200, scikit-learn's default, would take minutes.
_MLP_EPOCHS = 20

# The usual settings of forests for regression: a third of the columns, leaves of five rows.
_FOREST_COLUMNS = 1 / 3
_FOREST_LEAF_ROWS = 5

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: LGBMRegressor(n_estimators=_LIGHTGBM_TREES, n_jobs=1, verbosity=-1),
    "hist-gradient-boosting": lambda: HistGradientBoostingRegressor(max_iter=_HISTOGRAM_TREES),
    "random-forest": lambda: RandomForestRegressor(
        max_features=_FOREST_COLUMNS, min_samples_leaf=_FOREST_LEAF_ROWS, n_jobs=1
    ),
    "mlp": lambda: make_pipeline(StandardScaler(), MLPRegressor(max_iter=_MLP_EPOCHS)),
}
"""Learners by name; all other settings are their library's own. Ridge and nearest neighbours are left out: their fits
take less than a second on these rows, so that every row fits in any limit."""


@dataclass(frozen=True)
class RegressionPair:
    """A data set and a learner.

    Parameters
    ----------
    dataset, learner : str
        Keys of `DATASETS` and `LEARNERS`.
    max_train : int or None, default=None
        Largest number of training rows, so that a plain fit takes 5 to 25 s; None for all.
    """

    dataset: str
    learner: str
    max_train: int | None = None

    @property
    def name(self) -> str:
        """Names of data set and learner."""
        return f"{self.dataset}, {self.learner}"


PAIRS = (
    RegressionPair("covtype", "lightgbm"),
    RegressionPair("covtype", "random-forest", 60_000),
    RegressionPair("diabetes130us", "random-forest"),
    RegressionPair("weatheraus", "lightgbm"),
    RegressionPair("unsw_nb15", "lightgbm"),
    RegressionPair("friedman1", "hist-gradient-boosting"),
    RegressionPair("friedman1", "mlp"),
)
"""The pairs, grouped by data set."""
