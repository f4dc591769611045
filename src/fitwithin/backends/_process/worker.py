"""What a learner's process does: listen, learn, answer, store."""

from __future__ import annotations

import contextlib
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
import warnings
from collections.abc import Callable
from typing import Any, cast

import cloudpickle
import numpy as np
import psutil

from fitwithin.backends._early_stopping import StopSignal
from fitwithin.backends._model_runner import ModelRunner
from fitwithin.backends._process.protocol import (
    Arrival,
    Channel,
    Classify,
    Done,
    Fit,
    Introduction,
    Raised,
    Score,
    Store,
)
from fitwithin.backends._process.shared_memory import store
from fitwithin.backends._process.shared_rows import RowReader
from fitwithin.backends._process.subprocesses import kill_descendants

_NOT_STORED = (
    "The fitted learner cannot be pickled, so it cannot come back from the process it was trained in: {error}. "
    "Use backend='inline', or give the learner a __getstate__ that leaves out what cannot be stored."
)


def serve(channel: Channel, introduction: Introduction, files: tuple[int, ...]) -> object:
    """Answer the requests of one round.

    Parameters
    ----------
    channel : Channel
        To the session.
    introduction : Introduction
        Its first message.
    files : tuple of int
        Descriptors of the shared rows, and at last of two files for models: a model that goes on learning is
        stored again and again, in turns, so that one of them is always whole.

    Returns
    -------
    object
        The first message that was no request.

    Raises
    ------
    EOFError
        When the other side hangs up.
    """
    introduction.settle_in()
    desk = _Desk(introduction, files)
    actions: dict[type, Callable[[Any], Done]] = {
        Fit: desk.fit,
        Classify: desk.classify,
        Score: desk.score,
        Store: desk.store,
    }
    while True:
        request = channel.receive()
        if not isinstance(request, tuple(actions)):
            return request
        try:
            channel.send(actions[type(request)](request))
        except Exception as error:
            story = traceback.format_exc()
            channel.send(Raised(_pickled(error), repr(error), story))


class _Desk:
    def __init__(self, introduction: Introduction, files: tuple[int, ...]) -> None:
        *rows, first, second = files
        self._models = (first, second)
        self._introduction = introduction
        self._rows = RowReader(introduction.layout, tuple(rows))
        self._pupil: ModelRunner | None = None

    def fit(self, request: Fit) -> Done:
        _seed(self._introduction.seed)
        _adopt_filters(self._introduction.filters)
        learner, scoring, options, classes, stopping = pickle.loads(self._introduction.pupil)
        if request.batch is None or self._pupil is None:
            self._pupil = ModelRunner(learner, scoring)
        stop_signal = None if request.within is None else StopSignal(request.within)
        if request.batch is None:
            self._pupil.learn(self._rows.read(request.place), options, stop_signal, stopping)
        else:
            self._pupil.go_on(self._rows.read(request.place), request.batch, classes)
        caught = cloudpickle.dumps([_portable(warning) for warning in self._pupil.warnings])
        return self._done((caught, 0.0 if stop_signal is None else stop_signal.skipped_seconds))

    def classify(self, request: Classify) -> Done:
        sat = self.pupil.sit(self._rows.read_in_pieces(request.place), request.margins)
        return self._done((np.packbits(sat.wrong).tobytes(), sat.margins))

    def score(self, request: Score) -> Done:
        start = time.monotonic()
        fresh = np.unpackbits(np.frombuffer(request.fresh, np.uint8), count=request.rows).astype(np.bool_)
        return Done(self.pupil.score(fresh), time.monotonic() - start)

    @property
    def pupil(self) -> ModelRunner:
        """Who was taught last."""
        assert self._pupil is not None
        return self._pupil

    def _done(self, value: Any) -> Done:
        seconds, self.pupil.seconds = self.pupil.seconds, 0.0
        return Done(value, seconds)

    def store(self, request: Store) -> Done:
        start = time.monotonic()
        try:
            file = self._models[request.slot]
            os.ftruncate(file, 0)
            _, pickling = store(self.pupil.model, file)
            return Done(pickling, time.monotonic() - start)
        except Exception as error:
            raise TypeError(_NOT_STORED.format(error=error)) from error


def _seed(seed: int | None) -> None:
    """A fresh global random state; a forked one would repeat its parent's in every round."""
    np.random.seed(seed)
    random.seed(seed)


def _adopt_filters(filters: bytes) -> None:
    warnings.resetwarnings()
    cast(list[Any], warnings.filters)[:] = pickle.loads(filters)


def _portable(warning: warnings.WarningMessage) -> warnings.WarningMessage:
    return warnings.WarningMessage(str(warning.message), warning.category, warning.filename, warning.lineno)


def _pickled(error: Exception) -> bytes:
    """The exception, if it survives a journey; nothing otherwise."""
    try:
        body: bytes = cloudpickle.dumps(error.with_traceback(None))
        pickle.loads(body)
    except Exception:
        return b""
    return body


def main(port: int, token: bytes, idle_seconds: float) -> None:
    """Serve the process that listens on this port of this machine and knows the token."""
    channel = Channel(socket.create_connection(("127.0.0.1", port)))
    channel.send(token)
    work = _Work()
    threading.Thread(target=work.end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        message = channel.receive()
        while True:
            message = work.round(channel, message) if isinstance(message, Arrival) else channel.receive(idle_seconds)


class _Work:
    def __init__(self) -> None:
        self._folder: str | None = None

    def round(self, channel: Channel, arrival: Arrival) -> object:
        """Serve one round; the message after its last request."""
        self._folder = os.path.dirname(arrival.paths[0])
        os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._folder
        files = tuple(os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0)) for path in arrival.paths)
        try:
            return serve(channel, arrival.introduction, files)
        finally:
            for file in files:
                os.close(file)

    def end_with_parent(self) -> None:
        """Wait for the end of standard input, which is the end of the parent; leave nothing behind."""
        sys.stdin.buffer.read()
        kill_descendants(psutil.Process())
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)
