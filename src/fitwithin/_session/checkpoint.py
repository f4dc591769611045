"""Checkpoints: the best model and the state of a fit in one file, from which the same call goes on.

A new best model replaces the file; a round without one only adds a state at its end. A second thread notes the time
that passes during a long fit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import NotStorable, OutOfTime, UserInputError, join_names
from fitwithin._core.install_command import format_install_command
from fitwithin._core.log import LOGGER
from fitwithin._core.record_file import NewerVersion, OtherKind, Record, RecordPosition
from fitwithin._session.checkpoint_content import (
    ATTACHMENTS,
    MODEL,
    CheckpointContent,
    CheckpointReader,
    make_model_record,
    make_state_record,
)
from fitwithin._session.file_lock import FileLock
from fitwithin._session.fingerprint import Fingerprint, find_differences
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.write_plan import WriteSchedule
from fitwithin.backends import PendingDump, SavedModel

_MAX_TAIL_BYTES = 1 << 24
"""Bytes of states, beyond those of the model, after which the file is written anew."""

_HEARTBEAT_SECONDS = 2.0
"""Seconds after which the time spent is written during a long fit."""

_REPLACE_SECONDS = 0.03
"""Seconds that putting a written model into the file takes, for one of a few MB."""

_MAX_DIFFERENCES = 5
"""Differences that an error lists."""


@dataclass(frozen=True, eq=False)
class CheckpointPath(os.PathLike[str]):
    """A path for the parameter `checkpoint`, and what else to store in the file.

    Parameters
    ----------
    path : Path
        The file.
    attachments : dict of bytes
        Further content by name, such as an encoder of the features.
    """

    path: Path
    attachments: Mapping[str, bytes] = field(default_factory=dict)

    def __fspath__(self) -> str:
        return os.fspath(self.path)


@dataclass(frozen=True, eq=False)
class _PendingModel:
    """A model on its way into the file.

    Parameters
    ----------
    record : ModelRecord
        What is known about it.
    path : Path
        The file that it is written to first.
    model : SavedModel
        The model.
    dump : PendingDump
        Tells when it is written.
    began : float
        When that began, in seconds of the budget.
    """

    record: ModelRecord
    path: Path
    model: SavedModel
    dump: PendingDump
    began: float


class Checkpoint:
    """One fit's hold on its checkpoint: read at its start, written while it runs.

    Parameters
    ----------
    target : path-like
        The file; a `CheckpointPath` has attachments too.
    budget : Budget
        The time limit, which covers writing.

    Attributes
    ----------
    messages : list of str
        What went wrong, for warnings at the end of the fit.
    """

    def __init__(self, target: str | os.PathLike[str], budget: Budget) -> None:
        # The program may change its working folder meanwhile.
        self.path = Path(os.fspath(target)).absolute()
        self.messages: list[str] = []
        self._budget = budget
        self._reader = CheckpointReader(self.path)
        self._file = self._reader.file
        self._attachments: Mapping[str, bytes] = getattr(target, "attachments", {})
        self._fingerprint: Fingerprint = {}
        self._facts: Mapping[str, Any] = {}
        self._trusted_types: Sequence[str] = ()
        self._content: CheckpointContent | None = None
        self._mutex = threading.Lock()
        self._plan = WriteSchedule(budget)
        self._stored_number: int | None = None
        self._can_store = True
        self._has_failed = False
        self._base_bytes = 0
        self._stopped = threading.Event()
        self._pending: _PendingModel | None = None
        self._last_state: FitState | None = None

    def begin(
        self, fingerprint: Fingerprint, facts: Mapping[str, Any], trusted_types: Sequence[str]
    ) -> FitState | None:
        """Return the state in the file, if there is one of this fit, and from now on note the time that passes.

        Raises
        ------
        UserInputError
            If the file is of other rows or of another learner, or cannot be read.
        """
        self._fingerprint, self._facts, self._trusted_types = fingerprint, facts, trusted_types
        self._content = self._reader.read() if self.path.exists() else None
        if self._content is not None:
            differences = find_differences(self._content.fingerprint, fingerprint)
            if differences and self._content.state.best is None:
                # A fit that ended before its first model, such as one with an error in its data: nothing to lose.
                self._content = None
                self.path.unlink()
            elif differences:
                raise UserInputError(
                    f"The checkpoint {self.path} is of another fit. {join_names(differences, _MAX_DIFFERENCES)}.",
                    "Name another file, or delete this one to begin again.",
                )
        if self._content is not None:
            record = self._content.state.model_record
            self._stored_number = None if record is None else record.number
            self._base_bytes = self.path.stat().st_size
            self._plan.restore(self._content.facts.get("write"))
        # Here and not in the first write, which would seem to be slow.
        import_module("fitwithin._core.model_file")
        threading.Thread(target=self._note_time, name="fitwithin-checkpoint", daemon=True).start()
        return self._load_state()

    def _load_state(self) -> FitState | None:
        if self._content is None or self._content.model_position is None:
            return None if self._content is None else self._content.state
        model = self._reader.load_model(self._content, self._trusted_types)
        return replace(self._content.state, model=model)

    def reserved_seconds(self, model: SavedModel) -> float:
        """Seconds before the deadline to keep for writing this model; 0.0 if it will hardly be written."""
        return self._plan.reserved_seconds(model.load_seconds) if self._can_store else 0.0

    def write(self, state: FitState, model: SavedModel | None, *, is_last: bool = False) -> None:
        """Write the state, and the best model if it is new and there is time for it.

        Parameters
        ----------
        state : FitState
            The fit so far.
        model : SavedModel or None
            The model of ``state.model_record``.
        is_last : bool, default=False
            Whether the fit is over.
        """
        with self._mutex:
            self._last_state = state
            if not self.path.exists():
                # It was deleted meanwhile.
                self._stored_number = None
            is_written = self._finish_model(self._budget.remaining() / 2 if is_last else 0.0)
            if model is not None and self._is_new(state) and self._may_write(model, is_last=is_last):
                self._begin_model(state, model)
                is_written = self._finish_model(self._budget.remaining() if is_last else 0.0)
            if not is_written and self._plan.is_state_due(is_last=is_last):
                with self._reporting_errors(), self._plan.timing_state():
                    self._write_state(state)
            if is_last and self._can_store and not self._has_failed:
                self.report_older_model(state)

    def write_model_within(self, seconds: float, state: FitState, model: SavedModel | None) -> None:
        """Write the best model if it is not in the file and that takes at most so long."""
        with self._mutex:
            self._last_state = state
            self._finish_model()
            if model is not None and self._is_new(state) and self._may_write(model, worth_seconds=seconds):
                self._begin_model(state, model)
                self._finish_model()

    def _is_new(self, state: FitState) -> bool:
        """Whether the model of a state is neither in the file nor on its way there."""
        begun = None if self._pending is None else self._pending.record.number
        return state.model_record is not None and state.model_record.number not in (self._stored_number, begun)

    def report_older_model(self, state: FitState) -> None:
        """Report that the best model is not in the file, if that is so."""
        is_stored = state.best is not None and state.best.number == self._stored_number
        if state.best is not None and state.best.rows is not None and not is_stored:
            self._report(
                f"The checkpoint {self.path} holds an older model, or none, since there was no time to store the best "
                f"one, of {state.best.n_rows:,} rows. With a longer time_limit, the same call fits it again on these "
                f"rows, which took {state.best.fit_seconds:.1f} s."
            )

    def _may_write(self, model: SavedModel, *, is_last: bool = False, worth_seconds: float = 0.0) -> bool:
        is_possible = self._can_store and self._pending is None
        return is_possible and self._plan.is_due(
            model.load_seconds,
            is_last=is_last,
            worth_seconds=worth_seconds,
            in_background=model.dumps_in_background,
        )

    def _begin_model(self, state: FitState, model: SavedModel) -> None:
        """Begin to write the model of a state to a file beside the checkpoint."""
        assert state.model_record is not None
        with self._reporting_errors():
            folder = tempfile.mkdtemp(prefix=f".{self.path.name}.", suffix=".part", dir=self.path.parent)
            path, began = Path(folder) / "model.skops", self._plan.begin_model()
            try:
                with self._noting_refusals():
                    self._pending = _PendingModel(state.model_record, path, model, model.dump(path), began)
            finally:
                if self._pending is None:
                    shutil.rmtree(folder, ignore_errors=True)

    def _finish_model(self, wait_seconds: float = 0.0) -> bool:
        """Put the model that was begun into the file, if it is written; return whether it was."""
        pending, state = self._pending, self._last_state
        if pending is None or state is None or not pending.dump.wait(max(0.0, wait_seconds - _REPLACE_SECONDS)):
            return False
        self._pending, is_written = None, False
        with self._reporting_errors():
            trust = self._read_types(pending)
            if trust is not None:
                self._replace([make_model_record(pending.record, pending.path, trust, len(state.marks))], state)
                self._stored_number, is_written = pending.record.number, True
        self._plan.observe_model(pending.began, pending.model.load_seconds)
        shutil.rmtree(pending.path.parent, ignore_errors=True)
        return is_written

    def _read_types(self, pending: _PendingModel) -> tuple[str, ...] | None:
        """Return the types that must be trusted to open a written model; None if it would not be opened again."""
        with self._noting_refusals():
            types = pending.dump.result()
            unknown = set(types) - set(self._trusted_types)
            if unknown:
                raise NotStorable(f"it holds {', '.join(sorted(unknown))}, which the next call could not trust")
            return types
        return None

    @contextmanager
    def _noting_refusals(self) -> Iterator[None]:
        """Turn a model that skops can't store into a message, and try no other one."""
        try:
            yield
        except (OSError, OutOfTime):
            raise
        except Exception as error:  # A model of the user's own may raise anything.
            reason = str(error) if isinstance(error, NotStorable) else f"{type(error).__name__}: {error}"
            self._can_store = False
            self._report(
                f"The checkpoint {self.path} holds no model, since skops can't store it: {reason}. Its row numbers are "
                "stored; the next call fits it again, which takes the time of that fit."
            )

    def _write_state(self, state: FitState) -> None:
        tail = os.path.getsize(self.path) - self._base_bytes if self.path.exists() else None
        if tail is not None and tail <= self._base_bytes + _MAX_TAIL_BYTES:
            self._file.append(self._make_state_record(state))
            self._file.write_slot(state.seconds)
            return
        # The first state, or many of them: a new file, with the model of the old one.
        kept = [] if tail is None else [position for position in self._file.positions() if position.kind == MODEL]
        self._replace(kept, state)

    def _replace(self, model: Sequence[Record | RecordPosition], state: FitState) -> None:
        attachments = Record(ATTACHMENTS, {}, self._attachments)
        self._file.replace([attachments, *model, self._make_state_record(state)], state.seconds)
        self._base_bytes = os.path.getsize(self.path)

    def _make_state_record(self, state: FitState) -> Record:
        return make_state_record(state, self._fingerprint, {**self._facts, "write": self._plan.observed})

    def _note_time(self) -> None:
        while not self._stopped.wait(_HEARTBEAT_SECONDS):
            with self._mutex, suppress(OSError):
                if not self._stopped.is_set():
                    self._finish_model()
                    self._file.write_slot(self._budget.elapsed())

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        """Turn a full disk or a lost folder into a message, once."""
        try:
            yield
        except OutOfTime:
            # The model of the last write is still there, and the session notices by itself.
            return
        except (OSError, OtherKind, NewerVersion, TypeError, ValueError) as error:
            # The last two: notes of a teacher that JSON cannot hold.
            if not self._has_failed:
                self._has_failed = True
                self._report(
                    f"The checkpoint {self.path} could not be written: {getattr(error, 'strerror', None) or error}. "
                    "The fit went on; a later call goes on from the last state that could be written, if there is one."
                )

    def _report(self, message: str) -> None:
        LOGGER.warning("%s", message)
        self.messages.append(message)

    def close(self) -> None:
        """Write no more."""
        self._stopped.set()
        with self._mutex:
            if self._pending is not None:
                shutil.rmtree(self._pending.path.parent, ignore_errors=True)


