"""The runner of the Dask backend: lessons on one worker, exams on all, and both begun again if a worker is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np

from fitwithin._core.budget import Budget, StoppableBudget
from fitwithin._core.exceptions import LearnerDied, NoModelInTime, OutOfTime
from fitwithin._core.log import LOGGER
from fitwithin._core.records import Mask, Rows
from fitwithin._pools.pool import Pool
from fitwithin._pools.remote_table import RemoteTable
from fitwithin._pools.table_pool import TablePool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._dask.cluster import Cluster, WorkerLost
from fitwithin.backends._dask.collection_reader import read_collection
from fitwithin.backends._dask.deadline_thread import DeadlineThread
from fitwithin.backends._dask.partitions import Partitions, scatter_table
from fitwithin.backends._dask.saved_model import DaskModel
from fitwithin.backends._dask.worker_runner import LearnerSetup, write_model_file
from fitwithin.backends._dask.worker_session import SessionSetup
from fitwithin.backends._dask.worker_tasks import (
    ExamSummary,
    ModelBytes,
    Outcome,
    TaskInfo,
    check_model_loads,
    examine_here,
    examine_partition,
    fit_lesson,
    keep,
    merge_exam,
    pickle_model,
    score_model,
    take_partition_rows,
)
from fitwithin.backends._process.backend import pickle_learner
from fitwithin.backends._process.process_state import ProcessState
from fitwithin.backends._scoring import is_sklearn_scorer

_MAX_ATTEMPTS = 4
"""Workers that may be lost during one call before it counts as the learner's fault."""

_DISTRIBUTED_MODULES = ("lightgbm.dask", "xgboost.dask")
"""Modules of learners that are distributed themselves."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What `prepare` makes, for all runners of a session."""

    partitions: Partitions
    settings: FitSettings
    setup: Any
    """The `SessionSetup` as a future."""


@dataclass(eq=False)
class _Home:
    """The worker that trains for a runner.

    Parameters
    ----------
    address : str
        The worker.
    rows : array of int
        Rows that it has, ascending.
    model : Future or None
        The newest model as `ModelBytes`, once it is needed.
    """

    address: str
    rows: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    model: Any = None


