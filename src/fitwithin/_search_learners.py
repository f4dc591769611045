"""The learners of a search, from what the user passes: one or a list, by name or as estimators, with their spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from sklearn.base import is_classifier, is_regressor

from fitwithin._core.preset_table import BOOSTERS, CLASSIFIERS, REGRESSORS
from fitwithin._presets import make_preset
from fitwithin.backends._early_stopping.registry import find_inner_learner
from fitwithin.teachers._search.ready_spaces import DataShape, find_ready_space
from fitwithin.teachers._search.space import Settings, Space, make_spaces

_EXPECTED = "an estimator, the name of one, or a list of these and of pairs (estimator, param_distributions)"
AUTO_LEARNERS = ("lightgbm", "catboost", "xgboost", "extra-trees", "hist-gradient-boosting", "logistic-regression")
"""Learners of a search with ``estimator="auto"``, as far as they are installed."""


@dataclass(frozen=True, eq=False)
class SearchLearner:
    """A learner of a search.

    Parameters
    ----------
    estimator : estimator
        Not fitted, with its own hyperparameters.
    distributions : dict, list of dict or None
        The settings to try, as the user passed them; None for a ready space.
    name : str
        Its name in the results.
    """

    estimator: Any
    distributions: Any
    name: str

    def make_spaces(self, shape: DataShape) -> list[Space]:
        """Return the settings to try, one space for each dict; an empty one for the learner's own ones alone."""
        if self.distributions is None:
            return [find_ready_space(self.estimator, shape, find_inner_learner(self.estimator)) or Space({})]
        return make_spaces(self.estimator, self.distributions)


def list_learners(
    estimator: Any, param_distributions: Any, task: str | None, n_threads: int = -1
) -> list[SearchLearner]:
    """Return the learners of a search.

    Parameters
    ----------
    estimator, param_distributions, task
        As in `TimeConstrainedSearch`.
    n_threads : int, default=-1
        Threads of learners that are given by name; -1 for one for each core.

    Raises
    ------
    TypeError, ValueError
        If they are not what is expected; the message says what to do.

    Examples
    --------
    >>> [learner.name for learner in list_learners(["random-forest", "linear-svm"], None, None)]
    ['random-forest', 'linear-svm']
    """
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be None, 'classification' or 'regression'; got {task!r}.")
    if isinstance(estimator, str) and estimator == "auto":
        known = REGRESSORS if task == "regression" else CLASSIFIERS
        estimator = [name for name in AUTO_LEARNERS if name in known and (name not in BOOSTERS or find_spec(name))]
    is_list = isinstance(estimator, list)
    if is_list and param_distributions is not None:
        raise ValueError(
            "param_distributions is for one estimator; got a list of estimators. Pass pairs "
            "(estimator, param_distributions) in the list instead."
        )
    if is_list and not estimator:
        raise ValueError(f"estimator is an empty list; expected {_EXPECTED}.")
    pairs = [_split(entry) for entry in estimator] if is_list else [(estimator, param_distributions)]
    regression = _find_task([entry for entry, _ in pairs], task)
    learners = [_make_learner(entry, distributions, regression, n_threads) for entry, distributions in pairs]
    return _number_names(learners)


def _split(entry: Any) -> tuple[Any, Any]:
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise ValueError(f"Got a tuple of {len(entry)} in the list of estimators; expected {_EXPECTED}.")
        return entry
    return entry, None


def is_regression(estimator: Any, task: str | None) -> bool:
    """Whether a search is for regression; whatever cannot be told counts as classification, and `fit` reports it."""
    entries = estimator if isinstance(estimator, list) else [estimator]
    learners = [entry[0] if isinstance(entry, tuple) and entry else entry for entry in entries]
    kinds = _find_kinds(learners)
    return "regression" in kinds if kinds else task == "regression"


def _find_task(entries: Sequence[Any], task: str | None) -> bool:
    """Return whether all estimators are regressors; names alone are classifiers unless the task says otherwise."""
    objects = [entry for entry in entries if not isinstance(entry, str) and entry is not None]
    for entry in objects:
        if isinstance(entry, type) or not (callable(getattr(entry, "fit", None)) and hasattr(entry, "predict")):
            raise TypeError(f"estimator must be {_EXPECTED}; got {entry!r}.")
    kinds = _find_kinds(objects)
    if len(kinds) > 1:
        names = ", ".join(type(entry).__name__ for entry in objects)
        raise ValueError(f"A search takes classifiers or regressors, not both; got {names}.")
    found = kinds.pop() if kinds else None
    if found is not None and task is not None and found != task:
        raise ValueError(f"task is {task!r}, and the estimators are for {found}. Leave task out.")
    return (found or task) == "regression"


def _find_kinds(entries: Sequence[Any]) -> set[str]:
    """Return what the estimators among the entries are for; names and estimators without tags do not tell."""
    tagged = [entry for entry in entries if hasattr(entry, "__sklearn_tags__")]
    found = {"regression": any(map(is_regressor, tagged)), "classification": any(map(is_classifier, tagged))}
    return {kind for kind, is_there in found.items() if is_there}


def _make_learner(entry: Any, distributions: Any, regression: bool, n_threads: int) -> SearchLearner:
    if entry is None:
        entry = make_preset("hist-gradient-boosting", regression=regression)
    if isinstance(entry, str):
        return SearchLearner(make_preset(entry, regression=regression, n_jobs=n_threads), distributions, entry)
    learner = SearchLearner(entry, distributions, type(find_inner_learner(entry)).__name__)
    if distributions is not None:
        # An error in it should come before any time is used.
        make_spaces(entry, distributions)
    return learner


def _number_names(learners: Sequence[SearchLearner]) -> list[SearchLearner]:
    """Return the learners with names that differ."""
    names = [learner.name for learner in learners]
    return [
        replace(one, name=f"{one.name} {names[: index + 1].count(one.name)}") if names.count(one.name) > 1 else one
        for index, one in enumerate(learners)
    ]


def list_starts(initial_params: Any, learners: Sequence[SearchLearner]) -> list[list[Settings]]:
    """Return, for each learner, the settings to begin with.

    Raises
    ------
    TypeError, ValueError
        If they are no settings, or no learner has parameters of these names.
    """
    given = [] if initial_params is None else initial_params if isinstance(initial_params, list) else [initial_params]
    starts: list[list[Settings]] = [[] for _ in learners]
    for settings in given:
        if not isinstance(settings, Mapping) or not settings:
            raise TypeError(
                f"initial_params must be a dict of parameters, such as an earlier best_params_, or a list of them; "
                f"got {settings!r}."
            )
        takers = [index for index, learner in enumerate(learners) if _takes(learner.estimator, settings)]
        if not takers:
            raise ValueError(
                f"initial_params has {', '.join(map(str, settings))}, and no estimator of the search has all of these "
                "parameters."
            )
        for index in takers:
            starts[index].append(dict(settings))
    return starts


def _takes(estimator: Any, settings: Mapping[str, Any]) -> bool:
    return hasattr(estimator, "get_params") and set(settings) <= set(estimator.get_params(deep=True))
