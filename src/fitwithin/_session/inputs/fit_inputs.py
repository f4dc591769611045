"""The checked input of a fit: from the arguments of `fit` to rows, settings and the session."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.memory_model import MemoryModel
from fitwithin._core.records import Estimate, Mask, Rows
from fitwithin._core.target import Labels, Values, count_codes, refuse_several_targets
from fitwithin._pools.block_pool import BlockPool, HoldOut
from fitwithin._pools.pool import Pool, StackedTable, TablePool, knows_fitted_values_only
from fitwithin._pools.tables import describe_table, find_input_kind, is_frame, is_text_array
from fitwithin._session import held_out_rows
from fitwithin._session.fingerprint import Fingerprint, describe_training
from fitwithin._session.fit_state import FitState
from fitwithin._session.held_out_rows import HeldOutRows
from fitwithin._session.inputs import fit_arguments
from fitwithin._session.inputs.fit_arguments import MAX_SEED, FitArguments, can_resume
from fitwithin._session.result import SessionResult
from fitwithin._session.selection import ModelSelector, VoteMembers
from fitwithin._session.session import Session
from fitwithin.backends import FitSettings, Runner
from fitwithin.backends._early_stopping.ensembles import add_validation_set, has_validation_set, takes_validation_set
from fitwithin.backends._early_stopping.registry import find_early_stopping, find_traits, knows_steps
from fitwithin.backends._metrics import find_bounds, widen_by_groups
from fitwithin.backends._scoring import make_scoring, try_scoring
from fitwithin.teachers import Deck, Teacher

# Least rows of the rarest class in a first subset, for metrics other than accuracy, which are often undefined on fewer.
_MIN_CLASS_ROWS = 20

_MAX_VALIDATION_SET = 20_000  # validation rows of a learner that predicts them after each step of its fit

# Missing values are left to the learner.
_CHECKS = {"ensure_all_finite": False, "dtype": None, "accept_sparse": "csr"}


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The checked input of `fit`."""

    teacher: Teacher
    learner: Any  # a clone of the user's, with its random states filled
    pool: Pool  # the rows of X and, after them, those of X_val
    settings: FitSettings
    rng: np.random.Generator  # for every choice of rows
    fingerprint: Fingerprint | None = None  # to compare with an earlier fit
    held_out: HeldOutRows | None = None  # None if the teacher chooses them
    n_members: int = 0  # that may vote, at most
    max_row_seconds: float = math.inf  # that a prediction should take

    @property
    def labels(self) -> Labels | None:
        """The class of each row; None for regression."""
        return self.pool.y if isinstance(self.pool.y, Labels) else None

    def list_rows(self, result: SessionResult) -> dict[str, Rows | None]:
        """Return the fitted attributes with row numbers of X, or of X_val; None if the user knows no such numbers."""
        trained, pool = result.record.rows, self.pool
        if trained is None or not isinstance(pool, TablePool):
            return {"training_rows_": None, "validation_rows_": None, "holdout_rows_": None}
        n_first = pool.X.first.shape[0] if isinstance(pool.X, StackedTable) else 0
        rows: dict[str, Rows | None] = {"training_rows_": trained}
        for purpose in ("validation", "holdout"):
            # A last fit has taken all of them or none. The deadline is over, so nothing is sorted but these few.
            held_out = result.held_out.get(purpose, trained[:0])
            is_taken = bool((trained == held_out[0]).any()) if len(held_out) else False
            rows[f"{purpose}_rows_"] = np.sort(held_out[:0] if is_taken else held_out) - n_first
        return rows

    def widen(self, estimate: Estimate, rows: Rows, wrong: Mask) -> Estimate:
        """Return an estimate with an interval that allows for the groups of its rows, if there are any."""
        if self.held_out is None or self.held_out.groups is None:
            return estimate
        bounds = find_bounds(self.settings.scoring.scorer)
        return widen_by_groups(estimate, wrong, self.held_out.groups[rows], bounds)

    def open_session(self, runner: Runner, budget: Budget, past: FitState | None = None, **options: Any) -> Session:
        """Return the session that fits these inputs, with its rows and its learner's process under way."""
        if past is None or not past.is_over(budget):
            self.pool.start()
            runner.prepare(self.learner, self.pool, self.settings)
        costs = CostEstimates(
            budget,
            CostModel(find_traits(self.learner)),
            can_stop_early=self.settings.early_stopping is not None,
            knows_steps=knows_steps(self.learner),
            killable=runner.killable,
            memory=None if self.settings.memory_limit is None else MemoryModel(self.settings.memory_limit),
        )
        selector = ModelSelector(
            self.teacher.returns,
            past,
            is_scoring_proven=self.settings.scoring.is_proven,
            members=VoteMembers(self.n_members, budget.seconds),
            max_row_seconds=self.max_row_seconds,
        )
        options |= {"past": past, "n_jobs": self.settings.n_jobs, "labels": self.labels, "widen": self.widen}
        return Session(self.teacher, runner, self._make_deck(costs), budget, costs, selector, **options)

    def _make_deck(self, costs: CostEstimates) -> Deck:
        min_class_rows = 1 if self.settings.scoring.is_accuracy else _MIN_CLASS_ROWS
        deck = self.pool.make_deck(self.rng, costs, min_class_rows)
        if self.held_out is not None:
            deck.hold_out(self.held_out.validation, self.held_out.holdout, can_refit=self.held_out.can_refit)
        learners = (self.learner, *self.settings.other_learners)
        if isinstance(self.pool, TablePool) and any(map(knows_fitted_values_only, learners)):
            deck.complete_opening = self.pool.find_missing_values
        return deck


