"""Parameter space of one estimator, and its validation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterSampler

from fitwithin.teachers._search.parameters import Choice, FloatRange, Parameter, is_number, make_parameter, to_python

Settings = dict[str, Any]
"""Values by the estimator's own parameter names, for `set_params`."""

STEP_COUNTS = ("n_estimators", "max_iter", "iterations", "num_boost_round", "num_trees")
"""Names under which estimators count their steps."""

_CHEAP_WHEN_LOW = frozenset(
    {*STEP_COUNTS, "depth", "max_depth", "max_leaf_nodes", "max_leaves", "n_components", "n_init", "num_leaves"}
)
"""Parameters whose lowest value gives the fastest fit."""

LEAVES = ("num_leaves", "max_leaves", "max_leaf_nodes")
"""Names under which estimators count the leaves of a tree."""

_LEARNING_RATES = ("learning_rate", "eta")

_MAX_RATE = 0.5
"""Highest learning rate that steps are traded for: FLAML's winners on covtype in 18 s had 0.47 to 0.49."""

_MIN_STEPS = 20
"""Fewest steps that are left of a portfolio's; the same winners had 11 to 19."""

_SURE_TYPO = 0.9
"""Similarity of a typing error, even if the estimator takes any name: num_leave is one, num_leaf is not."""


@dataclass(frozen=True)
class Space:
    """Settings that a search may try.

    Parameters
    ----------
    parameters : mapping of str to Parameter
        Parameters by name.
    cheap : mapping of str to Any, optional
        Settings to begin with: those of a fast fit. Parameters that are left out are drawn.
    steps : str, optional
        Name of the parameter that counts the estimator's steps, such as "n_estimators", if it is in the space.
    portfolio : tuple of dict, optional
        Settings that were good on other data, to try first. Parameters that are left out stay as the estimator has
        them. With too many steps for the time there is, they are tried with fewer steps and a higher learning rate.

    Examples
    --------
    >>> from fitwithin.teachers._search.parameters import Choice, IntRange
    >>> space = Space({"n_estimators": IntRange(4, 64, log=True), "max_depth": Choice((3, None))}, {"n_estimators": 4})
    >>> space.complete({"n_estimators": 8, "max_depth": 3}, np.random.RandomState(0))
    {'max_depth': 3, 'n_estimators': 8}
    """

    parameters: Mapping[str, Parameter]
    cheap: Mapping[str, Any] = field(default_factory=dict)
    steps: str | None = None
    portfolio: tuple[Settings, ...] = ()

    def sample(self, random: np.random.RandomState) -> Settings:
        """Draw settings."""
        (drawn,) = ParameterSampler(self.parameters, 1, random_state=random)
        return {name: to_python(value) for name, value in drawn.items()}

    def complete(self, settings: Mapping[str, Any], random: np.random.RandomState) -> Settings:
        """Return these settings, with the cheap value, or else a drawn one, where a parameter is missing."""
        return {**self.sample(random), **self.cheap, **settings}

    def clip(self, settings: Mapping[str, Any]) -> Settings:
        """Return settings with each number in its range, or the nearest one of a list."""
        known = {name: one for name, one in self.parameters.items() if isinstance(one, Choice | FloatRange)}
        return {name: known[name].nearest(value) if name in known else value for name, value in settings.items()}

    def count_leaves(self, settings: Mapping[str, Any]) -> float:
        """Return the leaves of each tree; 0 if unknown."""
        for name, value in settings.items():
            if strip_prefix(name) in LEAVES and is_number(value):
                return float(value)
            if strip_prefix(name) == "depth" and is_number(value):
                return float(2**value)
        return 0.0

    def limit_steps(self, settings: Settings, most: float) -> Settings:
        """Return hyperparameters with at most `most` steps, and with a learning rate that is higher in proportion.

        Examples
        --------
        >>> from fitwithin.teachers._search.parameters import IntRange
        >>> space = Space({"n_estimators": IntRange(4, 4096)}, steps="n_estimators")
        >>> space.limit_steps({"n_estimators": 1000, "learning_rate": 0.05}, 250)
        {'n_estimators': 250, 'learning_rate': 0.2}
        """
        n_steps = settings.get(self.steps or "")
        most = max(most, _MIN_STEPS)
        if not isinstance(n_steps, int) or n_steps <= most:
            return settings
        faster = {
            name: max(rate, min(rate * n_steps / most, _MAX_RATE))
            for name, rate in settings.items()
            if strip_prefix(name) in _LEARNING_RATES
        }
        return {**settings, str(self.steps): int(most), **faster}


