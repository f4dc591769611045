"""Hyperparameters that were the best ones on other data, from the files of FLAML's zero-shot AutoML.

Each file of `flaml/default` holds configurations, and for each data set that they were mined on four numbers and the
configurations that are good there (Wang et al., "Mining Robust Default Configurations for Resource-constrained AutoML",
2022). `flaml.default` itself needs pandas and xgboost, and 2 s to import; the files are read without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

_MAX_STARTS = 4
"""Configurations of a portfolio that are tried."""

_BIN_BITS = "log_max_bin"

# The folder of each learner, and its names for the parameters there. Histogram boosting and CatBoost have no folder,
# but nearly the same parameters as LightGBM.
_BOOSTER = ("n_estimators", "learning_rate", "colsample_bytree", "reg_alpha", "reg_lambda")
_LIGHTGBM = (*_BOOSTER, "num_leaves", "min_child_samples")
_XGBOOST = (*_BOOSTER, "max_leaves", "min_child_weight", "subsample", "colsample_bylevel")
_FOREST = {"n_estimators": "n_estimators", "max_features": "max_features", "criterion": "criterion"}
_SOURCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "LGBM": ("lgbm", {**{name: name for name in _LIGHTGBM}, _BIN_BITS: "max_bin"}),
    "XGB": ("xgboost", {name: name for name in _XGBOOST}),
    "CatBoost": (
        "lgbm",
        {"n_estimators": "iterations", "num_leaves": "depth", "learning_rate": "learning_rate"}
        | {"reg_lambda": "l2_leaf_reg"},
    ),
    "HistGradientBoosting": (
        "lgbm",
        {"n_estimators": "max_iter", "num_leaves": "max_leaf_nodes", "min_child_samples": "min_samples_leaf"}
        | {"learning_rate": "learning_rate", _BIN_BITS: "max_bins", "reg_lambda": "l2_regularization"},
    ),
    "RandomForest": ("rf", {**_FOREST, "max_leaves": "max_leaf_nodes"}),
    "ExtraTrees": ("extra_tree", {**_FOREST, "max_leaves": "max_leaf_nodes"}),
}


@dataclass(frozen=True)
class DataShape:
    """What a portfolio is chosen by.

    Parameters
    ----------
    n_rows, n_features, n_classes : int
        Numbers of rows, features, and classes; 0 classes for regression.
    numeric_share : float, default=1.0
        Share of features that are numbers.
    """

    n_rows: int
    n_features: int
    n_classes: int
    numeric_share: float = 1.0


def find_portfolio(class_name: str, shape: DataShape) -> list[dict[str, Any]]:
    """Return hyperparameters of a learner that were the best ones on the data set whose shape is nearest.

    Parameters
    ----------
    class_name : str
        Name of the learner's class, such as "LGBMClassifier".
    shape : DataShape
        The training rows.

    Returns
    -------
    list of dict
        Empty for other learners, and without FLAML.
    """
    learner = class_name.removesuffix("Classifier").removesuffix("Regressor")
    spec = find_spec("flaml")
    if learner not in _SOURCES or spec is None or spec.origin is None:
        return []
    folder, names = _SOURCES[learner]
    task = "regression" if not shape.n_classes else "binary" if shape.n_classes <= 2 else "multiclass"
    try:
        content = json.loads((Path(spec.origin).parent / "default" / folder / f"{task}.json").read_text("utf-8"))
        configurations = [one.get("hyperparameters", {}) for one in _choose_nearest(content, shape)]
    except (OSError, ValueError, KeyError, IndexError):
        # A later version of FLAML may have other files.
        return []
    found = [_rename(one, names) for one in configurations if one]
    # With XGBoost, leaves count only if trees grow leaf by leaf.
    return [{**one, "max_depth": 0, "grow_policy": "lossguide"} if learner == "XGB" else one for one in found][
        :_MAX_STARTS
    ]


def _choose_nearest(content: dict[str, Any], shape: DataShape) -> list[dict[str, Any]]:
    center, scale = (np.array(content["preprocessing"][name]) for name in ("center", "scale"))
    point = (np.array([shape.n_rows, shape.n_features, shape.n_classes, shape.numeric_share]) - center) / scale
    neighbors = content["neighbors"]
    distances = [np.linalg.norm(np.array(one["features"]) - point) for one in neighbors]
    return [content["portfolio"][index] for index in neighbors[int(np.argmin(distances))]["choice"]]


def _rename(configuration: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a configuration under a learner's names; seeds and verbosity are left out."""
    found: dict[str, Any] = {}
    for name, own_name in names.items():
        if name in configuration:
            value = configuration[name]
            value = 2**value - 1 if name == _BIN_BITS else value
            found[own_name] = round(math.log2(value)) if own_name == "depth" else value
    return found
