"""Spaces of learners that are known by name, each with its source and reason.

Ranges are narrower than FLAML's. Its local search does not depend on that, but random draws are affordable more often:
LightGBM on 10,000 rows of covtype, 5 s of fits, mean test accuracy of five seeds with these ranges and with FLAML's:
local .806 and .805, random .775 and .742 (learner's own hyperparameters: .805).

No space sets what does not change the model's quality (threads, seeds, verbosity), and none sets what the user's
labels or target decide (objective, loss).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fitwithin.teachers._search.parameters import Choice, FloatRange, IntRange, Parameter
from fitwithin.teachers._search.portfolio import DataShape, find_portfolio
from fitwithin.teachers._search.space import LEAVES, Settings, Space, make_space, strip_prefix

MIN_STEPS_LIMIT = 512
"""Steps that are allowed on any number of rows; beyond, there are at most as many steps as rows, as in FLAML."""

# FLAML's (Wang et al., "FLAML: A Fast and Lightweight AutoML Library", MLSys 2021, appendix), with lower upper ends:
# it has 32,768 trees and leaves; its winners in 60 s on 500,000 rows had up to 792 leaves. `max_bin` is 2**k - 1.
MAX_LEAVES = 4096
"""Most leaves of one tree, and most trees of a booster."""

_STEPS = _LEAVES = IntRange(4, MAX_LEAVES, log=True)
_RATE = FloatRange(0.01, 1.0, log=True)  # lower ones need more trees than a deadline allows
_LEAF_ROWS = IntRange(1, 128, log=True)
_BINS = tuple(2**bits - 1 for bits in range(3, 11))
_PENALTY = FloatRange(2**-10, 2**10, log=True)
_COLUMNS = FloatRange(0.1, 1.0)
# Solvers seldom converge on columns of unequal scale, and their time grows with the steps and with `C`.
_INVERSE_PENALTY = FloatRange(2**-10, 2**10, log=True)
_ITERATIONS = IntRange(4, 1024, log=True)
# Metrics of rare classes depend on it most in linear models; trees isolate those classes anyway.
_CLASS_WEIGHT = {"class_weight": Choice((None, "balanced"))}
_CRITERION = {"criterion": Choice(("gini", "entropy"))}

_LIGHTGBM: Mapping[str, Parameter] = {
    "n_estimators": _STEPS,
    "num_leaves": _LEAVES,
    "min_child_samples": _LEAF_ROWS,
    "learning_rate": _RATE,
    "max_bin": Choice(_BINS),
    "colsample_bytree": _COLUMNS,
    "reg_alpha": _PENALTY,
    "reg_lambda": _PENALTY,
}

# Trees grow leaf by leaf without a limit of depth, as in FLAML: the default depth of 6 ends at 64 leaves.
_XGBOOST: Mapping[str, Parameter] = {
    "n_estimators": _STEPS,
    "max_leaves": _LEAVES,
    "max_depth": Choice((0,)),
    "grow_policy": Choice(("lossguide",)),
    "min_child_weight": FloatRange(0.001, 128.0, log=True),
    "learning_rate": _RATE,
    "subsample": FloatRange(0.5, 1.0),
    "colsample_bytree": _COLUMNS,
    "reg_alpha": _PENALTY,
    "reg_lambda": _PENALTY,
}

# The parameters that CatBoost's guide to tuning names. Trees are symmetric: 10 levels are 1,024 leaves.
_CATBOOST: Mapping[str, Parameter] = {
    "iterations": _STEPS,
    "depth": IntRange(2, 10),
    "learning_rate": _RATE,
    "l2_leaf_reg": FloatRange(0.1, 100.0, log=True),
    "border_count": Choice((*_BINS[1:5], 254)),
}

# FLAML's; scikit-learn allows at most 255 bins.
_HIST_GRADIENT_BOOSTING: Mapping[str, Parameter] = {
    "max_iter": _STEPS,
    "max_leaf_nodes": _LEAVES,
    "min_samples_leaf": _LEAF_ROWS,
    "learning_rate": _RATE,
    "max_bins": Choice(_BINS[:6]),
    "l2_regularization": _PENALTY,
}

# Trees, columns a split and size of leaves are what matters by Probst et al. ("Hyperparameters and tuning strategies
# for random forest", 2019). Parts of columns, not roots: where few columns are informative, nearly all are best.
_FOREST: Mapping[str, Parameter] = {
    "n_estimators": IntRange(32, 1024, log=True),
    "max_features": FloatRange(0.05, 1.0, log=True),
    "min_samples_leaf": _LEAF_ROWS,
}

# Both limit the size, one evenly, one where rows are few.
_TREE: Mapping[str, Parameter] = {"max_depth": IntRange(2, 64, log=True), "min_samples_leaf": _LEAF_ROWS}

# The first step of the regressor is searched since its schedule does not follow from `alpha`.
_SGD: Mapping[str, Parameter] = {
    "alpha": FloatRange(1e-7, 1e-1, log=True),
    "average": Choice((False, True)),
    "max_iter": _ITERATIONS,
}

READY_SPACES: Mapping[tuple[str, str], Mapping[str, Parameter]] = {
    ("lightgbm", "LGBMClassifier"): _LIGHTGBM,
    ("lightgbm", "LGBMRegressor"): _LIGHTGBM,
    ("xgboost", "XGBClassifier"): _XGBOOST,
    ("xgboost", "XGBRegressor"): _XGBOOST,
    ("catboost", "CatBoostClassifier"): _CATBOOST,
    ("catboost", "CatBoostRegressor"): _CATBOOST,
    ("sklearn", "HistGradientBoostingClassifier"): _HIST_GRADIENT_BOOSTING,
    ("sklearn", "HistGradientBoostingRegressor"): _HIST_GRADIENT_BOOSTING,
    ("sklearn", "RandomForestClassifier"): {**_FOREST, **_CRITERION},
    ("sklearn", "RandomForestRegressor"): _FOREST,
    ("sklearn", "ExtraTreesClassifier"): {**_FOREST, **_CRITERION},
    ("sklearn", "ExtraTreesRegressor"): _FOREST,
    ("sklearn", "DecisionTreeClassifier"): {**_TREE, **_CRITERION},
    ("sklearn", "DecisionTreeRegressor"): _TREE,
    ("sklearn", "LogisticRegression"): {"C": _INVERSE_PENALTY, "max_iter": _ITERATIONS, **_CLASS_WEIGHT},
    ("sklearn", "LinearSVC"): {"C": _INVERSE_PENALTY, **_CLASS_WEIGHT},
    ("sklearn", "LinearSVR"): {"C": _INVERSE_PENALTY},
    ("sklearn", "Ridge"): {"alpha": _PENALTY},
    ("sklearn", "RidgeClassifier"): {"alpha": _PENALTY, **_CLASS_WEIGHT},
    ("sklearn", "SGDClassifier"): {**_SGD, **_CLASS_WEIGHT},
    ("sklearn", "SGDRegressor"): {**_SGD, "eta0": FloatRange(1e-4, 1e-1, log=True)},
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


def find_ready_space(estimator: Any, shape: DataShape) -> Space | None:
    """Return the ready space of an estimator, or None if there is none.

    Parameters
    ----------
    estimator : estimator
        Known by the name of its class or of a base class. The last step of a pipeline counts.
    shape : DataShape
        The training rows. A tree gets at most half as many leaves as rows, and a portfolio fits the shape.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> shape = DataShape(1000, 10, 2)
    >>> sorted(find_ready_space(make_pipeline(StandardScaler(), LogisticRegression()), shape).parameters)
    ['logisticregression__C', 'logisticregression__class_weight', 'logisticregression__max_iter']
    >>> find_ready_space(GaussianNB(), shape) is None
    True
    """
    learner, prefix = find_learner(estimator)
    for base in type(learner).__mro__:
        parameters = READY_SPACES.get((base.__module__.split(".")[0], base.__name__))
        if parameters is not None:
            names = {name: prefix + own for name, own in _find_names(learner, parameters).items()}
            space = make_space(estimator, {names[name]: one for name, one in parameters.items()})
            portfolio = [
                {names.get(name, prefix + name): value for name, value in one.items()}
                for one in find_portfolio(base.__name__, shape)
            ]
            return _limit_to_rows(space, portfolio, shape.n_rows)
    return None


def find_learner(estimator: Any) -> tuple[Any, str]:
    """Return the learner inside pipelines and wrappers, and the prefix of its parameters."""
    names = {base.__name__ for base in type(estimator).__mro__}
    if "Pipeline" in names and getattr(estimator, "steps", None):
        step, inner = estimator.steps[-1]
    elif "LabelEncodedClassifier" in names:
        step, inner = "estimator", estimator.estimator
    else:
        return estimator, ""
    learner, prefix = find_learner(inner)
    return learner, f"{step}__{prefix}"


def _limit_to_rows(space: Space, portfolio: list[Settings], n_rows: int) -> Space:
    """Return the space with fewer leaves and steps if there are few rows, and with the portfolio within its ranges."""
    limits = {name: n_rows // 2 for name in space.parameters if strip_prefix(name) in LEAVES}
    if space.steps is not None:
        limits[space.steps] = max(n_rows, MIN_STEPS_LIMIT)
    parameters = {
        name: replace(one, high=max(2 * one.low, min(one.high, limits[name])))
        if name in limits and isinstance(one, IntRange)
        else one
        for name, one in space.parameters.items()
    }
    limited = replace(space, parameters=parameters)
    starts = [limited.cheap] if portfolio else []
    return replace(limited, portfolio=tuple(limited.clip(dict(settings)) for settings in [*starts, *portfolio]))


def _find_names(learner: Any, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """Return the aliases that the user chose; CatBoost refuses two names of one parameter."""
    own = learner.get_params(deep=False)
    return {
        name: next((alias for alias in CATBOOST_ALIASES.get(name, ()) if name not in own and alias in own), name)
        for name in parameters
    }
