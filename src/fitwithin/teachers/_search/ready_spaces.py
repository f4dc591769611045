"""Spaces and portfolios of learners that are known by name, each with its source and reason.

Ranges are narrower than FLAML's. Its local search does not depend on that, but random draws are affordable more often:
LightGBM on 10,000 rows of covtype, 5 s of fits, mean test accuracy of five seeds with these ranges and with FLAML's:
local .806 and .805, random .775 and .742 (learner's own hyperparameters: .805).

A portfolio holds hyperparameters that were the best ones on other data, from the files of FLAML's zero-shot AutoML.
Each file of `flaml/default` has configurations, and for each data set that they were mined on four numbers and the
configurations that are good there (Wang et al., "Mining Robust Default Configurations for Resource-constrained
AutoML", 2022). `flaml.default` itself needs pandas and xgboost, and 2 s to import; the files are read without it.

No space sets what does not change the model's quality (threads, seeds, verbosity), and none sets what the user's
labels or target decide (objective, loss).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Parameter, Space, make_space

# FLAML's (Wang et al., "FLAML: A Fast and Lightweight AutoML Library", MLSys 2021, appendix), with lower upper ends:
# it has 32,768 trees and leaves; its winners in 60 s on 500,000 rows had up to 792 leaves. `max_bin` is 2**k - 1.
MAX_LEAVES = 4096
"""Most leaves of one tree, and most trees of a booster."""

Parameters = Mapping[str, Parameter]
"""Parameters by name."""


def _name(*known: Parameters, **parameters: Parameter) -> Parameters:
    return {name: one for space in (*known, parameters) for name, one in space.items()}


_STEPS = _LEAVES = IntRange(4, MAX_LEAVES, log=True)
_RATE = FloatRange(0.01, 1.0, log=True)  # lower ones need more trees than a deadline allows
_LEAF_ROWS = IntRange(1, 128, log=True)
_BINS = tuple(2**bits - 1 for bits in range(3, 11))
_PENALTY = FloatRange(2**-10, 2**10, log=True)
_COLUMNS = FloatRange(0.1, 1.0)
_ITERATIONS = IntRange(4, 1024, log=True)

_BOOSTER = _name(
    n_estimators=_STEPS, learning_rate=_RATE, colsample_bytree=_COLUMNS, reg_alpha=_PENALTY, reg_lambda=_PENALTY
)
_LIGHTGBM = _name(_BOOSTER, num_leaves=_LEAVES, min_child_samples=_LEAF_ROWS, max_bin=Choice(_BINS))
# Trees grow leaf by leaf without a limit of depth, as in FLAML: the default depth of 6 ends at 64 leaves.
_LEAF_BY_LEAF = _name(max_leaves=_LEAVES, max_depth=Choice((0,)), grow_policy=Choice(("lossguide",)))
_LEAF_WEIGHT = FloatRange(0.001, 128.0, log=True)
_XGBOOST = _name(_BOOSTER, _LEAF_BY_LEAF, min_child_weight=_LEAF_WEIGHT, subsample=FloatRange(0.5, 1.0))
# The parameters that CatBoost's guide to tuning names. Trees are symmetric: 10 levels are 1,024 leaves.
_SYMMETRIC = _name(depth=IntRange(2, 10), border_count=Choice((*_BINS[1:5], 254)))
_CATBOOST = _name(_SYMMETRIC, iterations=_STEPS, learning_rate=_RATE, l2_leaf_reg=FloatRange(0.1, 100.0, log=True))
# FLAML's; scikit-learn allows at most 255 bins.
_HIST_TREE = _name(max_leaf_nodes=_LEAVES, min_samples_leaf=_LEAF_ROWS, max_bins=Choice(_BINS[:6]))
_HIST_BOOSTING = _name(_HIST_TREE, max_iter=_STEPS, learning_rate=_RATE, l2_regularization=_PENALTY)
# Trees, columns a split and size of leaves are what matters by Probst et al. ("Hyperparameters and tuning strategies
# for random forest", 2019). Parts of columns, not roots: where few columns are informative, nearly all are best.
_SPLIT = _name(max_features=FloatRange(0.05, 1.0, log=True), min_samples_leaf=_LEAF_ROWS)
_FOREST = _name(_SPLIT, n_estimators=IntRange(32, 1024, log=True))
# Both limit the size, one evenly, one where rows are few.
_TREE = _name(max_depth=IntRange(2, 64, log=True), min_samples_leaf=_LEAF_ROWS)
# Solvers seldom converge on columns of unequal scale, and their time grows with the steps and with `C`.
_INVERSE_PENALTY = _name(C=FloatRange(2**-10, 2**10, log=True))
_RIDGE = _name(alpha=_PENALTY)
# The first step of the regressor is searched since its schedule does not follow from `alpha`.
_SGD = _name(alpha=FloatRange(1e-7, 1e-1, log=True), average=Choice((False, True)), max_iter=_ITERATIONS)
_FIRST_STEP = _name(eta0=FloatRange(1e-4, 1e-1, log=True))
# Of classifiers. Metrics of rare classes depend on weights most in linear models; trees isolate those classes anyway.
_WEIGHT = _name(class_weight=Choice((None, "balanced")))
_CRITERION = _name(criterion=Choice(("gini", "entropy")))

READY_SPACES: Mapping[tuple[str, str], Parameters] = {
    ("lightgbm", "LGBMClassifier"): _LIGHTGBM,
    ("lightgbm", "LGBMRegressor"): _LIGHTGBM,
    ("xgboost", "XGBClassifier"): _XGBOOST,
    ("xgboost", "XGBRegressor"): _XGBOOST,
    ("catboost", "CatBoostClassifier"): _CATBOOST,
    ("catboost", "CatBoostRegressor"): _CATBOOST,
    ("sklearn", "HistGradientBoostingClassifier"): _HIST_BOOSTING,
    ("sklearn", "HistGradientBoostingRegressor"): _HIST_BOOSTING,
    ("sklearn", "RandomForestClassifier"): _name(_FOREST, _CRITERION),
    ("sklearn", "RandomForestRegressor"): _FOREST,
    ("sklearn", "ExtraTreesClassifier"): _name(_FOREST, _CRITERION),
    ("sklearn", "ExtraTreesRegressor"): _FOREST,
    ("sklearn", "DecisionTreeClassifier"): _name(_TREE, _CRITERION),
    ("sklearn", "DecisionTreeRegressor"): _TREE,
    ("sklearn", "LogisticRegression"): _name(_INVERSE_PENALTY, _WEIGHT, max_iter=_ITERATIONS),
    ("sklearn", "LinearSVC"): _name(_INVERSE_PENALTY, _WEIGHT),
    ("sklearn", "LinearSVR"): _INVERSE_PENALTY,
    ("sklearn", "Ridge"): _RIDGE,
    ("sklearn", "RidgeClassifier"): _name(_RIDGE, _WEIGHT),
    ("sklearn", "SGDClassifier"): _name(_SGD, _WEIGHT),
    ("sklearn", "SGDRegressor"): _name(_SGD, _FIRST_STEP),
}
"""Hyperparameters by the package and the name of the learner's class."""

