"""Spaces of learners that are known by name, each with its source and reason.

Ranges are narrower than FLAML's. Its local search does not depend on that, but random draws are affordable more often:
LightGBM on 10,000 rows of covtype, 5 s of fits, mean test accuracy of five seeds with these ranges and with FLAML's:
local .806 and .805, random .775 and .742 (learner's own hyperparameters: .805). Paths of the local search differ by a
point or two between seeds, so smaller differences between ranges could not be seen.

No space sets what does not change the model's quality (threads, seeds, verbosity), and none sets what the user's
labels or target decide (objective, loss). Each starts with a fast fit, and else near the learner's own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Parameter, Space

MAX_BOOSTING_STEPS = 4096
"""Most trees of a booster; FLAML has 32,768."""

MAX_LEAVES = 4096
"""Most leaves of one tree. FLAML has 32,768; its winners in 60 s on 500,000 rows had up to 792."""

MAX_FOREST_TREES = 1024
"""Most trees of a forest. FLAML has 2,048; the gain beyond a few hundred is below what validation rows can show."""

MIN_FOREST_TREES = 32
"""Fewest trees of a forest. FLAML has 4; fewer trees are faster, and never better."""

MIN_STEPS_LIMIT = 512
"""Steps that are allowed on any number of rows; beyond, there are at most as many steps as rows, as in FLAML."""


def find_ready_space(estimator: Any, n_rows: int) -> Space | None:
    """Return the ready space of an estimator, or None if there is none.

    Parameters
    ----------
    estimator : estimator
        Known by the name of its class or of a base class. The last step of a pipeline counts.
    n_rows : int
        Training rows; a tree gets at most half as many leaves.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> sorted(find_ready_space(make_pipeline(StandardScaler(), LogisticRegression()), 1000).parameters)
    ['logisticregression__C', 'logisticregression__class_weight', 'logisticregression__max_iter']
    >>> find_ready_space(GaussianNB(), 1000) is None
    True
    """
    learner, prefix = find_learner(estimator)
    for base in type(learner).__mro__:
        space = READY_SPACES.get((base.__module__.split(".")[0], base.__name__))
        if space is not None:
            return _keep_aliases(_limit_to_rows(space, n_rows), learner).add_prefix(prefix)
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


def _limit_to_rows(space: Space, n_rows: int) -> Space:
    limits = dict.fromkeys(("num_leaves", "max_leaves", "max_leaf_nodes"), n_rows // 2)
    if space.steps is not None:
        limits[space.steps] = max(n_rows, MIN_STEPS_LIMIT)
    parameters = {
        name: replace(parameter, high=max(2 * parameter.low, min(parameter.high, limits[name])))
        if name in limits and isinstance(parameter, IntRange)
        else parameter
        for name, parameter in space.parameters.items()
    }
    ladder = tuple(
        settings
        for settings in space.ladder
        if all(settings[name] <= limit for name, limit in limits.items() if name in settings)
    )
    return replace(space, parameters=parameters, ladder=ladder)


def _keep_aliases(space: Space, learner: Any) -> Space:
    """Return the space under the aliases that the user chose; CatBoost refuses two names of one parameter."""
    own = learner.get_params(deep=False)
    names = {
        name: next((alias for alias in CATBOOST_ALIASES.get(name, ()) if name not in own and alias in own), name)
        for name in space.parameters
    }
    return space.rename(names)


CATBOOST_ALIASES: Mapping[str, tuple[str, ...]] = {
    "iterations": ("n_estimators", "num_boost_round", "num_trees"),
    "depth": ("max_depth",),
    "learning_rate": ("eta",),
    "l2_leaf_reg": ("reg_lambda",),
    "border_count": ("max_bin",),
}
"""Other names of CatBoost's parameters."""


