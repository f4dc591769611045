"""The process backend: the learner runs in a process of its own, which can be killed at any moment."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import cloudpickle

from fitwithin._core.budget import Budget, Clock, StoppableBudget
from fitwithin._core.cores import CoreShare, share_cores
from fitwithin._core.exceptions import FitwithinError, LearnerDied, LearnerFailed, OutOfMemory, OutOfTime
from fitwithin._core.records import NO_LIMITS, Exam, FitLimits, Mask, Rows
from fitwithin._pools.pool import Pool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._memory_use import MemoryWatch, list_shared_blocks
from fitwithin.backends._process.connection import Request, WorkerConnection, WorkerSetup
from fitwithin.backends._process.fork_host import ForkHost
from fitwithin.backends._process.saved_model import Loader, PortableWarning, ProcessDump, ProcessModel
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.shared_rows import SharedRows, share_rows
from fitwithin.backends._process.spawn_host import SpawnHost
from fitwithin.backends._process.subprocesses import ProcessState, find_modules

_MAX_GROWTH_BYTES = 512 << 20
"""Bytes by which the learner's process may grow between lessons before it is replaced."""


class Process:
    """Run the learner in a process that can be killed, so that the deadline holds whatever the learner does.

    One process serves the whole of a `fit` and ends with it, so that libraries are imported and a GPU is set up only
    once. A second process loads each new best model, to check that it can be loaded. On Linux both are forks of a clean
    process, the fork server. On other systems they are started anew.

    With `n_jobs`, several processes read the same shared rows. Each is bound to its share of the cores, where the
    system allows that, and its libraries start that number of threads by default.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Returns the time in seconds; deadlines are kept by it.
    start : {"auto", "fork", "spawn"}, default="auto"
        How to start the learner's process; "auto" forks on Linux and spawns elsewhere.
    spool : str or path-like, optional
        Folder for the rows that are read from a data set on disk; it needs room for all of them, uncompressed. By
        default the temporary folder. Nothing is left there after `fit`.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedClassifier
    >>> from fitwithin.backends import Process
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> TimeConstrainedClassifier(GaussianNB(), time_limit=30, backend=Process()).fit(X, y).stop_reason_
    'all rows'
    """

    def __init__(
        self, *, clock: Clock = time.monotonic, start: str = "auto", spool: str | os.PathLike[str] | None = None
    ) -> None:
        self.clock = clock
        self.start = start
        self.spool = spool

    def open(self, budget: Budget) -> ProcessRunner:
        """Return a runner for one session; its process starts while `fit` is still checking its input."""
        if self.start not in ("auto", "fork", "spawn"):
            raise ValueError(f'Got start={self.start!r}; expected "auto", "fork" or "spawn".')
        if os.name != "posix":
            raise ValueError("Got backend='process' on this system; it runs on Linux and macOS. Use backend='inline'.")
        fork = self.start == "fork" or (self.start == "auto" and sys.platform == "linux")
        with _naming_refusals():
            return ProcessRunner(ForkHost() if fork else SpawnHost(), budget)