CATBOOST_ALIASES: Mapping[str, tuple[str, ...]] = {
    "iterations": ("n_estimators", "num_boost_round", "num_trees"),
    "depth": ("max_depth",),
    "learning_rate": ("eta",),
    "l2_leaf_reg": ("reg_lambda",),
    "border_count": ("max_bin",),
}
"""Other names of CatBoost's parameters."""

_MAX_STARTS = 4
"""Configurations of a portfolio that are tried."""

_BIN_BITS = "log_max_bin"

# The folder of each learner, and its names for the parameters there as far as they differ. Histogram boosting and
# CatBoost have no folder, but nearly the same parameters as LightGBM.
_SOURCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "LGBM": ("lgbm", {_BIN_BITS: "max_bin"}),
    "XGB": ("xgboost", {}),
    "CatBoost": ("lgbm", {"n_estimators": "iterations", "num_leaves": "depth", "reg_lambda": "l2_leaf_reg"}),
    "HistGradientBoosting": (
        "lgbm",
        {"n_estimators": "max_iter", "num_leaves": "max_leaf_nodes", "min_child_samples": "min_samples_leaf"}
        | {_BIN_BITS: "max_bins", "reg_lambda": "l2_regularization"},
    ),
    "RandomForest": ("rf", {"max_leaves": "max_leaf_nodes"}),
    "ExtraTrees": ("extra_tree", {"max_leaves": "max_leaf_nodes"}),
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


