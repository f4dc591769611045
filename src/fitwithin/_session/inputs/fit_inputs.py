"""The checked input of a fit, and the session that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cores import count_jobs
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.memory_cost import MemoryModel
from fitwithin._core.records import Estimate, Mask, Rows
from fitwithin._core.target import Labels
from fitwithin._pools.decks.rare_values import knows_fitted_values_only
from fitwithin._pools.pool import Pool
from fitwithin._pools.table_pool import StackedTable, TablePool
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.held_out_rows import Codes, HeldOutRows
from fitwithin._session.result import SessionResult
from fitwithin._session.session import Session
from fitwithin.backends import Backend, FitSettings, Inline, Process, Runner
from fitwithin.backends._early_stopping import knows_steps
from fitwithin.backends._learner_traits import find_traits
from fitwithin.backends._metrics import Bounds, find_bounds, widen_by_groups
from fitwithin.teachers import Deck, ParallelTeacher, Teacher
from fitwithin.teachers._registry import TEACHERS

# Least rows of the rarest class in a first subset, for metrics other than accuracy, which are often undefined on fewer.
_MIN_CLASS_ROWS = 20

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
    """

    teacher: Teacher
    learner: Any
    pool: Pool
    settings: FitSettings
    rng: np.random.Generator
    fingerprint: Fingerprint | None = None
    held_out: HeldOutRows | None = None

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
            # A last fit may have taken them.
            rows[f"{purpose}_rows_"] = np.setdiff1d(result.held_out.get(purpose, trained[:0]), trained) - n_first
        return rows

    def open_session(self, runner: Runner, budget: Budget, **options: Any) -> Session:
        """Return the session that fits these inputs; other arguments are those of `Session`."""
        can_stop_early = self.settings.early_stopping is not None
        costs = CostEstimates(
            budget,
            CostModel(find_traits(self.learner)),
            can_stop_early=can_stop_early,
            knows_steps=knows_steps(self.learner),
            killable=runner.killable,
            memory=MemoryModel(self.settings.memory_limit),
        )
        options |= {"n_jobs": self.settings.n_jobs, "is_scoring_proven": self.settings.scoring.is_proven}
        if self.held_out is not None and self.held_out.groups is not None:
            bounds = find_bounds(self.settings.scoring.scorer)
            options["widen"] = partial(_widen, self.held_out.groups, bounds)
        return Session(self.teacher, runner, self._make_deck(costs), budget, costs, labels=self.labels, **options)

    def _make_deck(self, costs: CostEstimates) -> Deck:
        min_class_rows = 1 if self.settings.scoring.is_accuracy else _MIN_CLASS_ROWS
        deck = self.pool.make_deck(self.rng, costs, min_class_rows)
        if self.held_out is not None:
            deck.hold_out(self.held_out.validation, self.held_out.holdout, can_refit=self.held_out.can_refit)
        learners = (self.learner, *self.settings.other_learners)
        if isinstance(self.pool, TablePool) and any(map(knows_fitted_values_only, learners)):
            deck.complete_opening = self.pool.find_missing_values
        return deck


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
