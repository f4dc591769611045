"""Pairs of the benchmark with limits of minutes: a data set and a learner whose plain fit takes 5 to 8 minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from _accuracy_datasets import open_dataset
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.study_run import TrainTestRows

# Test rows at most: they give the accuracy to within 0.3 points, and the SVC predicts them in a minute or two.
_TEST_ROWS = 10_000


@dataclass(frozen=True)
class MinutesPair:
    """A data set and a learner.

    Parameters
    ----------
    name : str
        Name of the kind of learner, for tables and `--pairs`.
    dataset : str
        Name of the parquet file.
    make_learner : callable
        Returns the learner, which uses all cores where it can.
    description : str
        The learner in words.
    seconds : float
        Expected seconds of a plain fit on two cores; the plan goes by it until the plain fit was run.
    exponent : float
        Exponent of the fit time in rows, by which `--scale` chooses the rows.
    callback : bool, default=False
        Whether the learner takes callbacks.
    """

    name: str
    dataset: str
    make_learner: Callable[[], Any]
    description: str
    seconds: float
    exponent: float = 1.0
    callback: bool = False

    def read_rows(self, folder: Path | None, scale: float) -> TrainTestRows:
        """Return training and test rows; below a scale of 1, random training rows whose fit takes that share."""
        with open_dataset(self.dataset, partial(load_dataset, folder=folder, online=False)) as dataset:
            rows = dataset.select_rows(dataset.n_rows, _TEST_ROWS)
        n_train = round(rows.n_train * scale ** (1 / self.exponent))
        if n_train >= rows.n_train:
            return rows
        chosen = np.sort(np.random.default_rng(0).permutation(rows.n_train)[:n_train])
        kept = np.concatenate([chosen, np.arange(rows.n_train, len(rows.y))])
        return TrainTestRows(rows.X[kept], rows.y[kept], n_train)


# Expected seconds come from the CPU seconds of fits with fewer trees, rows or passes, on a busy machine.
PAIRS: tuple[MinutesPair, ...] = (
    MinutesPair(
        "forest",
        "covtype",
        lambda: RandomForestClassifier(300, max_features=1.0, min_samples_leaf=2, n_jobs=-1),
        "300 trees, every column for each split, leaves of two rows",
        400.0,
        1.1,
    ),
    MinutesPair(
        "booster",
        "mnist",
        lambda: LGBMClassifier(n_estimators=1000, n_jobs=-1, verbosity=-1),
        "LightGBM with 1,000 trees a class",
        360.0,
        callback=True,
    ),
    MinutesPair("SVC", "mnist", SVC, "RBF kernel, scikit-learn's defaults", 300.0, 2.0),
    MinutesPair(
        "MLP",
        "covtype",
        lambda: MLPClassifier((512, 512), max_iter=45),
        "two layers of 512, 45 passes over the rows",
        420.0,
    ),
)
"""Real data at full size; none is generated."""
