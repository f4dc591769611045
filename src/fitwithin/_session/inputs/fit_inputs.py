"""The checked input of a fit: from the arguments of `fit` to the session."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cores import count_jobs
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.fit_cost import MemoryModel
from fitwithin._core.records import Estimate, Mask, Rows
from fitwithin._core.target import Labels
from fitwithin._pools.pool import Pool, StackedTable, TablePool, knows_fitted_values_only
from fitwithin._pools.tables import find_input_kind
from fitwithin._session.fingerprint import Fingerprint, describe_training
from fitwithin._session.fit_state import FitState
from fitwithin._session.held_out_rows import Codes, HeldOutRows, hold_out_random_rows, hold_out_rows
from fitwithin._session.inputs.features import open_data_set, open_table, open_validation_table
from fitwithin._session.inputs.fit_arguments import (
    FitArguments,
    can_resume,
    clone_learner,
    draw_seeds,
    prevent_log_files,
    route_fit_params,
    validate_fit_params,
    validate_teacher,
)
from fitwithin._session.result import SessionResult
from fitwithin._session.selection import ModelSelector, VoteMembers, find_stored_model
from fitwithin._session.session import Session
from fitwithin.backends import Backend, FitSettings, Inline, Process, Runner
from fitwithin.backends._early_stopping import find_early_stopping, find_traits, knows_steps
from fitwithin.backends._early_stopping.validation_set import (
    add_validation_set,
    has_validation_set,
    takes_validation_set,
)
from fitwithin.backends._metrics import Bounds, find_bounds, widen_by_groups
from fitwithin.backends._scoring import make_scoring, try_scoring
from fitwithin.teachers import Deck, ParallelTeacher, Teacher
from fitwithin.teachers._registry import TEACHERS

# Least rows of the rarest class in a first subset, for metrics other than accuracy, which are often undefined on fewer.
_MIN_CLASS_ROWS = 20

# Validation rows at most of a learner that predicts them after each step of its fit.
_MAX_VALIDATION_SET = 20_000

_BACKENDS: Mapping[str, Callable[[], Backend]] = {"process": Process, "inline": Inline}


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The checked input of `fit`.

    Parameters
    ----------
    teacher : Teacher
        Chooses the training rows.
    learner : estimator
        A clone of the user's learner, with its random states filled.
    pool : Pool
        The rows of X and, after them, those of X_val.
    settings : FitSettings
        How to fit and score the learner.
    rng : numpy.random.Generator
        For every choice of rows.
    fingerprint : dict or None
        The rows and the learner, to compare with an earlier fit; None if there is none to compare with.
    held_out : HeldOutRows or None
        Validation and holdout rows that the user chose; None if the teacher chooses them.
    n_members : int, default=0
        Most models that are kept for a vote.
    max_row_seconds : float, optional
        Most seconds that the prediction of a row should take.
    """

    teacher: Teacher
    learner: Any
    pool: Pool
    settings: FitSettings
    rng: np.random.Generator
    fingerprint: Fingerprint | None = None
    held_out: HeldOutRows | None = None
    n_members: int = 0
    max_row_seconds: float = math.inf

    @property
    def labels(self) -> Labels | None:
        """The class of each row; None for regression."""
        return self.pool.y if isinstance(self.pool.y, Labels) else None

    def list_rows(self, result: SessionResult) -> dict[str, Rows | None]:
        """Return the fitted attributes with row numbers of X; held-out rows of X_val are numbers of its rows.

        They are None if rows have no numbers for the user, or the model continued with others.
        """
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

    def open_session(self, runner: Runner, budget: Budget, **options: Any) -> Session:
        """Return the session that fits these inputs, with its rows and its learner's process under way.

        Other arguments are those of `Session`.
        """
        past: FitState | None = options.get("past")
        if past is None or not past.is_over(budget):
            self.pool.start()
            runner.prepare(self.learner, self.pool, self.settings)
        can_stop_early = self.settings.early_stopping is not None
        costs = CostEstimates(
            budget,
            CostModel(find_traits(self.learner)),
            can_stop_early=can_stop_early,
            knows_steps=knows_steps(self.learner),
            killable=runner.killable,
            memory=MemoryModel(self.settings.memory_limit),
        )
        selector = ModelSelector(
            self.teacher.returns,
            None if past is None else find_stored_model(past),
            None if past is None else past.validation_rows,
            is_scoring_proven=self.settings.scoring.is_proven,
            members=VoteMembers(self.n_members, budget.seconds),
            max_row_seconds=self.max_row_seconds,
        )
        options |= {"n_jobs": self.settings.n_jobs, "labels": self.labels}
        if self.held_out is not None and self.held_out.groups is not None:
            bounds = find_bounds(self.settings.scoring.scorer)
            options["widen"] = partial(_widen, self.held_out.groups, bounds)
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
    """Check the learner and the rows; the estimator keeps the number of rows, their features and classes.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        The estimator that is fitted.
    given : FitArguments
        What the user passed.
    teacher : Teacher
        Chooses the training rows.
    memory_limit : int or None
        Bytes for all learners together.
    open_pool : callable
        Opens a data set; see `open_data_set`.
    """
    n_jobs, is_weighted = count_learners(teacher, estimator.n_jobs), given.sample_weight is not None
    scoring = make_scoring(estimator.scoring, regression=estimator._regression, weighted=is_weighted)
    own_learner = estimator._make_learner()
    learners = estimator._all_learners(own_learner)
    routed = route_fit_params(estimator, learners, given)
    learner = clone_learner(own_learner, estimator._kind)
    validate_teacher(teacher, learner, regression=estimator._regression)
    validates = getattr(teacher, "validates", False)
    training: Pool
    if find_input_kind(given.X) == "table":
        training, fit_params = open_table(estimator, given, routed)
    else:
        training, fit_params = open_data_set(estimator, given, routed, open_pool, validates)
    labels = training.y if isinstance(training.y, Labels) else None
    if labels is not None:
        estimator.classes_, estimator.class_count_ = labels.classes, labels.counts
    scoring = try_scoring(scoring, estimator.scoring, training, weighted=is_weighted)
    validate_fit_params(teacher, fit_params)
    seed, scoring_seed, rng = draw_seeds(estimator.random_state, learner)
    prevent_log_files(learner)
    estimator.n_rows_in_ = training.n_given_rows
    settings = FitSettings(
        replace(scoring, seed=scoring_seed),
        fit_params=fit_params,
        seed=seed,
        classes=None if labels is None else labels.classes,
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
    table = open_validation_table(estimator, given, training) if isinstance(training, TablePool) else None
    pool = training.add_validation_rows(table) if isinstance(training, TablePool) and table is not None else training
    # A fit that resumes must hold out the same rows, whatever its random state.
    rng = np.random.default_rng(0) if can_resume(estimator) else inputs.rng
    by_class = getattr(inputs.teacher, "validates", False) and not settings.scoring.is_accuracy
    held_out = hold_out_rows(training, given, len(pool) - len(training), rng, by_class=by_class)
    fingerprint: Fingerprint | None = None
    if can_resume(estimator):
        described, groups = estimator._describe_learners(own_learner), None if held_out is None else held_out.groups
        fingerprint = describe_training(estimator, described, training, settings.fit_params, groups, table)
    takes_rows = isinstance(pool, TablePool) and any(map(takes_validation_set, learners))
    if takes_rows and not has_validation_set(settings.fit_params):
        # A last fit cannot have them: the learner would not know when to stop.
        held_out = replace(held_out or hold_out_random_rows(len(pool), rng), can_refit=False)
        rows = pool.read(held_out.validation[:_MAX_VALIDATION_SET])
        settings = replace(settings, fit_params=add_validation_set(settings.fit_params, rows.X, rows.y))
    return replace(inputs, pool=pool, settings=settings, fingerprint=fingerprint, held_out=held_out)


def _widen(groups: Codes, bounds: Bounds, estimate: Estimate, rows: Rows, wrong: Mask) -> Estimate:
    return widen_by_groups(estimate, wrong, groups[rows], bounds)


def find_backend(backend: str | Backend) -> Backend:
    """Return the backend that a parameter names, or is.

    Examples
    --------
    >>> find_backend("inline").clock.__name__
    'monotonic'
    """
    found: Backend = _resolve("backend", backend, _BACKENDS, "open")
    return found


def find_teacher(teacher: str | Teacher) -> Teacher:
    """Return the teacher that a parameter names, or is.

    Examples
    --------
    >>> find_teacher("tct")
    TCT()
    """
    found: Teacher = _resolve("teacher", teacher, TEACHERS, "teach")
    return found


def count_learners(teacher: Teacher, n_jobs: int | None) -> int:
    """Return the learners that are at work at the same time: at most as many as the teacher has work for.

    Raises
    ------
    ValueError
        If `n_jobs` is 0 or no integer.
    """
    n_learners = count_jobs(n_jobs)
    if not isinstance(teacher, ParallelTeacher):
        return 1
    return n_learners if teacher.max_learners is None else min(n_learners, teacher.max_learners)


def _resolve(parameter: str, value: Any, known: Mapping[str, Callable[[], Any]], method: str) -> Any:
    """Return the object that a parameter names, or is."""
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, str) and callable(getattr(value, method, None)) and not isinstance(value, type):
        return value
    names = ", ".join(f'"{name}"' for name in known)
    raise ValueError(f"{parameter} must be one of {names}, or an object with a method {method!r}; got {value!r}.")
