"""The way from the arguments of `fit` to its checked input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fitwithin._core.target import Labels
from fitwithin._pools.input_kind import find_input_kind
from fitwithin._pools.pool import Pool
from fitwithin._pools.table_pool import TablePool
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.inputs.descriptions import describe_training
from fitwithin._session.inputs.features import (
    check_validation_rows,
    hold_out_validation_set,
    open_data_set,
    open_table,
)
from fitwithin._session.inputs.fit_arguments import FitArguments, route_fit_params
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.inputs.learner import (
    MAX_SEED,
    clone_learner,
    draw_seeds,
    prevent_log_files,
    validate_fit_params,
    validate_teacher,
)
from fitwithin.backends import FitSettings
from fitwithin.backends._early_stopping import find_early_stopping
from fitwithin.backends._early_stopping.validation_set import (
    add_validation_set,
    has_validation_set,
    takes_validation_set,
)
from fitwithin.backends._scoring import try_scoring
from fitwithin.teachers import Teacher


def check_inputs(
    estimator: Any, given: FitArguments, teacher: Teacher, settings: FitSettings, open_pool: Callable[..., Any]
) -> FitInputs:
    """Check the learner and the rows; the estimator keeps the number of rows, their features and classes.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        The estimator that is fitted.
    given : FitArguments
        What the user passed.
    teacher : Teacher
        Chooses the training rows.
    settings : FitSettings
        What does not depend on the learner and the rows.
    open_pool : callable
        Opens a data set; see `open_data_set`.
    """
    own_learner = estimator._make_learner()
    learners = estimator._all_learners(own_learner)
    routed = route_fit_params(estimator, learners, given)
    learner = clone_learner(own_learner, estimator._kind)
    validate_teacher(teacher, learner, regression=estimator._regression)
    validates = getattr(teacher, "validates", False)
    training, fit_params = _open_pool(estimator, given, routed, open_pool, teacher_holds_out=validates)
    labels = training.y if isinstance(training.y, Labels) else None
    if labels is not None:
        estimator.classes_, estimator.class_count_ = labels.classes, labels.counts
    scoring = try_scoring(settings.scoring, estimator.scoring, training, weighted=given.sample_weight is not None)
    validate_fit_params(teacher, fit_params)
    seed, scoring_seed, rng = draw_seeds(estimator.random_state, learner)
    prevent_log_files(learner)
    estimator.n_rows_in_ = training.n_given_rows
    validation = check_validation_rows(estimator, given, training)
    # A fit that goes on must hold out the same rows, whatever its random state.
    row_rng = np.random.default_rng(0) if estimator._can_go_on else rng
    held_out = validation.hold_out(training, row_rng, by_class=validates and not scoring.is_accuracy)
    fingerprint: Fingerprint | None = None
    if estimator._can_go_on:
        described = estimator._describe_learners(own_learner)
        fingerprint = {**describe_training(estimator, described, training, fit_params), **validation.describe()}
    pool = validation.add_to(training)
    if isinstance(pool, TablePool) and any(map(takes_validation_set, learners)) and not has_validation_set(fit_params):
        held_out, rows = hold_out_validation_set(pool, held_out, row_rng)
        fit_params = add_validation_set(fit_params, rows.X, rows.y)
    settings = replace(
        settings,
        scoring=replace(scoring, seed=scoring_seed),
        fit_params=fit_params,
        seed=seed,
        classes=None if labels is None else labels.classes,
        early_stopping=find_early_stopping(learner),
    )
    return FitInputs(teacher, learner, pool, settings, rng, fingerprint, held_out)


def _open_pool(
    estimator: Any,
    given: FitArguments,
    routed: Mapping[str, Any],
    open_pool: Callable[..., Any],
    *,
    teacher_holds_out: bool,
) -> tuple[Pool, dict[str, Any]]:
    """Return the rows of X, and the arguments of the learner's `fit` without one entry for each row."""
    if find_input_kind(given.X) == "table":
        return open_table(estimator, given, routed)
    # A fit that goes on must give the same rows the same numbers, whatever its random state.
    seed = 0 if estimator._can_go_on else int(check_random_state(estimator.random_state).randint(MAX_SEED))
    return open_data_set(estimator, given, routed, open_pool, seed, teacher_holds_out=teacher_holds_out)
