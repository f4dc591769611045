"""The learner's process: receive requests, train, predict, score and save."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import pickle
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from fitwithin._core.records import FitLimits, Mask, Purpose
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import make_stop_signal
from fitwithin.backends._exam_predictions import ExamPredictions
from fitwithin.backends._memory_use import read_memory_use
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import Channel, ErrorReply, WorkerSetup
from fitwithin.backends._process.row_reader import RowReader, RowSelection
from fitwithin.backends._process.saved_model import PortableWarning
from fitwithin.backends._process.shared_memory import PickledObject, load_pickle

_KEPT_FILES = 3
"""Model files that are held open: the best model, the one before, and one that is being checked."""

_MAX_PICKLE_SHARE = 0.01
"""Largest share of a fit's seconds that measuring the size of its model may take: what it took for the last model."""


def serve(channel: Channel, setup: WorkerSetup, files: tuple[int, ...]) -> None:
    """Answer requests until the parent closes the connection, which raises EOFError; `files` hold the shared rows."""
    worker = Worker(channel, setup, files)
    # What is there now stays for ever: collecting the garbage of later lessons need not look at it.
    gc.freeze()
    while True:
        requests = [channel.receive()]
        while requests:
            request = requests.pop(0)
            try:
                reply = getattr(worker, request.method)(*request.arguments)
                if request.exams and not reply[0].gave_up:
                    requests += request.exams
            except Exception as error:
                reply, requests = _make_error_reply(error), []
            # The process may be killed at any time after its reply.
            flush_output()
            channel.send(reply)


class Worker:
    """Carry out the requests of one session, which name its methods."""

    def __init__(self, channel: Channel, setup: WorkerSetup, files: tuple[int, ...]) -> None:
        self._channel = channel
        self._setup = setup
        self._files = files
        self._newest: ModelRunner | None = None
        # The newest model, until it may change: when it predicts, or is trained further.
        self._pickled: PickledObject | None = None
        self._pickle_seconds = 0.0
        self._loaded_files: list[int] = []
        self._n_limited_modules = 0
        # As they are before the learner can change them.
        self._own_variables = {name: os.environ[name] for name in subprocesses.OWN_VARIABLES if name in os.environ}
        if setup.core_share is not None:
            self._own_variables |= setup.core_share.bind_process(setup.process_state.environment)
        setup.process_state.apply(self._own_variables)

    @functools.cached_property
    def _rows(self) -> RowReader:
        return RowReader(self._setup.layout, self._files)

    def fit(
        self, selection: RowSelection, batch: int | None, limits: FitLimits, pickled_learner: bytes | None
    ) -> tuple[FitReport, list[PortableWarning], int]:
        """Train a fresh copy of the learner, or another one that comes pickled, or continue by batches.

        Return the report, the learner's warnings, and the bytes that the process held before.
        """
        self._pickled = None
        if batch is None:
            self._forget_model()
        memory = read_memory_use(os.getpid())
        # As in a new process: nothing that an earlier lesson changed is seen by this one.
        self._setup.process_state.apply(self._own_variables)
        seed = self._setup.seed
        np.random.seed(seed)
        random.seed(seed)
        if (torch := sys.modules.get("torch")) is not None:
            torch.seed() if seed is None else torch.manual_seed(seed)
        learner, settings = self._unpickle_learner()
        early_stopping = settings.early_stopping
        if pickled_learner is not None:
            learner = pickle.loads(pickled_learner)
            early_stopping = find_early_stopping(learner)
        if self._setup.core_share is not None and len(sys.modules) != self._n_limited_modules:
            # Unpickling may have imported a library with threads of its own.
            self._setup.core_share.limit_threads()
            self._n_limited_modules = len(sys.modules)
        if self._newest is None:
            self._newest = ModelRunner(learner, settings.scoring)
        stop_signal = make_stop_signal(limits)
        rows = self._rows.read(selection)
        if batch is not None:
            report = self._newest.partial_fit(rows, batch, settings.classes)
        else:
            report = self._newest.fit(rows, settings.fit_params, stop_signal, early_stopping)
            if not report.gave_up:
                report = replace(report, model_bytes=self._measure_model(report.fit_seconds))
        caught = [PortableWarning.from_message(warning) for warning in self._newest.warnings]
        return report, caught, 0 if memory is None else memory.now

    def _measure_model(self, fit_seconds: float) -> int | None:
        """Pickle the newest model for its size; return None if that takes long, or fails, as saving will."""
        if self._pickle_seconds > _MAX_PICKLE_SHARE * fit_seconds:
            return None
        start = time.monotonic()
        with contextlib.suppress(Exception):
            self._pickled = PickledObject(self._fitted.model)
        self._pickle_seconds = time.monotonic() - start
        return None if self._pickled is None else self._pickled.n_bytes

    def _forget_model(self) -> None:
        """Give the memory of the model before back to the system, with the garbage that it leaves, where C can."""
        self._newest = None
        gc.collect()
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)

    def examine(self, selection: RowSelection, purpose: Purpose, margins: bool, seconds: float | None) -> ExamReport:
        self._pickled = None
        return self._fitted.examine(self._rows.read_in_pieces(selection, seconds), purpose, margins)

    def score(self, selected: Mask) -> ScoreReport:
        return self._fitted.score(selected)

    def save(self) -> tuple[set[str], int]:
        """Write the newest model to a file that came, and tell what it consists of, and its bytes without arrays."""
        file = self._channel.take_descriptor()
        try:
            pickled = self._pickled or PickledObject(self._fitted.model)
            pickled.write(file)
        except Exception as error:
            raise TypeError(
                "The fitted learner cannot be pickled, so it cannot be returned from the process that trained it: "
                f"{error}. Use backend='inline', or give the learner a __getstate__ that leaves out what cannot be "
                "pickled."
            ) from error
        finally:
            self._pickled = None
            os.close(file)
        return pickled.kinds, pickled.body_bytes

    def import_learner(self) -> None:
        """Import what the learner needs: the parent has it, so it is no part of the time that loading a model takes."""
        self._unpickle_learner()

    def load(self) -> tuple[float, set[str]]:
        """Load a saved model, and forget it: a test. Return the seconds, and the modules that this imported."""
        known = set(sys.modules)
        _, seconds = _load_model(self._take_file())
        return seconds, sys.modules.keys() - known

    def adopt(self) -> None:
        """Take over a saved model, as if this process had trained it."""
        self._forget_model()
        file = self._channel.take_descriptor()
        _, settings = self._unpickle_learner()
        try:
            model, _ = _load_model(file)
        finally:
            os.close(file)
        self._newest = ModelRunner(model, settings.scoring)

    def answer(self, selection: RowSelection, margins: bool) -> tuple[ExamPredictions, float]:
        return self._fitted.answer(self._rows.read_in_pieces(selection), margins)

    def add_answers(self, answers: ExamPredictions, purpose: Purpose) -> ExamReport:
        return self._fitted.add_answers(answers, purpose)

    def dump(self, path: str) -> tuple[str, ...]:
        """Write a saved model to a skops file; return the types in it that must be trusted by name."""
        from fitwithin._core.model_file import dump_model

        return dump_model(load_pickle(self._take_file()), Path(path))

    def _take_file(self) -> int:
        """Return a model file that came, and hold it open, so that the parent is not the one that frees it, slowly."""
        self._loaded_files.append(self._channel.take_descriptor())
        if len(self._loaded_files) > _KEPT_FILES:
            os.close(self._loaded_files.pop(0))
        return self._loaded_files[-1]

    def _unpickle_learner(self) -> tuple[Any, FitSettings]:
        pair: tuple[Any, FitSettings] = pickle.loads(self._setup.pickled_learner)
        return pair

    @property
    def _fitted(self) -> ModelRunner:
        if self._newest is None:
            raise RuntimeError("A fit must come before every other request.")
        return self._newest