def read_stored_seconds(target: str | os.PathLike[str] | None) -> float:
    """Return the seconds that earlier calls spent on a fit that has a model; 0.0 if there is none to resume."""
    if target is None or not isinstance(target, str | os.PathLike) or not Path(target).is_file():
        return 0.0
    try:
        state = CheckpointReader(Path(target)).read().state
    except UserInputError:
        # `Checkpoint.begin` reports it.
        return 0.0
    return 0.0 if state.best is None else state.seconds


@contextmanager
def open_checkpoint(target: str | os.PathLike[str] | None, budget: Budget) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint of a fit, which no other fit can open meanwhile; None without one.

    Raises
    ------
    ImportError
        If skops is not installed.
    UserInputError
        If there is no such folder, or another fit uses the file.
    """
    if target is None:
        yield None
        return
    if not isinstance(target, str | os.PathLike):
        raise UserInputError(f"checkpoint must be a path or None; got {target!r}.", 'For example "fit.ckpt".')
    if find_spec("skops") is None:
        raise ImportError(f"checkpoint needs skops, which is not installed. {format_install_command('models')}")
    checkpoint = Checkpoint(target, budget)
    lock = _acquire_lock(checkpoint.path)
    try:
        _remove_leftovers(checkpoint.path)
        yield checkpoint
    finally:
        checkpoint.close()
        lock.release()


def _acquire_lock(path: Path) -> FileLock:
    if path.is_dir():
        raise UserInputError(f"The checkpoint {path} is a folder.", f"Name a file, such as {path / 'fit.ckpt'}.")
    if not path.parent.is_dir():
        raise UserInputError(f"There is no folder {path.parent} for the checkpoint {path.name}.", "Create it.")
    lock = FileLock(path)
    try:
        is_acquired = lock.acquire()
    except OSError as error:
        raise UserInputError(
            f"The folder {path.parent} of the checkpoint can't be written to: {error.strerror or error}.",
            "Choose another folder.",
        ) from error
    if not is_acquired:
        raise UserInputError(
            f"Another fit is using the checkpoint {path}.", "Wait until it has ended, or name another file."
        )
    return lock


def _remove_leftovers(path: Path) -> None:
    """Delete what a fit that was killed while it wrote has left beside the file."""
    for leftover in path.parent.glob(f".{_escape_glob(path.name)}.*.part"):
        with suppress(OSError):
            if leftover.is_dir():
                for file in leftover.iterdir():
                    file.unlink()
                leftover.rmdir()
            else:
                leftover.unlink()


def _escape_glob(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
