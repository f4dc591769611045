"""The learner in a process of its own, that can be stopped at any moment."""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self
from warnings import WarningMessage

import cloudpickle
import numpy as np

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfTime
from fitwithin._core.records import Mask, Rows
from fitwithin._pools import Pool
from fitwithin.backends._base import ExamReport, FitReport, FitSettings, ScoreReport
from fitwithin.backends._model_runner import repeat
from fitwithin.backends._process.fork_host import ForkedHost
from fitwithin.backends._process.protocol import Classify, Done, Fit, Introduction, Raised, Score, Store
from fitwithin.backends._process.shared_memory import SharedFile, load
from fitwithin.backends._process.shared_rows import SharedRows, share
from fitwithin.backends._process.spawn_host import SpawnedHost
from fitwithin.backends._process.subprocesses import search_path


class Host(Protocol):
    """Where learners' processes come from.

    Attributes
    ----------
    folder : str or None
        Where files must lie for such a process to open them; None if it is handed descriptors.
    """

    folder: str | None

    def prepare(self, modules: list[str]) -> None:
        """Get ready for a learner that needs these modules."""
        ...

    def start(self, introduction: Introduction, files: list[SharedFile], budget: Budget) -> None:
        """Begin a process for one lesson and its exams; raises TimeoutError if the budget is spent."""
        ...

    def ask(self, request: object, budget: Budget) -> Any:
        """Its reply to a request; raises TimeoutError, or LearnerDied."""
        ...

    def stop(self) -> None:
        """Stop it at once, with everything it started."""
        ...

    def close(self) -> None:
        """The session is over."""
        ...


