"""What a learner's process does: listen, learn, answer, store."""

from __future__ import annotations

import os
import pickle
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import cloudpickle
import numpy as np

from .._stopping import Patience
from ._channel import Channel
from ._launch import WAITING
from ._pickles import store
from ._places import Layout, Place
from ._pupil import Pupil
from ._reader import RowReader

_NOT_STORED = (
    "The fitted learner cannot be pickled, so it cannot come back from the process it was trained in: {error}. "
    "Use backend='inline', or give the learner a __getstate__ that leaves out what cannot be stored."
)

_OWN_VARIABLES = ("JOBLIB_TEMP_FOLDER", "TMPDIR", *WAITING)


@dataclass(frozen=True, eq=False)
class Introduction:
    """The first message to a learner's process.

    Parameters
    ----------
    pupil : bytes
        The unfitted learner, how it is graded, the options of its `fit`, the classes and how it is stopped, pickled.
    layout : Layout
        What its rows look like.
    path, folder, environment : list of str, str, dict
        Where the parent looks for modules, where it is, and its environment: the helper may have
        been started before any of them changed.
    filters : bytes
        The user's warning filters, pickled.
    seed : int or None
        For learners that draw on the global random state.
    """

    pupil: bytes
    layout: Layout
    path: list[str]
    folder: str
    environment: dict[str, str]
    filters: bytes
    seed: int | None

    def settle_in(self) -> None:
        """Make this process resemble the parent."""
        sys.path[:] = self.path
        os.chdir(self.folder)
        own = {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}
        os.environ.clear()
        os.environ.update(self.environment | own)


@dataclass(frozen=True)
class Fit:
    """Train a fresh copy of the learner, or go on by batches; answered by its warnings and the seconds left undone."""

    place: Place
    batch: int | None = None
    within: float | None = None


@dataclass(frozen=True)
class Classify:
    """Classify rows; answered by the mistakes as packed bits, and the margins if they are asked for."""

    place: Place
    margins: bool = False


@dataclass(frozen=True, eq=False)
class Score:
    """Score the exams of this round; answered by two estimates, overall and over the fresh rows (packed bits)."""

    rows: int
    fresh: bytes


@dataclass(frozen=True)
class Store:
    """Write the model to one of the two shared files; answered by the seconds that pickling took."""

    slot: int


@dataclass(frozen=True, eq=False)
class Done:
    """A request was carried out, in so many seconds of the learner's own work."""

    value: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class Raised:
    """A request ended in an exception."""

    error: bytes
    text: str
    traceback: str


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
        self._pupil: Pupil | None = None

    def fit(self, request: Fit) -> Done:
        _seed(self._introduction.seed)
        _adopt_filters(self._introduction.filters)
        learner, grading, options, classes, stopping = pickle.loads(self._introduction.pupil)
        if request.batch is None or self._pupil is None:
            self._pupil = Pupil(learner, grading)
        patience = None if request.within is None else Patience(request.within)
        if request.batch is None:
            self._pupil.learn(self._rows.read(request.place), options, patience, stopping)
        else:
            self._pupil.go_on(self._rows.read(request.place), request.batch, classes)
        caught = cloudpickle.dumps([_portable(warning) for warning in self._pupil.warnings])
        return self._done((caught, 0.0 if patience is None else patience.undone))

    def classify(self, request: Classify) -> Done:
        sat = self.pupil.sit(self._rows.read_in_pieces(request.place), request.margins)
        return self._done((np.packbits(sat.wrong).tobytes(), sat.margins))

    def score(self, request: Score) -> Done:
        start = time.monotonic()
        fresh = np.unpackbits(np.frombuffer(request.fresh, np.uint8), count=request.rows).astype(np.bool_)
        return Done(self.pupil.score(fresh), time.monotonic() - start)

    @property
    def pupil(self) -> Pupil:
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
