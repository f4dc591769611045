"""How a fit goes: its teacher, its metric, its limits, and how many learners are at work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.cores import count_jobs
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.memory_cost import MemoryModel
from fitwithin._core.rounds import OnRound
from fitwithin._core.target import Labels
from fitwithin._session.checkpoint import Checkpoint
from fitwithin._session.fit_state import FitState
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.inputs.seeds import FitSeeds
from fitwithin._session.session import Session
from fitwithin._session.session_parts import Listener
from fitwithin.backends import Backend, FitSettings, Inline, Process, Runner
from fitwithin.backends._early_stopping import find_early_stopping, knows_steps
from fitwithin.backends._scoring import Scoring
from fitwithin.teachers import ParallelTeacher, Teacher
from fitwithin.teachers._registry import TEACHERS

_BACKENDS: Mapping[str, Callable[[], Backend]] = {"process": Process, "inline": Inline}


@dataclass(frozen=True, eq=False)
class FitParameters:
    """The checked parameters of an estimator, as far as its input does not matter.

    Parameters
    ----------
    teacher : Teacher
        Chooses the training rows.
    budget : Budget
        The time limit.
    scoring : Scoring
        How models are scored.
    memory_limit : int or None
        Bytes that all learners together may take; None for no limit.
    n_learners : int
        Learners that are at work at the same time.
    on_round : callable or None
        Called with each finished `Round`; ends the fit by returning True.
    spool : str, path-like or None
        Folder for the rows that are read from a data set on disk.
    """

    teacher: Teacher
    budget: Budget
    scoring: Scoring
    memory_limit: int | None
    n_learners: int
    on_round: OnRound | None
    spool: str | os.PathLike[str] | None

    def make_settings(
        self, learner: Any, fit_params: Mapping[str, Any], seeds: FitSeeds, labels: Labels | None
    ) -> FitSettings:
        """Return the settings of every fit of this learner."""
        return FitSettings(
            replace(self.scoring, seed=seeds.scoring),
            fit_params,
            seeds.learner,
            None if labels is None else labels.classes,
            find_early_stopping(learner),
            # Each of several learners may take the same share.
            None if self.memory_limit is None else max(1, self.memory_limit // self.n_learners),
            self.n_learners,
        )

    def open_session(
        self,
        inputs: FitInputs,
        runner: Runner,
        listeners: Sequence[Listener],
        past: FitState | None,
        checkpoint: Checkpoint | None,
    ) -> Session:
        """Return the session that fits these inputs.

        Parameters
        ----------
        inputs : FitInputs
            The learner and the rows.
        runner : Runner
            Prepared for them, unless `past` is over.
        listeners : sequence of Listener
            Told what the session does.
        past : FitState or None
            An earlier fit to go on from.
        checkpoint : Checkpoint or None
            Where to store the session while it runs.
        """
        costs = self._make_costs(inputs, killable=runner.killable)
        return Session(
            self.teacher,
            runner,
            inputs.make_deck(costs),
            self.budget,
            costs,
            labels=inputs.labels,
            listeners=listeners,
            on_round=self.on_round,
            past=past,
            checkpoint=checkpoint,
            n_jobs=self.n_learners,
        )

    def _make_costs(self, inputs: FitInputs, *, killable: bool) -> CostEstimates:
        can_stop_early = inputs.settings.early_stopping is not None
        return CostEstimates(
            self.budget,
            CostModel.for_learner(can_stop_early=can_stop_early),
            can_stop_early=can_stop_early,
            knows_steps=knows_steps(inputs.learner),
            killable=killable,
            memory=MemoryModel(inputs.settings.memory_limit),
        )


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
