"""Stop forests and bagging: add members over several calls with `warm_start`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from fitwithin.backends._early_stopping.steps import (
    WarningRecorder,
    advance_until,
    must_fit_in_one_call,
    preserve_attributes,
    save_random_state,
)
from fitwithin.backends._early_stopping.stop_signal import StopSignal


def fit_forest(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit a forest in several calls; it has the trees of a plain fit, or the first of them.

    The first call fits one tree per job. Each later call takes up to half of the time left, because every call checks
    all rows again. A running call cannot be stopped.
    """
    _add_members(learner, stop_signal, lambda: learner.fit(X, y, **params))


def fit_bagging(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit bagging in several calls, like a forest; it has the members of a plain fit, or the first of them.

    `n_estimators` becomes the number of members, because `predict` divides by it.
    """
    seeds: list[int] = []

    def fit() -> None:
        learner.fit(X, y, **params)
        seeds.extend(getattr(learner, "_seeds", ()))

    _add_members(learner, stop_signal, fit)
    learner.n_estimators = len(learner.estimators_)
    if seeds:
        # `estimators_samples_` draws the rows of each member from this private attribute. A call leaves only the seeds
        # of the members that it added.
        learner._seeds = np.array(seeds)


def can_stop_bagging(learner: Any) -> bool:
    """Return whether bagging accepts `warm_start`; it refuses it together with an out-of-bag score."""
    return not learner.oob_score


def _add_members(learner: Any, stop_signal: StopSignal, fit: Callable[[], object]) -> None:
    """Fit with more and more members."""
    if must_fit_in_one_call(learner, learner.n_estimators):
        fit()
        stop_signal.finish_setup()
        return
    restore_random_state = save_random_state(learner.random_state)
    recorder = WarningRecorder()

    def advance_to(n_members: int) -> None:
        restore_random_state()
        learner.n_estimators = n_members
        recorder.record(fit)
        learner.warm_start = True

    with preserve_attributes(learner, "n_estimators", "warm_start"):
        n_jobs = effective_n_jobs(learner.n_jobs)
        advance_until(stop_signal, learner.n_estimators, advance_to, first_steps=n_jobs)
    recorder.show(unless=_is_about_warm_start)


def _is_about_warm_start(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning is about `warm_start`, which the user did not set.

    Balanced class weights warn that every call needs all rows, and every call gets them. scikit-learn has no category
    of its own for this warning, so its text must tell.
    """
    return "warm_start" in str(warning.message)