def _describe(
    parameters: Mapping[str, tuple[Parameter, Any]],
    steps: str | None = None,
    ladder: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Make a space from pairs of a parameter and its cheap value, and the values of each parameter on the ladder."""
    columns = {} if ladder is None else ladder
    return Space(
        {name: parameter for name, (parameter, _) in parameters.items()},
        {name: cheap for name, (_, cheap) in parameters.items()},
        steps,
        tuple(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)),
    )


_STEPS = IntRange(4, MAX_BOOSTING_STEPS, log=True), 4
_LEAVES = IntRange(4, MAX_LEAVES, log=True), 4
_LEARNING_RATE = FloatRange(0.01, 1.0, log=True), 0.1  # lower ones need more trees than a deadline allows
_L1_PENALTY = FloatRange(1 / 1024, 1024, log=True), 1 / 1024
_L2_PENALTY = FloatRange(1 / 1024, 1024, log=True), 1.0

# FLAML's (Wang et al., "FLAML: A Fast and Lightweight AutoML Library", MLSys 2021, appendix), with the limits above.
# Few trees of many leaves with a high rate are better and faster than 100 trees of 31 leaves on large data, many
# small steps on small data: steps, leaves and rate are searched together. `max_bin` is 2**k - 1, as there.
LIGHTGBM = _describe(
    {
        "n_estimators": _STEPS,
        "num_leaves": _LEAVES,
        "min_child_samples": (IntRange(2, 128, log=True), 20),
        "learning_rate": _LEARNING_RATE,
        "max_bin": (Choice((7, 15, 31, 63, 127, 255, 511, 1023)), 255),
        "colsample_bytree": (FloatRange(0.1, 1.0), 1.0),
        "reg_alpha": _L1_PENALTY,
        "reg_lambda": _L2_PENALTY,
    },
    "n_estimators",
    # With several classes a high rate needs the penalty: covtype, 40,000 rows, 20 trees of 512 leaves, .83 without it
    # and .89 with it.
    {
        "n_estimators": (20, 20, 20, 40, 100),
        "num_leaves": (31, 127, 511, 511, 15),
        "learning_rate": (0.4, 0.4, 0.4, 0.25, 0.1),
        "reg_lambda": (10.0, 10.0, 10.0, 10.0, 10.0),
        "colsample_bytree": (1.0, 1.0, 1.0, 0.8, 0.7),
    },
)

# FLAML's, as above. Trees grow leaf by leaf without a limit of depth, as there: the default depth of 6 ends at 64
# leaves. Its two samples of columns are one here, to save a dimension.
XGBOOST = _describe(
    {
        "n_estimators": _STEPS,
        "max_leaves": _LEAVES,
        "max_depth": (Choice((0,)), 0),
        "grow_policy": (Choice(("lossguide",)), "lossguide"),
        "min_child_weight": (FloatRange(0.001, 128.0, log=True), 1.0),
        "learning_rate": _LEARNING_RATE,
        "subsample": (FloatRange(0.5, 1.0), 1.0),
        "colsample_bytree": (FloatRange(0.1, 1.0), 1.0),
        "reg_alpha": _L1_PENALTY,
        "reg_lambda": _L2_PENALTY,
    },
    "n_estimators",
    {
        "n_estimators": (20, 20, 20, 40, 100),
        "max_leaves": (31, 127, 511, 511, 15),
        "max_depth": (0, 0, 0, 0, 0),
        "grow_policy": ("lossguide",) * 5,
        "learning_rate": (0.4, 0.4, 0.4, 0.25, 0.1),
        "reg_lambda": (3.0, 3.0, 3.0, 3.0, 3.0),
        "colsample_bytree": (1.0, 1.0, 1.0, 0.8, 0.7),
    },
)

# The parameters that CatBoost's guide to tuning names; FLAML searches the rate and early stopping only. Trees are
# symmetric: 10 levels are 1,024 leaves, and each level doubles the time.
CATBOOST = _describe(
    {
        "iterations": _STEPS,
        "depth": (IntRange(2, 10), 4),
        "learning_rate": _LEARNING_RATE,
        "l2_leaf_reg": (FloatRange(0.1, 100.0, log=True), 3.0),
        "border_count": (Choice((15, 31, 63, 127, 254)), 127),
    },
    "iterations",
    {
        "iterations": (50, 100, 100, 200),
        "depth": (6, 6, 8, 10),
        "learning_rate": (0.5, 0.3, 0.4, 0.3),
        "border_count": (127, 127, 127, 127),
    },
)

# FLAML's; scikit-learn allows at most 255 bins.
HIST_GRADIENT_BOOSTING = _describe(
    {
        "max_iter": _STEPS,
        "max_leaf_nodes": _LEAVES,
        "min_samples_leaf": (IntRange(2, 128, log=True), 20),
        "learning_rate": _LEARNING_RATE,
        "max_bins": (Choice((7, 15, 31, 63, 127, 255)), 255),
        "l2_regularization": _L1_PENALTY,
    },
    "max_iter",
    {
        "max_iter": (20, 20, 20, 40, 100),
        "max_leaf_nodes": (31, 127, 511, 511, 15),
        "learning_rate": (0.4, 0.4, 0.4, 0.25, 0.1),
        "l2_regularization": (10.0, 10.0, 10.0, 10.0, 10.0),
    },
)

_CRITERION = Choice(("gini", "entropy")), "gini"

# Trees, columns a split and size of leaves are what matters by Probst et al. ("Hyperparameters and tuning strategies
# for random forest", 2019). FLAML limits `max_leaf_nodes`: scikit-learn then grows best-first, which is slower, and
# trees without a limit, the default, are outside of that space. Parts of columns, not roots: where few columns are
# informative, nearly all of them are best.
FOREST_REGRESSOR = _describe(
    {
        "n_estimators": (IntRange(MIN_FOREST_TREES, MAX_FOREST_TREES, log=True), MIN_FOREST_TREES),
        "max_features": (FloatRange(0.05, 1.0, log=True), 0.3),
        "min_samples_leaf": (IntRange(1, 64, log=True), 8),
    },
    "n_estimators",
    # No fewer trees: they are faster, and never better.
    {"max_features": (0.3, 0.7), "min_samples_leaf": (1, 1)},
)
FOREST_CLASSIFIER = FOREST_REGRESSOR.add("criterion", *_CRITERION)

# Both limit the size, one evenly, one where rows are few.
TREE_REGRESSOR = _describe(
    {"max_depth": (IntRange(2, 64, log=True), 4), "min_samples_leaf": (IntRange(1, 256, log=True), 16)},
    ladder={"max_depth": (8, 16, 32, 32), "min_samples_leaf": (16, 8, 32, 2)},
)
TREE_CLASSIFIER = TREE_REGRESSOR.add("criterion", *_CRITERION)

# Metrics of rare classes depend on it most in linear models; trees isolate those classes anyway.
_CLASS_WEIGHT = Choice((None, "balanced")), None

# FLAML's `C`, with room below for wide data. Solvers seldom converge on columns of unequal scale, and their time grows
# with the steps.
LOGISTIC_REGRESSION = _describe(
    {
        "C": (FloatRange(2**-10, 2**15, log=True), 1.0),
        "max_iter": (IntRange(8, 1024, log=True), 8),
        "class_weight": _CLASS_WEIGHT,
    },
    "max_iter",
    {"C": (1.0, 100.0, 0.01, 1.0), "max_iter": (16, 64, 64, 256)},
)

# From 2**-5 to 2**15 in the guide of LIBSVM (Hsu et al., 2003); lower here, since the time grows with `C`. No step
# count: LIBLINEAR stops at its tolerance. `epsilon` of the regressor has the target's unit, which is not known here.
LINEAR_SVR = _describe({"C": (FloatRange(2**-12, 2**8, log=True), 2**-6)}, ladder={"C": (0.001, 0.03, 10.0)})
LINEAR_SVC = LINEAR_SVR.add("class_weight", *_CLASS_WEIGHT)

# Eight powers of ten; each value takes the same time.
RIDGE_REGRESSOR = _describe({"alpha": (FloatRange(1e-4, 1e4, log=True), 1.0)})
RIDGE_CLASSIFIER = RIDGE_REGRESSOR.add("class_weight", *_CLASS_WEIGHT)

# Around the default of `alpha`, 1e-4, three powers of ten to each side. The first step of the regressor is searched
# since its schedule does not follow from `alpha`, as that of the classifier does.
_SGD = _describe(
    {
        "alpha": (FloatRange(1e-7, 1e-1, log=True), 1e-4),
        "average": (Choice((False, True)), False),
        "max_iter": (IntRange(4, 1024, log=True), 4),
    },
    "max_iter",
)
SGD_REGRESSOR = _SGD.add("eta0", FloatRange(1e-4, 1e-1, log=True), 0.01)
SGD_CLASSIFIER = _SGD.add("class_weight", *_CLASS_WEIGHT)

READY_SPACES: Mapping[tuple[str, str], Space] = {
    ("lightgbm", "LGBMClassifier"): LIGHTGBM,
    ("lightgbm", "LGBMRegressor"): LIGHTGBM,
    ("xgboost", "XGBClassifier"): XGBOOST,
    ("xgboost", "XGBRegressor"): XGBOOST,
    ("catboost", "CatBoostClassifier"): CATBOOST,
    ("catboost", "CatBoostRegressor"): CATBOOST,
    ("sklearn", "HistGradientBoostingClassifier"): HIST_GRADIENT_BOOSTING,
    ("sklearn", "HistGradientBoostingRegressor"): HIST_GRADIENT_BOOSTING,
    ("sklearn", "RandomForestClassifier"): FOREST_CLASSIFIER,
    ("sklearn", "RandomForestRegressor"): FOREST_REGRESSOR,
    ("sklearn", "ExtraTreesClassifier"): FOREST_CLASSIFIER,
    ("sklearn", "ExtraTreesRegressor"): FOREST_REGRESSOR,
    ("sklearn", "DecisionTreeClassifier"): TREE_CLASSIFIER,
    ("sklearn", "DecisionTreeRegressor"): TREE_REGRESSOR,
    ("sklearn", "LogisticRegression"): LOGISTIC_REGRESSION,
    ("sklearn", "LinearSVC"): LINEAR_SVC,
    ("sklearn", "LinearSVR"): LINEAR_SVR,
    ("sklearn", "Ridge"): RIDGE_REGRESSOR,
    ("sklearn", "RidgeClassifier"): RIDGE_CLASSIFIER,
    ("sklearn", "SGDClassifier"): SGD_CLASSIFIER,
    ("sklearn", "SGDRegressor"): SGD_REGRESSOR,
}
"""Spaces by the package and the name of the learner's class."""