class Process:
    """Run the learner in a killable process, so that the deadline is kept whatever the learner does.

    On Linux a clean helper process forks once a round; elsewhere a persistent worker does the
    lessons and is replaced when it had to be killed.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Read for every deadline.
    start : {"auto", "fork", "spawn"}, default="auto"
        How a learner's process comes to be; "auto" forks from the helper on Linux.

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

    def __init__(self, *, clock: Clock = time.monotonic, start: str = "auto") -> None:
        self.clock = clock
        self.start = start

    def open(self, budget: Budget) -> ProcessRunner:
        """A runner for one session; the helper starts while `fit` is still checking its input."""
        if self.start not in ("auto", "fork", "spawn"):
            raise ValueError(f'start must be "auto", "fork" or "spawn"; got {self.start!r}.')
        fork = self.start == "fork" or (self.start == "auto" and sys.platform == "linux")
        return ProcessRunner(ForkedHost() if fork else SpawnedHost(), budget)


class ProcessRunner:
    """A learner in a process of its own."""

    killable = True

    def __init__(self, host: Host, budget: Budget) -> None:
        self._host = host
        self._budget = budget
        self._rows: SharedRows | None = None
        self._models: list[SharedFile] = []
        self._stored = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._host.stop()
        self._let_go_of_models()
        if self._rows is not None:
            self._rows.close()
        self._host.close()

    def prepare(self, learner: Any, pool: Pool, settings: FitSettings) -> None:
        """Pickle the learner, let its modules be imported, and open the shared map."""
        pickled = _pickled(learner, settings)
        self._host.prepare(_modules(pickled))
        self._rows = share(pool, self._budget, self._host.folder)
        self._introduction = Introduction(
            pupil=pickled,
            layout=self._rows.layout,
            path=search_path(),
            folder=os.getcwd(),
            environment=dict(os.environ),
            filters=_pickled_filters(),
            seed=settings.seed,
        )

    def fit(self, rows: Rows, batch: int | None = None, within: float | None = None) -> FitReport:
        """Train in a process that is started for this round; or go on in the process that is there."""
        start = self._budget.elapsed()
        assert self._rows is not None
        with self._deadline("its process was still starting, which takes a few seconds for the first fit"):
            place = self._rows.lesson(rows) if batch is None else self._rows.exam(rows)
            if batch is None or not self._models:
                self._start_process()
        if within is not None:
            within -= self._budget.elapsed() - start
        done = self._ask(Fit(place, batch, within))
        caught, skipped_seconds = done.value
        self._warnings = pickle.loads(caught)
        return FitReport(
            handover_seconds=self._budget.elapsed() - start - done.seconds,
            fit_seconds=done.seconds,
            skipped_seconds=skipped_seconds,
        )

    def _start_process(self) -> None:
        assert self._rows is not None
        self._let_go_of_models()
        self._models = [SharedFile(self._host.folder) for _ in range(2)]
        self._host.start(self._introduction, [*self._rows.files, *self._models], self._budget)

    def examine(self, rows: Rows, margins: bool = False) -> ExamReport:
        """Classify rows where the model was trained."""
        start = self._budget.elapsed()
        assert self._rows is not None
        with self._deadline():
            place = self._rows.exam(rows)
        done = self._ask(Classify(place, margins))
        bits, gaps = done.value
        wrong = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(rows)).astype(np.bool_)
        return ExamReport(wrong, self._budget.elapsed() - start - done.seconds, done.seconds, gaps)

    def score(self, fresh: Mask) -> ScoreReport:
        """Score where the exams were sat."""
        done = self._ask(Score(len(fresh), np.packbits(fresh).tobytes()))
        overall, unseen = done.value
        return ScoreReport(overall, unseen, done.seconds)

    def save(self) -> StoredModel:
        """Store the model in the file that does not hold the model kept before."""
        self._stored = 1 - self._stored
        done = self._ask(Store(self._stored))
        file = self._models[self._stored].twin()
        size = os.fstat(file.fd).st_size
        return StoredModel(file, done.seconds, expected_load(done.value, size), self._warnings)

    def _ask(self, request: Fit | Classify | Score | Store) -> Done:
        with self._deadline():
            reply = self._host.ask(request, self._budget)
        if isinstance(reply, Raised):
            raise LearnerRaised(_exception(reply), reply.traceback)
        assert isinstance(reply, Done)
        return reply

    @contextlib.contextmanager
    def _deadline(self, doing: str = "") -> Iterator[None]:
        try:
            if self._budget.spent:
                raise TimeoutError
            yield
        except TimeoutError:
            self._host.stop()
            raise OutOfTime(doing) from None
        except OSError as error:
            raise LearnerDied(f"the system refused what it needed: {error}") from error

    def _let_go_of_models(self) -> None:
        for file in self._models:
            file.close()
        self._models = []


def _pickled(learner: Any, settings: FitSettings) -> bytes:
    try:
        body: bytes = cloudpickle.dumps(
            (learner, settings.scoring, dict(settings.fit_params), settings.classes, settings.early_stopping),
            protocol=5,
        )
    except Exception as error:
        raise TypeError(
            f"The learner {type(learner).__name__}, its scorer or an argument of its fit cannot be pickled, so it "
            f"cannot go to the process that keeps the deadline: {error}. Use backend='inline', or make it picklable."
        ) from error
    return body


def _pickled_filters() -> bytes:
    try:
        body: bytes = cloudpickle.dumps(list(warnings.filters))
    except Exception:
        return pickle.dumps([])
    return body


def _modules(pickled: bytes) -> list[str]:
    """The installed modules that a pickled learner needs, and that are loaded here.

    Modules of the user's own may change between two fits, so each learner's process reads them
    anew; what they import in turn is installed, mostly, and worth having ready.
    """
    named = {argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)}
    loaded = {name: sys.modules[name] for name in sorted(named & sys.modules.keys())}
    needed = dict.fromkeys(name for name, module in loaded.items() if _installed(module))
    for module in loaded.values():
        if not _installed(module):
            for value in list(vars(module).values()):
                name = getattr(value, "__module__", None) or getattr(value, "__name__", None)
                if isinstance(name, str) and name in sys.modules and _installed(sys.modules[name]):
                    needed[name] = None
    return list(needed)


def _installed(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(tuple(_INSTALLED))


_INSTALLED = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}


def _exception(raised: Raised) -> BaseException:
    """The learner's exception; a RuntimeError with its text if it could not travel."""
    try:
        error = pickle.loads(raised.error)
    except Exception:
        return RuntimeError(raised.text)
    return error if isinstance(error, BaseException) else RuntimeError(raised.text)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model that a learner's process left in a shared file."""

    file: SharedFile
    save_seconds: float
    load_seconds: float
    warnings: list[WarningMessage]

    def load(self) -> Any:
        """The fitted learner, in this process."""
        model = load(self.file.fd)
        repeat(self.warnings)
        return model

    def discard(self) -> None:
        """Let go of the file."""
        self.file.close()


def expected_load(pickling: float, size: int) -> float:
    """Seconds that reading a model of so many bytes back will take, from what pickling it took."""
    return 0.01 + 1.5 * pickling + size / 1e9
