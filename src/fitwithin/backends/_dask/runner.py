"""The runner of the Dask backend: calls that end at the deadline, and begin again elsewhere if a worker is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np

from fitwithin._core.budget import Budget, StoppableBudget
from fitwithin._core.deadline_thread import DeadlineThread
from fitwithin._core.exceptions import LearnerDied, NoModelInTime, OutOfTime
from fitwithin._core.log import LOGGER
from fitwithin._core.records import NO_LIMITS, Exam, FitLimits, Mask, Rows
from fitwithin._pools.block_pool import HoldOut
from fitwithin._pools.pool import Pool, TablePool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._dask.cluster import SCHEDULER_LOST, Cluster, WorkerLost
from fitwithin.backends._dask.cluster_pool import ClusterPool, scatter_table
from fitwithin.backends._dask.home_worker import HomeWorker, PreparedCluster
from fitwithin.backends._dask.worker_runner import SessionSetup, write_model_file
from fitwithin.backends._dask.worker_session import close_session, stop_runner
from fitwithin.backends._process.backend import pickle_learner
from fitwithin.backends._process.connection import WorkerSetup
from fitwithin.backends._process.saved_model import ProcessModel
from fitwithin.backends._process.subprocesses import ProcessState

_MAX_ATTEMPTS = 4
"""Workers that may be lost during one call before it counts as the learner's fault."""

_DISTRIBUTED_MODULES = ("lightgbm.dask", "xgboost.dask")
"""Modules of learners that are distributed themselves."""

T = TypeVar("T")