def _load_model(file: int) -> tuple[Any, float]:
    start = time.monotonic()
    try:
        return load_pickle(file), time.monotonic() - start
    except Exception as error:
        raise TypeError(
            f"The fitted learner was pickled, but a clean process could not load it: {type(error).__name__}: {error}. "
            "Use backend='inline', or see to it that it can be unpickled in a program that did not train it."
        ) from error


def flush_output() -> None:
    """Write what the learner has printed, in Python and in C."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).fflush(None)


def _make_error_reply(error: Exception) -> ErrorReply:
    traceback_text, text, pickled = traceback.format_exc(), type(error).__name__, b""
    # An exception of the learner's own making may raise others.
    with contextlib.suppress(Exception):
        text = repr(error)
    with contextlib.suppress(Exception):
        pickled = cloudpickle.dumps(error.with_traceback(None))
    return ErrorReply(pickled, text, traceback_text)


def become_first_oom_choice() -> None:
    """Have Linux end this process, or one that it starts, before any other when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        # The largest adjustment: a program that holds much data has a high score of its own.
        file.write("1000")


def main(descriptor: int, idle_seconds: float) -> None:
    """Serve one session for the process that started this one, and end after `idle_seconds` without one."""
    become_first_oom_choice()
    folders: list[str] = []
    threading.Thread(target=_end_with_parent, args=(os.getppid(), folders), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        os.set_inheritable(descriptor, False)
        channel = Channel(socket.socket(fileno=descriptor))
        while (request := channel.receive(idle_seconds)).method == "import_modules":
            subprocesses.import_modules(*request.arguments)
        setup, folder, n_files = request.arguments
        folders.append(folder)
        os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = folder
        serve(channel, setup, tuple(channel.take_descriptor() for _ in range(n_files)))
    # Taking down the interpreter takes long, and the parent would still take an idle worker for a usable one.
    flush_output()
    os._exit(0)


def _end_with_parent(parent_pid: int, folders: list[str]) -> None:
    """Wait for the end of the parent; then kill what this process started, remove the folders, and end."""
    while os.getppid() == parent_pid:
        time.sleep(subprocesses.PROCESS_POLL_SECONDS)
    subprocesses.kill_descendants(os.getpid())
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