def find_ready_space(estimator: Any, shape: DataShape, learner: Any = None) -> Space | None:
    """Return the ready space of an estimator, or None if there is none.

    Parameters
    ----------
    estimator : estimator
        Known by the name of its class or of a base class.
    shape : DataShape
        The training rows. A tree gets at most half as many leaves as rows, and a portfolio fits the shape.
    learner : estimator, optional
        The learner inside of a pipeline or wrapper, whose space counts.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline, shape = make_pipeline(StandardScaler(), LogisticRegression()), DataShape(1000, 10, 2)
    >>> sorted(find_ready_space(pipeline, shape, pipeline[-1]).parameters)
    ['logisticregression__C', 'logisticregression__class_weight', 'logisticregression__max_iter']
    >>> find_ready_space(GaussianNB(), shape) is None
    True
    """
    learner, prefix = estimator if learner is None else learner, ""
    if learner is not estimator:
        prefix = next(f"{name}__" for name, value in estimator.get_params(deep=True).items() if value is learner)
    for base in type(learner).__mro__:
        parameters = READY_SPACES.get((base.__module__.split(".")[0], base.__name__))
        if parameters is not None:
            own = learner.get_params(deep=False)
            names = {name: prefix + _find_name(name, own) for name in {**own, **parameters}}
            space = make_space(estimator, {names[name]: one for name, one in parameters.items()})
            space, found = space.limit_to_rows(shape.n_rows), find_portfolio(base.__name__, shape)
            known = [{names[name]: value for name, value in one.items() if name in names} for one in found]
            return replace(space, portfolio=tuple(map(space.clip, known)))
    return None


def _find_name(name: str, own: Mapping[str, Any]) -> str:
    """Return the alias that the user chose; CatBoost refuses two names of one parameter."""
    aliases = CATBOOST_ALIASES.get(name, ()) if name not in own else ()
    return next((alias for alias in aliases if alias in own), name)


def find_portfolio(class_name: str, shape: DataShape) -> list[dict[str, Any]]:
    """Return hyperparameters of a learner that were the best ones on the data set whose shape is nearest.

    There are none of other learners, and none without FLAML. Some parameters may be other learners' own.

    Parameters
    ----------
    class_name : str
        Name of the learner's class, such as "LGBMClassifier".
    shape : DataShape
        The training rows.
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
    # With XGBoost, leaves count only if trees grow leaf by leaf.
    fixed = {"max_depth": 0, "grow_policy": "lossguide"} if learner == "XGB" else {}
    return [_rename(one, names) | fixed for one in configurations if one][:_MAX_STARTS]


def _choose_nearest(content: dict[str, Any], shape: DataShape) -> list[dict[str, Any]]:
    center, scale = (np.array(content["preprocessing"][name]) for name in ("center", "scale"))
    point = (np.array([shape.n_rows, shape.n_features, shape.n_classes, shape.numeric_share]) - center) / scale
    nearest = min(content["neighbors"], key=lambda one: float(np.linalg.norm(np.array(one["features"]) - point)))
    return [content["portfolio"][index] for index in nearest["choice"]]


def _rename(configuration: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a configuration under a learner's names; its other parameters count for nothing."""
    found = {names.get(name, name): value for name, value in configuration.items()}
    if _BIN_BITS in configuration:
        found[names.get(_BIN_BITS, _BIN_BITS)] = 2 ** configuration[_BIN_BITS] - 1
    return found | ({"depth": round(math.log2(found["depth"]))} if "depth" in found else {})
