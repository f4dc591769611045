"""Which learners can be asked to stop, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from ._patience import Patience


class Stopping(Protocol):
    """A fit that ends when its time is up, with what it has by then.

    It leaves an ordinary fitted learner, with the parameters that the user set, and with at most as many steps. It
    takes at least one step, however late it is. With time enough it is the learner of a plain fit.
    """

    def __call__(self, learner: Any, X: Any, y: Any, patience: Patience, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` are the other arguments of its fit."""
        ...


# By the names of a library and of a class in it, so that none is imported for a learner that is not there: the module
# of the function may import it.
_KNOWN: dict[str, str] = {
    "lightgbm.LGBMClassifier": "_boosters.fit_lightgbm",
    "lightgbm.LGBMRanker": "_boosters.fit_lightgbm",
    "lightgbm.LGBMRegressor": "_boosters.fit_lightgbm",
    "xgboost.XGBClassifier": "_boosters.fit_xgboost",
    "xgboost.XGBRanker": "_boosters.fit_xgboost",
    "xgboost.XGBRegressor": "_boosters.fit_xgboost",
    "catboost.CatBoost": "_boosters.fit_catboost",
    "catboost.CatBoostClassifier": "_boosters.fit_catboost",
    "catboost.CatBoostRanker": "_boosters.fit_catboost",
    "catboost.CatBoostRegressor": "_boosters.fit_catboost",
    "sklearn.GradientBoostingClassifier": "_boosters.fit_gradient_boosting",
    "sklearn.GradientBoostingRegressor": "_boosters.fit_gradient_boosting",
    "sklearn.HistGradientBoostingClassifier": "_boosters.fit_hist_gradient_boosting",
    "sklearn.HistGradientBoostingRegressor": "_boosters.fit_hist_gradient_boosting",
    "sklearn.RandomForestClassifier": "_ensembles.fit_forest",
    "sklearn.RandomForestRegressor": "_ensembles.fit_forest",
    "sklearn.ExtraTreesClassifier": "_ensembles.fit_forest",
    "sklearn.ExtraTreesRegressor": "_ensembles.fit_forest",
    "sklearn.BaggingClassifier": "_ensembles.fit_bagging",
    "sklearn.BaggingRegressor": "_ensembles.fit_bagging",
    "sklearn.LogisticRegression": "_epochs.fit_logistic_regression",
    "sklearn.SGDClassifier": "_epochs.fit_sgd",
    "sklearn.SGDRegressor": "_epochs.fit_sgd",
    "sklearn.Perceptron": "_epochs.fit_sgd",
    "sklearn.PassiveAggressiveClassifier": "_epochs.fit_sgd",
    "sklearn.PassiveAggressiveRegressor": "_epochs.fit_sgd",
    "sklearn.MLPClassifier": "_networks.fit_network",
    "sklearn.MLPRegressor": "_networks.fit_network",
    "sklearn.Pipeline": "_pipeline.fit_pipeline",
    "fitwithin.AnyLabels": "_labels.fit_any_labels",
}
# Those that can with some settings only.
_IF: dict[str, str] = {
    "_boosters.fit_catboost": "_boosters.is_on_the_processor",
    "_boosters.fit_hist_gradient_boosting": "_boosters.asks_itself",
    "_networks.fit_network": "_networks.goes_by_batches",
    "_ensembles.fit_bagging": "_ensembles.has_no_oob_score",
    "_epochs.fit_logistic_regression": "_epochs.can_go_on",
    "_pipeline.fit_pipeline": "_pipeline.can_stop_at_the_end",
    "_labels.fit_any_labels": "_labels.can_stop_inside",
}
_ADDED: dict[type, Stopping] = {}


def register_stopping(kind: type, stopping: Stopping) -> None:
    """Teach the library how to stop a kind of learner.

    Parameters
    ----------
    kind : type
        The learner's class. Its subclasses are stopped in the same way, but for those with a `fit` of their own. It
        goes before what the library knows of that class.
    stopping : callable(learner, X, y, patience, params)
        Fits the learner in place, and ends when the time is up: `patience.steps(most)` yields the steps that there is
        time for; `patience.over()` and `patience.left()` are for learners without a number of steps. `params` are the
        other arguments of the learner's fit, such as `sample_weight`. To be used in another process it must be
        picklable by cloudpickle, like the learner.

    Examples
    --------
    >>> from fitwithin._stopping import Patience, register_stopping, stopping_fit
    >>> class Counter:
    ...     def fit(self, X, y):
    ...         self.steps_ = 1000
    >>> def fit(learner, X, y, patience, params):
    ...     for step in patience.steps(1000):
    ...         learner.steps_ = step + 1
    >>> register_stopping(Counter, fit)
    >>> counter = Counter()
    >>> stopping_fit(counter)(counter, None, None, Patience(0), {})
    >>> counter.steps_
    1
    """
    if not isinstance(kind, type) or not callable(stopping):
        raise TypeError(f"register_stopping takes a class and a callable; got {kind!r} and {stopping!r}.")
    _ADDED[kind] = stopping


def stopping_fit(learner: Any) -> Stopping | None:
    """How to fit this learner so that it ends when its time is up; None for a black box.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> stopping_fit(RandomForestClassifier()) is None
    False
    >>> stopping_fit(DecisionTreeClassifier()) is None
    True
    """
    kinds = [kind for kind in type(learner).__mro__ if _fits_like(learner, kind)]
    for kind in kinds:
        if kind in _ADDED:
            return _ADDED[kind]
    for kind in kinds:
        name = _KNOWN.get(f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}")
        if name is not None and (name not in _IF or _load(_IF[name])(learner)):
            stopping: Stopping = _load(name)
            return stopping
    return None


def _fits_like(learner: Any, kind: type) -> bool:
    """Whether the learner has the `fit` of this class; one that a user wrote may do anything, and is left alone."""
    return "fit" not in getattr(learner, "__dict__", {}) and getattr(type(learner), "fit", None) is getattr(
        kind, "fit", None
    )


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    loaded: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return loaded