def check_inputs(
    estimator: Any, given: FitArguments, teacher: Teacher, memory_limit: int | None, open_pool: Callable[..., Any]
) -> FitInputs:
    """Check the learner and the rows; the estimator keeps the number of rows, their features and classes."""
    n_jobs, is_weighted = fit_arguments.count_learners(teacher, estimator.n_jobs), given.sample_weight is not None
    scoring = make_scoring(estimator.scoring, regression=estimator._regression, weighted=is_weighted)
    own_learner = estimator._make_learner()
    learners = estimator._all_learners(own_learner)
    routed = fit_arguments.route_fit_params(estimator, learners, given)
    learner = fit_arguments.clone_learner(own_learner, estimator._regression)
    fit_arguments.validate_teacher(teacher, learner, regression=estimator._regression)
    training: Pool
    if find_input_kind(given.X) == "table":
        training, fit_params = open_table(estimator, given, routed)
    else:
        training, fit_params = open_data_set(estimator, given, routed, teacher, open_pool)
    if isinstance(training.y, Labels):
        estimator.classes_, estimator.class_count_ = training.y.classes, training.y.counts
    scoring = try_scoring(scoring, estimator.scoring, training, weighted=is_weighted)
    fit_arguments.validate_fit_params(teacher, fit_params)
    seed, scoring_seed, rng = fit_arguments.draw_seeds(estimator.random_state, learner)
    estimator.n_rows_in_ = training.n_given_rows
    settings = FitSettings(
        replace(scoring, seed=scoring_seed),
        fit_params=fit_params,
        seed=seed,
        classes=getattr(training.y, "classes", None),
        early_stopping=find_early_stopping(learner),
        # Each of several learners may take the same share.
        memory_limit=None if memory_limit is None else max(1, memory_limit // n_jobs),
        n_jobs=n_jobs,
    )
    inputs = FitInputs(teacher, learner, training, settings, rng)
    return _hold_out_rows(estimator, given, inputs, learners, own_learner)


def _hold_out_rows(
    estimator: Any, given: FitArguments, inputs: FitInputs, learners: list[Any], own_learner: Any
) -> FitInputs:
    """Return the inputs with the rows that the user holds out; those of X_val come after the training rows."""
    training, settings = inputs.pool, inputs.settings
    # A fit that resumes must hold out the same rows, whatever its random state.
    rng = np.random.default_rng(0) if can_resume(estimator) else inputs.rng
    table, pool, held_out, labels = None, training, None, inputs.labels
    if isinstance(training, BlockPool):
        if training.held_out is not None:
            held_out = HeldOutRows(*training.held_out, can_refit=given.X_val is None)
    elif isinstance(training, TablePool) and given.X_val is not None:
        table, held_out = open_validation_table(estimator, given, training, rng)
        pool = training.add_validation_rows(table)
    elif given.groups is not None or given.validation == "last":
        held_out = held_out_rows.hold_out_rows(len(training), given.groups, labels, rng)
    elif labels is not None and getattr(inputs.teacher, "validates", False) and not settings.scoring.is_accuracy:
        # A rare class must not be missing among them, for the sake of the metric.
        strata = training.find_strata() if isinstance(training, TablePool) else labels
        held_out = held_out_rows.hold_out_by_class(strata or labels, rng)
    fingerprint: Fingerprint | None = None
    if can_resume(estimator):
        described, groups = estimator._describe_learners(own_learner), None if held_out is None else held_out.groups
        fingerprint = describe_training(estimator, described, training, settings.fit_params, groups, table)
    if any(map(takes_validation_set, learners)) and not has_validation_set(settings.fit_params):
        if not isinstance(pool, TablePool):
            raise UserInputError(
                "A booster that stops early by a score needs validation rows, which must be in memory; X is not.",
                "Leave out early_stopping_rounds; the fit ends in time all the same.",
            )
        # A last fit cannot have them: the learner would not know when to stop.
        held_out = replace(held_out or held_out_rows.hold_out_random_rows(len(pool), rng), can_refit=False)
        rows = pool.read(held_out.validation[:_MAX_VALIDATION_SET])
        settings = replace(settings, fit_params=add_validation_set(settings.fit_params, rows.X, rows.y))
    return replace(inputs, pool=pool, settings=settings, fingerprint=fingerprint, held_out=held_out)


def check_features(estimator: Any, X: Any, y: Any = None) -> Any:
    """Return X as the learner gets it; in `fit`, which has a y, the estimator keeps the names of the features."""
    reset = y is not None
    if is_text_array(X) and (reset or not hasattr(estimator, "n_features_in_")):
        check_consistent_length(X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
        return X
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        check_consistent_length(X, y)
        if not len(X):
            raise ValueError("Found a frame with 0 sample(s) while a minimum of 1 is required.")
        return X
    if not reset:
        return validate_data(estimator, X, reset=False, **_CHECKS)
    return validate_data(estimator, X, y, multi_output=True, **_CHECKS)[0]


def open_table(estimator: Any, given: FitArguments, params: Mapping[str, Any]) -> tuple[TablePool, dict[str, Any]]:
    """Return the rows of a table, and the arguments of the learner's `fit` without one entry for each row."""
    # scikit-learn's checks would raise an error of numpy for lists of different lengths.
    refuse_several_targets(given.y, "y")
    features = check_features(estimator, given.X, given.y)
    target = Values.read(given.y) if estimator._regression else Labels.encode(given.y)
    row_params, fit_params = fit_arguments.split_fit_params(params, len(target.column))
    weights = row_params.get("sample_weight")
    if isinstance(target, Labels) and weights is not None and not weights.all():
        n_weighted = count_codes(target.codes[weights != 0], len(target.classes))
        fit_arguments.warn_of_weightless_classes(target, n_weighted)
    return TablePool(features, target, row_params), fit_params


def open_data_set(
    estimator: Any, given: FitArguments, params: Mapping[str, Any], teacher: Teacher, open_pool: Callable[..., Pool]
) -> tuple[Pool, dict[str, Any]]:
    """Return the rows of a data set, and the arguments of the learner's `fit` other than the weights."""
    others = dict(params)
    rows = {"X": given.X, "y": given.y, "sample_weight": others.pop("sample_weight", None), "groups": given.groups}
    rows |= {"X_val": given.X_val, "y_val": given.y_val}
    # A fit that resumes must give the same rows the same numbers, whatever its random state.
    seed = 0 if can_resume(estimator) else int(check_random_state(estimator.random_state).randint(MAX_SEED))
    is_last, validates = given.validation == "last", getattr(teacher, "validates", False)
    hold_out = partial(held_out_rows.hold_out_in_blocks, seed=seed, last=is_last, teacher_holds_out=validates)
    pool = open_pool(rows, regression=estimator._regression, seed=seed, hold_out=hold_out)
    validate_data(estimator, pool.X, reset=True, skip_check_array=True)
    row_params, fit_params = fit_arguments.split_fit_params(others, len(pool))
    if row_params:
        raise TypeError(
            f"{', '.join(row_params)}: got one entry for each row; with a data set only sample_weight can have that, "
            "as the name of a column. Read the data set into memory, or leave this argument out."
        )
    return pool, fit_params


def open_disk_pool(
    budget: Budget, spool: Any, rows: Mapping[str, Any], *, regression: bool, seed: int, hold_out: HoldOut
) -> Pool:
    """Return the rows of a data set on disk, which this program reads into a spool."""
    from fitwithin._pools.block_pool import DiskPool

    if find_input_kind(rows["X"]) == "collection":
        raise TypeError(
            "X is a Dask collection, whose rows are on a cluster. Set backend=fitwithin.backends.Dask(client), or pass "
            "X.compute() if it fits into memory."
        )
    folder = None if spool is None else os.fspath(spool)
    return DiskPool.open(rows, regression=regression, seed=seed, budget=budget, folder=folder, hold_out=hold_out)


def open_validation_table(
    estimator: Any, given: FitArguments, training: TablePool, rng: np.random.Generator
) -> tuple[TablePool, HeldOutRows]:
    """Return the rows of X_val and y_val, and their halves; raise if they do not go with the training rows."""
    X, X_val, y_val = training.X, given.X_val, given.y_val
    if not is_frame(X_val) and not is_text_array(X_val):
        X_val = check_array(X_val, ensure_min_samples=0, input_name="X_val", **_CHECKS)
    if describe_table(X_val) != describe_table(X):
        raise TypeError(
            f"X_val is {describe_table(X_val)} and X {describe_table(X)}; both must be of one type. Convert X_val."
        )
    if X_val.shape[1:] != X.shape[1:]:
        raise ValueError(
            f"X_val has {X_val.shape[1]} features and X has {X.shape[1]}; both must have the same. "
            "Pass the columns of X, in their order."
        )
    if is_frame(X):
        validate_data(estimator, X_val, reset=False, skip_check_array=True)
    elif not np.can_cast(X_val.dtype, X.dtype, "same_kind"):
        raise TypeError(
            f"X_val holds values of type {X_val.dtype}, which do not fit into the type of X, {X.dtype}. "
            "Convert one of them."
        )
    held_out = held_out_rows.hold_out_second_table(len(training), X_val.shape[0], rng)
    if X_val.shape[0] != len(y_val):
        raise ValueError(
            f"X_val has {X_val.shape[0]} rows and y_val {len(y_val)}; expected one entry of y_val for each row."
        )
    return TablePool(X_val, training.y.read_more(y_val)), held_out