class ProcessRunner:
    """Run one learner in a process of its own; `first` has the host, the rows and the writer of all its siblings."""

    killable = True
    _setup: WorkerSetup
    _watch: MemoryWatch

    def __init__(self, host: ForkHost | SpawnHost, budget: Budget, first: ProcessRunner | None = None) -> None:
        self.host = host
        self._session_budget = budget
        self._budget = StoppableBudget(budget)
        self._first = first
        self._others_blocks: frozenset[str] = list_shared_blocks() if first is None else first._others_blocks
        self._siblings: list[ProcessRunner] = []
        self._core_shares: tuple[CoreShare, ...] = ()
        self._shared_rows: SharedRows | None = None
        self._learner: WorkerConnection | None = None
        self._loader = Loader(lambda: host.start_worker(self._setup, self._budget))
        self._writer: WorkerConnection | None = None
        self._resting_bytes: list[int] = []
        self._warnings: list[PortableWarning] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop_workers()
        if self._first is not None:
            return
        for sibling in self._siblings:
            sibling.__exit__()
        if self._writer is not None:
            self._writer.end()
        if self._shared_rows is not None:
            # An exception that the user keeps may hold this runner, but not the rows.
            self._shared_rows.close()
        self.host.close()

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        pickled_learner = pickle_learner((learner, settings))
        process_state = ProcessState.current()
        with _naming_refusals():
            # Frames are made in the learner's process.
            self.host.import_modules([*find_modules(pickled_learner), *pool.modules], settings.n_jobs)
            # Rows are shared with siblings, which go on if this runner is stopped.
            rows = self._shared_rows = share_rows(pool, self._session_budget, settings.n_jobs)
        self._core_shares = share_cores(settings.n_jobs) if settings.n_jobs > 1 else ()
        core_share, limit = next(iter(self._core_shares), None), settings.memory_limit
        self._setup = WorkerSetup(pickled_learner, rows.layout, process_state, settings.seed, limit, core_share)

    def open_sibling(self) -> ProcessRunner:
        rows, number = self._rows, len(self._siblings) + 1
        if number >= len(self._core_shares):
            raise RuntimeError(f"Got {number + 1} runners; prepare() was told n_jobs={len(self._core_shares) or 1}.")
        sibling = ProcessRunner(self.host, self._session_budget, self)
        sibling._shared_rows = rows
        sibling._setup = replace(self._setup, core_share=self._core_shares[number])
        self._siblings.append(sibling)
        return sibling

    def stop(self) -> None:
        self._budget.stop()
        for worker in (self._learner, self._loader.worker):
            if worker is not None:
                worker.kill()

    def fit(
        self,
        rows: Rows,
        *,
        batch: int | None = None,
        exams: Sequence[Exam] = (),
        limits: FitLimits = NO_LIMITS,
        learner: Any = None,
    ) -> FitReport:
        start = self._budget.elapsed()
        pickled_learner = None if learner is None else pickle_learner(learner)
        with self._until_deadline("its process was still starting, which takes a few seconds for the first fit"):
            selection = self._rows.share_training_rows(rows) if batch is None else self._rows.share_exam_rows(rows)
            exam_requests = tuple(map(self._share_exam, exams))
            # After the first lesson a process holds what is paid once: libraries, threads, a GPU's context.
            later = self._resting_bytes[1:]
            if batch is None and later and later[-1] - later[0] > _MAX_GROWTH_BYTES:
                self._end_learner()
            started = self._budget.elapsed()
            worker = self._learner or self._start_learner()
            start_seconds = self._budget.elapsed() - started
        if limits.stop_after is not None:
            limits = replace(limits, stop_after=limits.stop_after - (self._budget.elapsed() - start))
        self._watch.begin(limits.kill_after)
        request = Request("fit", (selection, batch, limits, pickled_learner), exam_requests)
        report: FitReport
        with self._until_deadline():
            worker.post(request)
            # While the learner is at work. If it fails, saving tries again.
            posted = self._budget.elapsed()
            with contextlib.suppress(LearnerDied, OSError):
                self._loader.start()
            start_seconds += self._budget.elapsed() - posted
        report, self._warnings, n_bytes = self._request(None)
        self._resting_bytes.append(n_bytes)
        if self._first is None:
            # The session knows that the first fit of all waits for a process, and expects this of no other.
            start_seconds = 0.0
        return replace(
            report,
            handover_seconds=max(0.0, self._budget.elapsed() - start - start_seconds - report.fit_seconds),
            peak_memory=self._watch.peak,
            memory_before=self._watch.before,
            exams=() if report.gave_up else tuple(self._finish_exam(None, self._budget.elapsed()) for _ in exams),
        )

    def _start_learner(self) -> WorkerConnection:
        learner = self._learner = self.host.start_worker(self._setup, self._budget, self._rows.files)
        self._watch = learner.watch = MemoryWatch(learner.pid, self._setup.memory_limit, self._others_blocks)
        return learner

    def _end_learner(self) -> None:
        """End the learner's process, with everything that it started; the next fit starts another."""
        learner, self._learner, self._resting_bytes = self._learner, None, []
        if learner is not None:
            learner.end()

    def examine(self, exam: Exam) -> ExamReport:
        start = self._budget.elapsed()
        with self._until_deadline():
            request = self._share_exam(exam)
        return self._finish_exam(request, start)

    def _share_exam(self, exam: Exam) -> Request:
        return Request("examine", (self._rows.share_exam_rows(exam.rows), exam.purpose, exam.margins, exam.seconds))

    def _finish_exam(self, request: Request | None, start: float) -> ExamReport:
        """Return the report of an exam that began at `start`; without a request, of the next one of the last fit."""
        report: ExamReport = self._request(request)
        handover_seconds = max(0.0, self._budget.elapsed() - start - report.exam_seconds)
        return replace(report, handover_seconds=handover_seconds, peak_memory=self._watch.peak)

    def score(self, selected: Mask) -> ScoreReport:
        report: ScoreReport = self._request(Request("score", (selected,)))
        return report

    def save(self) -> ProcessModel:
        """Save the newest model, and load it in a clean process first, unless one like it was."""
        start = self._budget.elapsed()
        with self._until_deadline():
            file = SharedFile()
        try:
            kinds, body_bytes = self._request(Request("save"), [file])
            with self._until_deadline():
                load_seconds = self._loader.check(file, kinds, body_bytes)
        except BaseException:
            file.close()
            raise
        save_seconds = self._budget.elapsed() - start
        begin_dump = (self._first or self).begin_dump
        return ProcessModel(file, save_seconds, load_seconds, self._warnings, file.n_bytes, begin_dump)

    def begin_dump(self, file: SharedFile, path: Path) -> ProcessDump:
        """Have a process that never trained write a saved model to a skops file, while the learner goes on."""
        with self._until_deadline():
            if self._writer is None:
                self._writer = self.host.start_worker(self._setup, self._session_budget)
            return ProcessDump(self._writer.post(Request("dump", (str(path),)), [file]))

    @property
    def _rows(self) -> SharedRows:
        if self._shared_rows is None:
            raise RuntimeError("prepare() must be called before fit().")
        return self._shared_rows

    def _request(self, request: Request | None, files: Sequence[SharedFile] = ()) -> Any:
        """Ask the learner's process; without a request, for the next reply to the last one."""
        if self._learner is None:
            raise RuntimeError("fit() must be called before examine(), score() and save().")
        self._watch.begin_request()
        try:
            with self._until_deadline():
                return self._learner.ask(request, files)
        except (LearnerDied, OutOfMemory):
            self._end_learner()
            raise

    @contextlib.contextmanager
    def _until_deadline(self, doing: str = "") -> Iterator[None]:
        """Kill the process at the deadline and raise `OutOfTime`, which says what was being done."""
        try:
            self._budget.raise_if_spent()
            yield
        except (TimeoutError, LearnerDied) as end:
            if isinstance(end, LearnerDied) and not self._budget.is_stopped:
                raise
            self._stop_workers()
            raise OutOfTime(doing) from None
        except OSError as error:
            raise LearnerDied(f"the operating system refused a resource: {error}") from error

    def _stop_workers(self) -> None:
        """Kill the learner and the loader at once; what is written goes on until the session ends."""
        self._end_learner()
        self._loader.end()


@contextlib.contextmanager
def _naming_refusals() -> Iterator[None]:
    """Turn what the operating system refuses at the start into an error that says what to do."""
    try:
        yield
    except (FitwithinError, TimeoutError):
        raise
    except OSError as error:
        raise LearnerFailed(
            f"No process could be started for the learner: {error}. Raise the limit of the system that this names "
            "(ulimit -a shows them), or use backend='inline'."
        ) from error


def pickle_learner(learner: Any) -> bytes:
    """Pickle a learner, or one with its settings; return one that came pickled, over a network, as it is."""
    if isinstance(learner, bytes):
        return learner
    try:
        return bytes(cloudpickle.dumps(learner, protocol=5))
    except Exception as error:
        learner = learner[0] if isinstance(learner, tuple) else learner
        raise TypeError(
            f"The learner {type(learner).__name__}, its scorer or an argument of its fit cannot be pickled, so it "
            f"cannot be sent to a process that is stopped at the deadline: {error}. "
            "Use backend='inline', or make it picklable."
        ) from error