def make_spaces(estimator: Any, param_distributions: Any) -> list[Space]:
    """Make a space from each dict of a list, as in scikit-learn; see `make_space`."""
    distributions = param_distributions if isinstance(param_distributions, list) else [param_distributions]
    return [make_space(estimator, one) for one in distributions or [None]]


def make_space(estimator: Any, param_distributions: Any) -> Space:
    """Make the space of an estimator from lists and distributions.

    Parameters
    ----------
    estimator : estimator
        Its parameters are searched; ``step__parameter`` in a pipeline.
    param_distributions : dict
        As in scikit-learn's ``RandomizedSearchCV``: for each parameter a list of values, or an object with `rvs`.

    Returns
    -------
    Space
        It begins with the lowest step counts, depths and numbers of leaves, and else with the estimator's own values.

    Raises
    ------
    TypeError
        If this is not a dict, or a value is neither a list nor a distribution.
    ValueError
        If the dict or a list in it is empty, or the estimator has no such parameter.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> space = make_space(RandomForestClassifier(), {"n_estimators": [10, 30, 100], "max_features": ["sqrt", None]})
    >>> space.cheap, space.steps
    ({'n_estimators': 10, 'max_features': 'sqrt'}, 'n_estimators')
    """
    if not isinstance(param_distributions, Mapping):
        raise TypeError(
            f"param_distributions is {param_distributions!r}, of type {type(param_distributions).__name__}; "
            "expected a dict of parameter names and their values, or a list of such dicts."
        )
    if not param_distributions:
        raise ValueError("param_distributions is empty; name at least one parameter, or pass None for a ready space.")
    for name in param_distributions:
        _check_name(estimator, name)
    parameters = {name: make_parameter(name, values) for name, values in param_distributions.items()}
    steps = next((name for name in parameters if strip_prefix(name) in STEP_COUNTS), None)
    return Space(parameters, _find_cheap_values(estimator, parameters), steps)


def _check_name(estimator: Any, name: Any) -> None:
    """Raise an error unless the estimator, or one inside it, has this parameter, or takes any name."""
    if not isinstance(name, str):
        raise TypeError(f"A parameter's name is {name!r}, of type {type(name).__name__}; expected a string.")
    params = estimator.get_params(deep=True)
    step, _, own_name = name.rpartition("__")
    owner, prefix = params.get(step), f"{step}__"
    if not hasattr(owner, "get_params"):
        owner, prefix, own_name = estimator, "", name
    signature = inspect.signature(type(owner)).parameters.values()
    # get_params of CatBoost has the parameters that were set; the signature of XGBoost has none of its base's.
    named = {one.name for one in signature if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    known = sorted(named | {one.removeprefix(prefix) for one in params if one.startswith(prefix)})
    takes_any = any(one.kind is one.VAR_KEYWORD for one in signature) and "__" not in own_name
    if own_name in known or (takes_any and not get_close_matches(own_name, known, 1, _SURE_TYPO)):
        return
    close = get_close_matches(name, [prefix + one for one in known], 1)
    raise ValueError(
        f"{type(owner).__name__} has no parameter {name!r}; it has {', '.join(prefix + one for one in known)}."
        + (f" Did you mean {close[0]!r}?" if close else "")
    )


def _find_cheap_values(estimator: Any, parameters: Mapping[str, Parameter]) -> Settings:
    own = estimator.get_params(deep=True)
    return {
        name: one.lowest
        if one.lowest is not None and strip_prefix(name) in _CHEAP_WHEN_LOW
        else one.nearest(own.get(name))
        for name, one in parameters.items()
        if isinstance(one, Choice | FloatRange)
    }


def strip_prefix(name: str) -> str:
    """Return the name that a parameter has in its own estimator."""
    return name.rsplit("__", 1)[-1]