class DaskRunner:
    """Run one learner on the workers of a cluster.

    Parameters
    ----------
    connect : callable
        Returns the cluster; called in the runner's own thread, because connecting may take long.
    budget : Budget
        The time limit.
    number : int, default=0
        Tells it apart from its siblings; 0 for the runner that ends the session.
    """

    killable = True

    def __init__(self, connect: Callable[[], Cluster], budget: Budget, number: int = 0) -> None:
        self._session_budget = budget
        self._budget = StoppableBudget(budget)
        self._number = number
        self._n_siblings = 0
        self._thread = DeadlineThread(f"dask-{number}")
        # Starting a thread waits until it runs, on a busy machine for seconds, so one is ready for the end.
        self._end_thread = DeadlineThread(f"dask-{number}-end")
        self._prepared_cluster: PreparedCluster | None = None
        self._home: HomeWorker | None = None
        self._n_homes = 0
        self._calls_since_fit: list[Callable[[HomeWorker], Any]] = []
        self._opening = self._thread.post(connect)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Leave the rest to a thread: the cluster may not answer, and the session ends now."""
        self._budget.stop()
        held = self._prepared_cluster, self._home, self._calls_since_fit
        self._prepared_cluster, self._home, self._calls_since_fit = None, None, []
        self._thread.close()
        self._end_thread.post(partial(self._end, *held))
        self._end_thread.close()

    def _end(self, prepared: PreparedCluster | None, *held: object) -> None:
        """End the session on the workers if this is its first runner, and forget what the runner held."""
        if self._number:
            return
        # Errors of Dask do not matter any more: the workers close the session themselves after its deadline.
        with contextlib.suppress(Exception):
            if prepared is not None:
                prepared.partitions.release()
            cluster = self._opening.result()
            try:
                cluster.run_everywhere(close_session)
            finally:
                cluster.close()

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Send the learner to the cluster, and the rows too if they are not there."""
        if not isinstance(pool, TablePool | ClusterPool):
            raise TypeError(f"Got a pool of type {type(pool).__name__}; the Dask backend reads tables and collections.")
        for each in (learner, *settings.other_learners):
            _refuse_distributed(each)
        body, state = pickle_learner((learner, settings)), ProcessState.current()

        def prepare(cluster: Cluster) -> PreparedCluster:
            partitions = pool.partitions if isinstance(pool, ClusterPool) else scatter_table(pool, cluster)
            # A task holds it, so that Dask can make it again if its worker is lost.
            told = WorkerSetup(body, partitions.layout, state, settings.seed, settings.memory_limit)
            setup = cluster.submit(SessionSetup, cluster.key, told, len(partitions))
            return PreparedCluster(cluster, partitions, setup)

        # Without any time left, the first call of the session says so.
        if not self._budget.is_spent:
            self._prepared_cluster = self._use_cluster(
                prepare, "the Dask cluster did not take the rows", "See to it that it has a worker that runs"
            )

    def find_memory(self) -> int:
        """Return the bytes that a worker may use; raise NoModelInTime if none answers by the deadline."""
        return self._use_cluster(
            Cluster.find_worker_memory, "no worker told its memory", "See to it that the cluster has a worker that runs"
        )

    def open_pool(self, given: Mapping[str, Any], *, regression: bool, seed: int, hold_out: HoldOut) -> ClusterPool:
        """Return the rows of a Dask collection, or of files that the workers read; see `ClusterPool`.

        Raises
        ------
        NoModelInTime
            If the workers are still reading the target at the deadline.
        """
        return self._use_cluster(
            lambda cluster: ClusterPool(
                cluster, given, regression=regression, seed=seed, budget=self._budget, hold_out=hold_out
            ),
            "the workers were still reading and counting the labels",
            "Persist the collection first",
        )

    def _use_cluster(self, action: Callable[[Cluster], T], problem: str, advice: str) -> T:
        """Carry out what comes before the first fit; raise NoModelInTime at the deadline."""
        try:
            return self._thread.call(lambda: action(self._opening.result()), self._budget)
        except TimeoutError:
            raise NoModelInTime(
                f"No model within the limit of {self._budget.seconds:g} s: {problem}.", f"{advice}, or allow more time."
            ) from None

    def open_sibling(self) -> DaskRunner:
        """Return a runner on another worker, as far as there are enough."""
        self._n_siblings += 1
        sibling = DaskRunner(self._opening.result, self._session_budget, self._n_siblings)
        sibling._prepared_cluster = self._prepared_cluster
        return sibling

    def stop(self) -> None:
        """Kill the learner from any thread; the call under way, and every later one, raises `OutOfTime`."""
        self._budget.stop()
        prepared = self._prepared_cluster
        if prepared is not None:
            self._end_thread.post(partial(prepared.cluster.run_everywhere, stop_runner, self._number))

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        """Train a fresh copy of the learner on one worker, or continue with the newest model; examine it on all."""
        body = None if learner is None else pickle_learner(learner)
        options = {"batch": batch, "limits": limits, "learner": body}
        rows = np.asarray(rows, dtype=np.int64)
        if batch is None or self._home is None:
            self._calls_since_fit = []
        return self._call(lambda home: home.fit(rows, options, exams), is_repeated=True)

    def examine(self, exam: Exam) -> ExamReport:
        """Predict rows where they are."""
        self._check_fitted()
        return self._call(lambda home: home.examine(exam), is_repeated=True)

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model on the worker that trained it, from the answers of all exams."""
        self._check_fitted()
        return self._call(lambda home: home.score(selected))

    def save(self) -> ProcessModel:
        """Bring the newest model to the program; it was loaded on its worker by a process that did not train it."""
        self._check_fitted()
        start = self._budget.elapsed()
        model = self._call(HomeWorker.bring_model)
        file = write_model_file(model.body)
        save_seconds = self._budget.elapsed() - start
        return ProcessModel(file, save_seconds, model.load_seconds, model.warnings, file.n_bytes)

    def _call(self, action: Callable[[HomeWorker], T], *, is_repeated: bool = False) -> T:
        """Carry out a call in the runner's thread, and again on another worker if one is lost.

        A call `is_repeated` if later ones need what it left on its worker.
        """
        prepared = self._prepared_cluster
        try:
            self._budget.raise_if_spent()
            if prepared is None:
                raise RuntimeError("prepare() must be called before fit().")
            result = self._thread.call(partial(self._try_workers, prepared, action), self._budget)
        except (TimeoutError, OutOfTime):
            # The workers know the deadline too, and the session's end is all that they are told.
            self._budget.stop()
            raise OutOfTime from None
        if is_repeated:
            self._calls_since_fit.append(action)
        return result

    def _try_workers(self, prepared: PreparedCluster, action: Callable[[HomeWorker], T]) -> T:
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            try:
                if self._home is None:
                    self._n_homes += 1
                    self._home = HomeWorker(prepared, self._budget, self._number, self._n_homes)
                    for call in self._calls_since_fit:
                        # What the lost worker knew: the lesson, and the exams for its score.
                        call(self._home)
                return action(self._home)
            except WorkerLost as loss:
                self._home = None
                self._budget.raise_if_spent()
                LOGGER.warning("%s; its work begins again on another one.", loss)
                if not prepared.cluster.is_connected:
                    self._budget.stop()
                    raise LearnerDied(SCHEDULER_LOST) from None
                if attempt == _MAX_ATTEMPTS:
                    raise LearnerDied(str(loss)) from None
                prepared.partitions.renew_lost()
        raise AssertionError("unreachable")

    def _check_fitted(self) -> None:
        if not self._calls_since_fit and not self._budget.is_spent:
            raise RuntimeError("fit() must be called before examine(), score() and save().")


def _refuse_distributed(learner: Any) -> None:
    """Refuse LightGBM's and XGBoost's own Dask learners, which no process of ours could stop."""
    kind = type(learner)
    if kind.__module__.startswith(_DISTRIBUTED_MODULES):
        raise TypeError(
            f"Got {kind.__name__}, which trains in threads of the Dask workers, where it cannot be stopped at the "
            f"deadline. Use {kind.__name__.removeprefix('Dask')}."
        )
