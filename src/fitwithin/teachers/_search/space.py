"""Parameter space of one estimator, and its validation."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from fitwithin.teachers._search.parameters import (
    Choice,
    Distribution,
    FloatRange,
    IntRange,
    Parameter,
    make_parameter,
)

__all__ = ["Choice", "Distribution", "FloatRange", "IntRange", "Parameter", "Settings", "Space", "make_space"]

Settings = dict[str, Any]
"""Values by the estimator's own parameter names, for `set_params`."""

STEP_COUNTS = ("n_estimators", "max_iter", "iterations", "num_boost_round", "num_trees")
"""Names under which estimators count their steps."""

_CHEAP_WHEN_LOW = frozenset(
    {*STEP_COUNTS, "depth", "max_depth", "max_leaf_nodes", "max_leaves", "n_components", "n_init", "num_leaves"}
)
"""Parameters whose lowest value gives the fastest fit."""

_LEAVES = ("num_leaves", "max_leaves", "max_leaf_nodes")
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
    >>> space = Space({"n_estimators": IntRange(4, 64, log=True), "max_depth": Choice((3, None))}, {"n_estimators": 4})
    >>> space.complete({"n_estimators": 8, "max_depth": 3}, np.random.default_rng(0))
    {'n_estimators': 8, 'max_depth': 3}
    """

    parameters: Mapping[str, Parameter]
    cheap: Mapping[str, Any] = field(default_factory=dict)
    steps: str | None = None
    portfolio: tuple[Settings, ...] = ()

    def sample(self, rng: np.random.Generator) -> Settings:
        """Draw settings."""
        return {name: parameter.sample(rng) for name, parameter in self.parameters.items()}

    def complete(self, settings: Mapping[str, Any], rng: np.random.Generator) -> Settings:
        """Return these settings, with the cheap value, or else a drawn one, where a parameter is missing."""
        drawn = self.sample(rng)
        return {**drawn, **self.cheap, **settings}

    @property
    def n_settings(self) -> float:
        """Number of different settings; infinite if there is a range of floats or a distribution."""
        return math.prod(_count_values(parameter) for parameter in self.parameters.values())

    def list_settings(self) -> Iterator[Settings]:
        """List all settings of a space without ranges of floats and distributions."""
        return iter(ParameterGrid({name: _list_values(parameter) for name, parameter in self.parameters.items()}))

    def validate_start(self, settings: Mapping[str, Any]) -> None:
        """Raise ValueError if settings to begin with have a parameter that the space does not have."""
        for name in settings:
            if name not in self.parameters:
                raise ValueError(
                    f"The settings to begin with have the parameter {name!r}, which is not searched; "
                    f"searched are {_list_names(self.parameters)}." + _suggest_name(name, self.parameters)
                )

    def clip(self, settings: Mapping[str, Any]) -> Settings:
        """Return settings with each number in its range, or the nearest one of a list."""
        parameters = self.parameters
        return {
            name: value if not _is_number(value) or name not in parameters else _clip(parameters[name], value)
            for name, value in settings.items()
        }

    def add_prefix(self, prefix: str) -> Space:
        """Return this space for an estimator inside another one, with each name after the prefix."""
        return Space(
            {prefix + name: parameter for name, parameter in self.parameters.items()},
            {prefix + name: value for name, value in self.cheap.items()},
            None if self.steps is None else prefix + self.steps,
            tuple({prefix + name: value for name, value in settings.items()} for settings in self.portfolio),
        )

    def count_leaves(self, settings: Mapping[str, Any]) -> float:
        """Return the leaves of each tree; 0 if unknown."""
        for name, value in settings.items():
            if _strip_prefix(name) in _LEAVES and _is_number(value):
                return float(value)
            if _strip_prefix(name) == "depth" and _is_number(value):
                return float(2**value)
        return 0.0

    def limit_steps(self, settings: Settings, most: float) -> Settings:
        """Return hyperparameters with at most `most` steps, and with a learning rate that is higher in proportion.

        Examples
        --------
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
            if _strip_prefix(name) in _LEARNING_RATES
        }
        return {**settings, str(self.steps): int(most), **faster}


def make_spaces(estimator: Any, param_distributions: Any) -> list[Space]:
    """Make a space from each dict of a list, as in scikit-learn; see `make_space`."""
    if not isinstance(param_distributions, list) or not param_distributions:
        return [make_space(estimator, param_distributions)]
    return [make_space(estimator, one) for one in param_distributions]


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
    return Space(parameters, _find_cheap_values(estimator, parameters), _find_steps(parameters))


