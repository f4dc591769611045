"""The learner's process: receive requests, train, predict, score and save."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import shutil
import socket
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, cast

import cloudpickle
import numpy as np
import psutil

from fitwithin.backends._base import FitSettings
from fitwithin.backends._early_stopping import StopSignal
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._process.local_port import SECRET_BYTES, Secret, connect_to_port
from fitwithin.backends._process.parent_watch import ParentWatch
from fitwithin.backends._process.protocol import (
    BeginRound,
    Channel,
    ErrorReply,
    ExamRequest,
    FitRequest,
    Reply,
    SaveRequest,
    ScoreRequest,
    WorkerSetup,
)
from fitwithin.backends._process.shared_memory import dump_pickle
from fitwithin.backends._process.shared_rows import RowReader
from fitwithin.backends._process.subprocesses import kill_descendants

_MODEL_NOT_PICKLED = (
    "The fitted learner cannot be pickled, so it cannot be returned from the process that trained it: {error}. "
    "Use backend='inline', or give the learner a __getstate__ that leaves out what cannot be pickled."
)


def serve(channel: Channel, setup: WorkerSetup, files: tuple[int, ...]) -> object:
    """Answer the requests of one round.

    Parameters
    ----------
    channel : Channel
        The connection to the parent.
    setup : WorkerSetup
        The first message of the round.
    files : tuple of int
        Descriptors of the shared rows, then of two files for models. A model that continues training
        is saved to them in turns, so that one of them is always whole.

    Returns
    -------
    object
        The first message that is not a request.

    Raises
    ------
    EOFError
        When the parent closes the connection.
    """
    setup.apply_to_process()
    worker = Worker(setup, files)
    actions: dict[type, Callable[[Any], Reply]] = {
        FitRequest: worker.fit,
        ExamRequest: worker.predict,
        ScoreRequest: worker.score,
        SaveRequest: worker.save,
    }
    while True:
        request = channel.receive()
        if not isinstance(request, tuple(actions)):
            return request
        try:
            channel.send(actions[type(request)](request))
        except Exception as error:
            text = traceback.format_exc()
            channel.send(ErrorReply(_pickle_error(error), repr(error), text))


class Worker:
    """Carry out the requests of one round.

    Parameters
    ----------
    setup : WorkerSetup
        The learner, its settings and the layout of its rows.
    files : tuple of int
        As in `serve`.
    """

    def __init__(self, setup: WorkerSetup, files: tuple[int, ...]) -> None:
        *row_files, first_model, second_model = files
        self._setup = setup
        self._model_files = (first_model, second_model)
        self._rows = RowReader(setup.layout, tuple(row_files))
        self._newest: ModelRunner | None = None

    def fit(self, request: FitRequest) -> Reply:
        """Train a fresh copy of the learner, or continue with the newest model."""
        _seed_global_state(self._setup.seed)
        _set_warning_filters(self._setup.pickled_filters)
        learner, settings = self._unpickle_learner()
        if request.batch is None or self._newest is None:
            self._newest = ModelRunner(learner, settings.scoring)
        stop_signal = None if request.within is None else StopSignal(request.within)
        rows = self._rows.read(request.selection)
        if request.batch is None:
            self._newest.fit(rows, settings.fit_params, stop_signal, settings.early_stopping)
        else:
            self._newest.partial_fit(rows, request.batch, settings.classes)
        caught = cloudpickle.dumps([_to_portable(warning) for warning in self._newest.warnings])
        return self._reply((caught, 0.0 if stop_signal is None else stop_signal.skipped_seconds))

    def predict(self, request: ExamRequest) -> Reply:
        """Predict rows with the newest model, and compare."""
        wrong, margins = self._fitted.examine(self._rows.read_in_pieces(request.selection), request.margins)
        return self._reply((np.packbits(wrong).tobytes(), margins))

    def score(self, request: ScoreRequest) -> Reply:
        """Score the newest model on the rows that it was examined on."""
        start = time.monotonic()
        bits = np.frombuffer(request.selected_bits, np.uint8)
        selected = np.unpackbits(bits, count=request.n_rows).astype(np.bool_)
        return Reply(self._fitted.score(selected), time.monotonic() - start)

    def save(self, request: SaveRequest) -> Reply:
        """Write the newest model to a file."""
        start = time.monotonic()
        try:
            file = self._model_files[request.file_index]
            os.ftruncate(file, 0)
            _, pickle_seconds = dump_pickle(self._fitted.model, file)
            return Reply(pickle_seconds, time.monotonic() - start)
        except Exception as error:
            raise TypeError(_MODEL_NOT_PICKLED.format(error=error)) from error

    def _unpickle_learner(self) -> tuple[Any, FitSettings]:
        pair: tuple[Any, FitSettings] = pickle.loads(self._setup.pickled_learner)
        return pair

    @property
    def _fitted(self) -> ModelRunner:
        if self._newest is None:
            raise RuntimeError("A FitRequest must come before every other request.")
        return self._newest

    def _reply(self, value: Any) -> Reply:
        seconds, self._fitted.seconds = self._fitted.seconds, 0.0
        return Reply(value, seconds)


def _seed_global_state(seed: int | None) -> None:
    """Seed the global random state: a forked one would be the same in every round."""
    np.random.seed(seed)
    random.seed(seed)


def _set_warning_filters(pickled_filters: bytes) -> None:
    warnings.resetwarnings()
    cast(list[Any], warnings.filters)[:] = pickle.loads(pickled_filters)


def _to_portable(warning: warnings.WarningMessage) -> warnings.WarningMessage:
    """Return the warning with its text alone, without objects that may not pickle."""
    return warnings.WarningMessage(str(warning.message), warning.category, warning.filename, warning.lineno)


def _pickle_error(error: Exception) -> bytes:
    """Pickle an exception; return nothing if it cannot be unpickled again."""
    try:
        body: bytes = cloudpickle.dumps(error.with_traceback(None))
        pickle.loads(body)
    except Exception:
        return b""
    return body


def main(inherited: int | None, port: int | None, parent_pid: int, idle_seconds: float) -> None:
    """Serve rounds for the process that started this one.

    Parameters
    ----------
    inherited : int or None
        Descriptor of a socket that is connected to the parent; None where sockets cannot be inherited.
    port : int or None
        The parent's port instead; the secret for it comes over standard input.
    parent_pid : int
        The parent.
    idle_seconds : float
        Seconds without a session after which to end.
    """
    worker = SpawnedWorker()
    threading.Thread(target=worker.end_with_parent, args=(parent_pid,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        channel = Channel(_connect_to_parent(inherited, port))
        message = channel.receive()
        while True:
            if isinstance(message, BeginRound):
                message = worker.serve_round(channel, message)
            else:
                message = channel.receive(idle_seconds)


def _connect_to_parent(inherited: int | None, port: int | None) -> socket.socket:
    if inherited is not None:
        os.set_inheritable(inherited, False)
        return socket.socket(fileno=inherited)
    if port is None:
        raise ValueError("Got neither a socket nor a port.")
    return connect_to_port(port, _receive_secret())


def _receive_secret() -> Secret:
    """Read the secret from standard input, which the learner then finds at its end."""
    with open(0, "rb", closefd=False) as standard_input:
        secret = Secret.from_bytes(standard_input.read(SECRET_BYTES))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return secret


class SpawnedWorker:
    """A worker that serves one round after the other."""

    def __init__(self) -> None:
        self._folder: str | None = None

    def serve_round(self, channel: Channel, begin: BeginRound) -> object:
        """Serve one round, and return the message after its last request."""
        self._folder = os.path.dirname(begin.paths[0])
        os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._folder
        files = tuple(os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0)) for path in begin.paths)
        try:
            return serve(channel, begin.setup, files)
        finally:
            for file in files:
                os.close(file)

    def end_with_parent(self, parent_pid: int) -> None:
        """Wait for the end of the parent; then clean up and end."""
        ParentWatch(parent_pid).wait()
        kill_descendants(psutil.Process())
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)