class DaskRunner:
    """Run one learner on the workers of a cluster.

    Parameters
    ----------
    cluster : callable
        Returns the cluster; called in the runner's own thread, because connecting may take long.
    budget : Budget
        The time limit.
    first : DaskRunner, optional
        The runner that this one is a sibling of.
    number : int, default=0
        Tells it apart from its siblings.
    """

    killable = True

    def __init__(
        self, cluster: Callable[[], Cluster], budget: Budget, first: DaskRunner | None = None, number: int = 0
    ) -> None:
        self._connect = cluster
        self._session_budget = budget
        self._budget = StoppableBudget(budget)
        self._first = first
        self._number = number
        self._n_siblings = 0
        self._thread = DeadlineThread(f"dask-{number}")
        # Starting a thread waits until it runs, on a busy machine for seconds, so one is ready for the end.
        self._end_thread = DeadlineThread(f"dask-{number}-end")
        self._prepared_cluster: _Prepared | None = None
        self._home: _Home | None = None
        self._n_homes = 0
        self._lesson = 0
        self._calls_since_fit: list[Callable[[_Home], Any]] = []
        self._fit_peak: int | None = None
        self._cluster: Cluster | None = None
        if first is None:
            self._opening = self._thread.post(self._open)

    def _open(self) -> Cluster:
        self._cluster = self._connect()
        self._cluster.open_everywhere()
        return self._cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Leave the rest to a thread: the cluster may not answer, and the session ends now."""
        self._budget.stop()
        held = self._prepared_cluster, self._home, self._calls_since_fit
        self._prepared_cluster, self._home, self._calls_since_fit = None, None, []
        self._thread.close()
        self._end_thread.post(partial(self._end, held))
        self._end_thread.close()

    def _end(self, held: object) -> None:
        """End the session on the workers if this runner opened it, and forget what the runner held."""
        if self._first is not None:
            return
        # Errors of Dask do not matter any more: the workers close the session themselves after its deadline.
        with contextlib.suppress(Exception):
            self._opening.result().close()

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Send the learner to the cluster, and the rows too if they are not there."""
        if not isinstance(pool, TablePool):
            raise TypeError(f"Got a pool of type {type(pool).__name__}; the Dask backend reads tables and collections.")
        for each in (learner, *settings.other_learners):
            _refuse_distributed(each)
        body = pickle_learner((learner, settings))
        learner_setup = LearnerSetup(body, ProcessState.current(), settings.seed, settings.memory_limit)

        def prepare() -> _Prepared:
            cluster = self._opening.result()
            partitions = pool.X.partitions if isinstance(pool.X, RemoteTable) else scatter_table(pool, cluster)
            setup = cluster.submit(keep, SessionSetup(cluster.key, learner_setup, partitions.schema))
            return _Prepared(partitions, settings, setup)

        if self._budget.is_spent:
            # The first call of the session says so.
            return
        try:
            self._prepared_cluster = self._thread.call(prepare, self._budget)
        except TimeoutError:
            raise NoModelInTime(
                f"No model within the limit of {self._budget.seconds:g} s: the Dask cluster did not take the rows.",
                "See to it that it has a worker that runs, or allow more time.",
            ) from None

    def read_collection(self, X: Any, y: Any, sample_weight: Any, *, regression: bool) -> tuple[Any, Any, Any]:
        """Return what stands for a Dask collection in this program; see `read_collection`.

        Raises
        ------
        NoModelInTime
            If the workers are still counting at the deadline.
        """
        try:
            return self._thread.call(
                lambda: read_collection(self._opening.result(), X, y, sample_weight, regression=regression),
                self._budget,
            )
        except TimeoutError:
            raise NoModelInTime(
                f"No model within the limit of {self._budget.seconds:g} s: the workers were still reading and counting "
                "the rows.",
                "Persist the collection first, or allow more time.",
            ) from None

    def open_sibling(self) -> DaskRunner:
        """Return a runner on another worker, as far as there are enough."""
        self._n_siblings += 1
        sibling = DaskRunner(lambda: self._the_cluster, self._session_budget, self, self._n_siblings)
        sibling._prepared_cluster = self._prepared_cluster
        sibling._cluster = self._cluster
        return sibling

    def stop(self) -> None:
        """Kill the learner from any thread; the call under way, and every later one, raises `OutOfTime`."""
        self._budget.stop()
        cluster = self._cluster
        if cluster is not None:
            self._end_thread.post(partial(self._stop_on_workers, cluster))

    def _stop_on_workers(self, cluster: Cluster) -> None:
        with contextlib.suppress(Exception):
            cluster.stop_runner(self._number)

    @property
    def _the_cluster(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("prepare() must be called before fit().")
        return self._cluster

    @property
    def _prepared(self) -> _Prepared:
        if self._prepared_cluster is None:
            raise RuntimeError("prepare() must be called before fit().")
        return self._prepared_cluster

    def fit(
        self,
        rows: Rows,
        batch: int | None = None,
        within: float | None = None,
        *,
        learner: Any = None,
        at_most: float | None = None,
    ) -> FitReport:
        """Train a fresh copy of the learner, or continue with the newest model, on one worker."""
        self._check_deadline()
        options = {
            "batch": batch,
            "within": within,
            "at_most": at_most,
            "pickled_learner": None if learner is None else pickle_learner(learner),
        }
        rows = np.asarray(rows, dtype=np.int64)
        if batch is None or self._home is None:
            self._calls_since_fit = []
        start = self._budget.elapsed()

        def train(home: _Home) -> FitReport:
            return self._fit(home, rows, options)

        report = self._call(train)
        self._calls_since_fit.append(train)
        self._fit_peak = report.peak_memory
        return FitReport(
            handover_seconds=max(0.0, self._budget.elapsed() - start - report.fit_seconds),
            fit_seconds=report.fit_seconds,
            skipped_seconds=report.skipped_seconds,
            peak_memory=report.peak_memory,
            memory_before=report.memory_before,
            setup_seconds=report.setup_seconds,
        )

    def _fit(self, home: _Home, rows: Rows, options: dict[str, Any]) -> FitReport:
        self._lesson += 1
        home.model = None
        parts, new = self._gather(home, rows)
        report: FitReport = self._run(home, fit_lesson, self._pass_rows(rows, home), parts, options, new=new)
        return report

    def examine(self, rows: Rows, margins: bool = False) -> ExamReport:
        """Predict rows where they are."""
        self._check_fitted()
        rows = np.asarray(rows, dtype=np.int64)
        start = self._budget.elapsed()
        summary: ExamSummary = self._call(lambda home: self._examine(home, rows, margins))
        self._calls_since_fit.append(lambda home: self._examine(home, rows, margins))
        return ExamReport(
            np.unpackbits(np.frombuffer(summary.wrong_bits, np.uint8), count=len(rows)).astype(np.bool_),
            max(0.0, self._budget.elapsed() - start - summary.seconds),
            summary.seconds,
            summary.margins,
            # Exams run in processes of their own, and the peak is that since the fit.
            max(filter(None, (self._fit_peak, summary.peak_memory)), default=None),
        )

    def _examine(self, home: _Home, rows: Rows, margins: bool) -> ExamSummary:
        scoring = self._prepared.settings.scoring
        if not is_sklearn_scorer(scoring.scorer):
            parts, new = self._gather(home, rows)
            here: ExamSummary = self._run(home, examine_here, self._pass_rows(rows, home), parts, margins, new=new)
            return here
        cluster, partitions, info = self._the_cluster, self._prepared.partitions, self._info()
        order = np.argsort(rows)
        exam_parts = [
            cluster.submit(
                examine_partition,
                self._prepared.setup,
                info,
                self._model(home),
                partitions.futures[number],
                self._pass_positions(number, positions),
                int(partitions.offsets[number]),
                margins,
            )
            for number, positions in partitions.split(rows[order])
        ]
        is_ordered = bool((order[1:] > order[:-1]).all())
        ranks = None if is_ordered else self._pass_rows(_invert(order), home)
        summary: ExamSummary = self._run(home, merge_exam, scoring, exam_parts, ranks)
        return summary

    def score(self, selected: Mask, paired: bool = False) -> ScoreReport:
        """Score the newest model on the worker that trained it, from the answers of all exams."""
        self._check_fitted()
        bits = np.packbits(selected).tobytes()
        report: ScoreReport = self._call(lambda home: self._run(home, score_model, bits, len(selected), paired))
        return report

    def save(self) -> DaskModel:
        """Bring the newest model to the program, after a process that did not train it has loaded it."""
        self._check_fitted()
        start = self._budget.elapsed()
        model, load_seconds = self._call(self._bring_model)
        return DaskModel(write_model_file(model.body), self._budget.elapsed() - start, load_seconds, model.warnings)

    def _bring_model(self, home: _Home) -> tuple[ModelBytes, float]:
        load_seconds: float = self._run(home, check_model_loads, self._model(home))
        outcome: Outcome = self._the_cluster.result(self._model(home), home.address)
        return outcome.value, load_seconds

    def _model(self, home: _Home) -> Any:
        """Return the newest model, as a future that any worker can take."""
        if home.model is None:
            home.model = self._the_cluster.submit(pickle_model, self._prepared.setup, self._info(), home=home.address)
        return home.model

    def _gather(self, home: _Home, rows: Rows) -> tuple[list[Any], Rows]:
        """Have the workers that hold rows take out those that `home` lacks; return the parts, and these rows."""
        new = np.setdiff1d(rows, home.rows)
        partitions, cluster = self._prepared.partitions, self._the_cluster
        parts = [
            cluster.submit(take_partition_rows, partitions.futures[number], self._pass_positions(number, positions))
            for number, positions in partitions.split(new)
        ]
        return parts, new

    def _run(self, home: _Home, task: Callable[..., Outcome], *arguments: Any, new: Rows | None = None) -> Any:
        """Run a task on the worker that trains, and return its value or raise its failure."""
        cluster = self._the_cluster
        future = cluster.submit(task, self._prepared.setup, self._info(), *arguments, home=home.address)
        outcome: Outcome = cluster.result(future, home.address)
        if new is not None:
            home.rows = np.union1d(home.rows, new)
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.value

    def _pass_rows(self, rows: Rows, home: _Home) -> Any:
        return self._the_cluster.pass_rows(rows, home.address)

    def _pass_positions(self, number: int, positions: Rows) -> Any:
        """Return positions in a partition as an argument of a task."""
        return self._the_cluster.pass_rows(self._prepared.partitions.pack(number, positions))

    def _info(self) -> TaskInfo:
        return TaskInfo(self._number, self._n_homes, self._lesson, self._budget.remaining())

    def _call(self, action: Callable[[_Home], T]) -> T:
        """Carry out a call in the runner's thread, and again on another worker if one is lost."""
        self._check_deadline()
        try:
            return self._thread.call(lambda: self._try_workers(action), self._budget)
        except TimeoutError:
            # The workers know the deadline too, and the session's end is all that they are told.
            self._budget.stop()
            raise OutOfTime from None
        except OutOfTime:
            self._budget.stop()
            raise

    def _try_workers(self, action: Callable[[_Home], T]) -> T:
        for attempt in range(_MAX_ATTEMPTS):
            try:
                home = self._home
                if home is None:
                    self._n_homes += 1
                    home = self._home = _Home(self._the_cluster.choose_home())
                    for call in self._calls_since_fit:
                        # What the lost worker knew: the lesson, and the exams for its score.
                        call(home)
                result = action(home)
                self._the_cluster.end_call()
                return result
            except WorkerLost as loss:
                self._budget.raise_if_spent()
                LOGGER.warning("%s; its work begins again on another one.", loss)
                if attempt == _MAX_ATTEMPTS - 1:
                    raise LearnerDied(str(loss)) from None
                self._leave_home()
        raise AssertionError("unreachable")

    def _leave_home(self) -> None:
        home, self._home = self._home, None
        if home is not None:
            self._the_cluster.leave_home(home.address)
        if not self._the_cluster.is_connected:
            self._budget.stop()
            raise LearnerDied("the Dask scheduler was lost")
        self._prepared.partitions.renew_lost()

    def _check_fitted(self) -> None:
        if not self._calls_since_fit and not self._budget.is_spent:
            raise RuntimeError("fit() must be called before examine(), score() and save().")

    def _check_deadline(self) -> None:
        if self._budget.is_spent:
            raise OutOfTime


def _refuse_distributed(learner: Any) -> None:
    """Refuse LightGBM's and XGBoost's own Dask learners, which no process of ours could stop."""
    kind = type(learner)
    if kind.__module__.startswith(_DISTRIBUTED_MODULES):
        raise TypeError(
            f"Got {kind.__name__}, which trains in threads of the Dask workers, where it cannot be stopped at the "
            f"deadline. Use {kind.__name__.removeprefix('Dask')}."
        )


def _invert(order: Rows) -> Rows:
    """Return the place of each number in a permutation."""
    places: Rows = np.empty(len(order), dtype=np.uint32 if len(order) < 2**32 else np.int64)
    places[order] = np.arange(len(order))
    return places