def _check_name(estimator: Any, name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"A parameter's name is {name!r}, of type {type(name).__name__}; expected a string.")
    owner, own_name, prefix = _find_owner(estimator, name)
    known, takes_any = _list_parameters(owner)
    if own_name in known:
        return
    if takes_any and "__" not in own_name and not get_close_matches(own_name, known, 1, _SURE_TYPO):
        return
    raise ValueError(
        f"{type(owner).__name__} has no parameter {own_name!r}"
        + (f" (from {name!r})" if prefix else "")
        + f"; it has {_list_names(prefix + known_name for known_name in sorted(known))}."
        + _suggest_name(name, [prefix + known_name for known_name in known])
    )


def _find_owner(estimator: Any, name: str) -> tuple[Any, str, str]:
    """Return the estimator inside this one whose parameter this is, the parameter's name there, and the prefix."""
    prefix = ""
    while "__" in name:
        step, rest = name.split("__", 1)
        inner = estimator.get_params(deep=True).get(step)
        if not hasattr(inner, "get_params"):
            break
        estimator, name, prefix = inner, rest, f"{prefix}{step}__"
    return estimator, name, prefix


def _list_parameters(estimator: Any) -> tuple[set[str], bool]:
    """Return the parameters of an estimator, without those of estimators inside it, and whether it takes any name."""
    signature = inspect.signature(type(estimator).__init__).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.values())
    named = {
        name
        for name, parameter in signature.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    # get_params of CatBoost has the parameters that were set; the signature of XGBoost has none of its base's.
    # The steps of a pipeline are parameters only in the deep list.
    deep = {name for name in estimator.get_params(deep=True) if "__" not in name}
    return (named | deep) - {"self"}, takes_any


def _find_cheap_values(estimator: Any, parameters: Mapping[str, Parameter]) -> Settings:
    own = estimator.get_params(deep=True)
    cheap = {}
    for name, parameter in parameters.items():
        low = _find_lowest(parameter)
        if _strip_prefix(name) in _CHEAP_WHEN_LOW and low is not None:
            cheap[name] = low
        elif name in own and _has_value(parameter, own[name]):
            cheap[name] = own[name]
        elif isinstance(parameter, IntRange | FloatRange):
            cheap[name] = parameter.clip(own[name]) if _is_number(own.get(name)) else parameter.middle
        elif isinstance(parameter, Choice) and parameter.is_constant:
            cheap[name] = parameter.values[0]
    return cheap


def _find_lowest(parameter: Parameter) -> Any:
    if isinstance(parameter, IntRange | FloatRange):
        return parameter.low
    if isinstance(parameter, Choice):
        numbers = [value for value in parameter.values if IntRange(1, 10**9).contains(value)]
        return min(numbers, default=None)
    return None


def _clip(parameter: Parameter, value: float) -> Any:
    if isinstance(parameter, Choice):
        return min(parameter.values, key=lambda known: abs(known - value)) if parameter.is_ordered else value
    return value if isinstance(parameter, Distribution) else parameter.clip(value)


def _has_value(parameter: Parameter, value: Any) -> bool:
    if isinstance(parameter, Choice):
        return parameter.find(value) is not None
    if isinstance(parameter, Distribution):
        return False
    return parameter.contains(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _find_steps(parameters: Mapping[str, Parameter]) -> str | None:
    return next((name for name in parameters if _strip_prefix(name) in STEP_COUNTS), None)


def _strip_prefix(name: str) -> str:
    return name.rsplit("__", 1)[-1]


def _count_values(parameter: Parameter) -> float:
    if isinstance(parameter, Choice):
        return len(parameter.values)
    if isinstance(parameter, IntRange):
        return parameter.high - parameter.low + 1
    return 1 if parameter.is_constant else math.inf


def _list_values(parameter: Parameter) -> list[Any]:
    if isinstance(parameter, Choice):
        return list(parameter.values)
    if isinstance(parameter, IntRange):
        return list(range(parameter.low, parameter.high + 1))
    if isinstance(parameter, FloatRange) and parameter.is_constant:
        return [parameter.low]
    raise ValueError(f"{parameter!r} has too many values to list.")


def _list_names(names: Any) -> str:
    return ", ".join(names)


def _suggest_name(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), 1)
    return f" Did you mean {close[0]!r}?" if close else ""
