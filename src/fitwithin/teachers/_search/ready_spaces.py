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
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Parameter, Space, make_space

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

_MAX_STARTS = 4
"""Configurations of a portfolio that are tried."""


def _make_parameter(values: Any) -> Parameter:
    if isinstance(values, list):
        return Choice(tuple(None if value == "None" else value for value in values))
    ((scale, (low, high)),) = values.items()
    return (IntRange if isinstance(low, int) else FloatRange)(low, high, log=scale == "log")


READY_SPACES: dict[tuple[str, ...], dict[str, Parameter]] = {}
"""Hyperparameters by the package and the name of the learner's class."""

for _entry in _TABLE["space"]:
    for _learner in _entry["learners"]:
        _parameters = {name: _make_parameter(values) for name, values in _entry["parameters"].items()}
        READY_SPACES.setdefault(tuple(_learner.split(".")), {}).update(_parameters)


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
    aliases = _TABLE["aliases"].get(name, ()) if name not in own else ()
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
    names, spec = _TABLE["portfolio"].get(learner), find_spec("flaml")
    if names is None or spec is None or spec.origin is None:
        return []
    task = "regression" if not shape.n_classes else "binary" if shape.n_classes <= 2 else "multiclass"
    try:
        path = Path(spec.origin).parent / "default" / names["folder"] / f"{task}.json"
        configurations = [
            one.get("hyperparameters", {}) for one in _choose_nearest(json.loads(path.read_text("utf-8")), shape)
        ]
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
    known = {name: 2**value - 1 if name == "log_max_bin" else value for name, value in configuration.items()}
    found = {names.get(name, name): value for name, value in known.items()}
    return found | ({"depth": round(math.log2(found["depth"]))} if "depth" in found else {})
