"""Ensembles of members that know nothing of each other: a few more at a time, with `warm_start`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from fitwithin.backends._early_stopping.base import StopSignal
from fitwithin.backends._early_stopping.steps import LastWarned, advance_until, in_one_go, kept, rewinding


def fit_forest(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """A forest: the same trees as without us, fewer if the time is up.

    Asked between calls: after the first tree (one for each job), then at the latest when half of the time that was left
    has gone by, since every call looks at all rows before it starts. A call within that half cannot be stopped.
    """
    if in_one_go(learner, learner.n_estimators):
        learner.fit(X, y, **params)
        return
    with kept(learner, "n_estimators", "warm_start"):
        _grow(learner, stop_signal, lambda: learner.fit(X, y, **params))


def fit_bagging(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Bagging: asked like a forest; the same members as without us, fewer if the time is up.

    Then `n_estimators` is their number, since bagging divides by it when it predicts.
    """
    if in_one_go(learner, learner.n_estimators):
        learner.fit(X, y, **params)
        return
    seeds: list[int] = []

    def fit() -> None:
        learner.fit(X, y, **params)
        seeds.extend(getattr(learner, "_seeds", ()))

    with kept(learner, "n_estimators", "warm_start"):
        _grow(learner, stop_signal, fit)
    learner.n_estimators = len(learner.estimators_)
    if seeds:
        # A call leaves its own seeds only, by which `estimators_samples_` tells the rows of each member.
        learner._seeds = np.array(seeds)


def _grow(learner: Any, stop_signal: StopSignal, fit: Callable[[], object]) -> None:
    """Fit with more and more members; the caller gives the parameters back."""
    rewind = rewinding(learner.random_state)
    calls = LastWarned()
    most = learner.n_estimators

    def advance(members: int) -> bool:
        rewind()
        learner.n_estimators = members
        calls(fit)
        learner.warm_start = True
        return True

    advance_until(stop_signal, most, advance, first=effective_n_jobs(learner.n_jobs))
    calls.repeat(unless=_is_about_warm_start)


def _is_about_warm_start(warning: warnings.WarningMessage) -> bool:
    """Whether it is about what we do: balanced class weights warn that every call needs all rows, as it gets them."""
    return "warm_start" in str(warning.message)


def has_no_oob_score(learner: Any) -> bool:
    """Whether bagging takes `warm_start`, as it does not together with an out-of-bag score."""
    return not learner.oob_score
