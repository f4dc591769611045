"""Checkpoints: the best model and the state of a fit in a folder, from which the same call continues.

Each round writes a state. A new best model is written by another process where the backend can do that. A second
thread stores models that are written meanwhile, and the time that passes during a long fit.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fitwithin._core.atomic_write import atomic_write, flush_to_disk
from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, NotStorable, OutOfTime, UserInputError, join_names
from fitwithin._core.install_command import require_libraries
from fitwithin._core.log import LOGGER
from fitwithin._session.checkpoint_folder import STATE_FILE, CheckpointWriter, lock_folder, read_checkpoint
from fitwithin._session.fingerprint import Fingerprint, find_differences, list_not_comparable
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin.backends import PendingDump, SavedModel

_POLL_SECONDS = 0.1
"""Seconds between two looks at a model that another process writes: its writing is timed that precisely."""

_POLLS_PER_HEARTBEAT = 20
"""The time that passes is stored every two seconds."""

_WRITING_SHARE = 0.05
"""Share of the time that may go into models that this process writes, until the last one."""

_MAX_RESERVED_SHARE = 0.2
"""Share of the time limit that may be reserved for the last model; one that takes longer is written if time is left."""

_LOAD_FACTOR = 2.0
"""Factor by which loading a large model may take longer beside the process that writes it."""

_SAFETY_FACTOR = 1.5
"""Factor by which a write may take longer than the last one."""

_WRITE_PER_LOAD_SECOND = 20.0
"""Seconds to write a model by skops for each second of `SavedModel.load_seconds`, before the first one was written.

Forests took 7 to 15, boosters 19 to 33, on two busy cores; the latter are small.
"""


@dataclass(frozen=True, eq=False)
class _PendingModel:
    """A model that is being written; `began` is when that began, in seconds of the budget."""

    record: ModelRecord
    load_seconds: float
    dump: PendingDump
    began: float


class Checkpoint:
    """One fit's hold on its checkpoint: read at its start, written while it runs.

    No other fit writes to the folder `target`; a `CheckpointPath` has attachments too. The time limit covers writing.
    """

    def __init__(self, target: str | os.PathLike[str], budget: Budget) -> None:
        # The program may change its working folder meanwhile.
        self.path = Path(os.fspath(target)).absolute()
        self.budget = budget
        # What went wrong, for warnings at the end of the fit.
        self.messages: list[str] = []
        self._content = read_checkpoint(self.path) if (self.path / STATE_FILE).exists() else None
        self._writer = CheckpointWriter(self.path)
        self._attachments: Mapping[str, bytes] = getattr(target, "attachments", {})
        self._others: Mapping[str, Any] = {}
        self._trusted_types: Sequence[str] = ()
        self._mutex = threading.Lock()
        self._stopped = threading.Event()
        self._state: FitState | None = None
        self._model: SavedModel | None = None
        self._stored: ModelRecord | None = None
        self._pending: _PendingModel | None = None
        self._can_store = True
        self._has_failed = False
        self._state_seconds = 0.0
        # The last model that was written: its seconds, also for each second of loading it, and when it was complete.
        self._model_seconds = 0.0
        self._write_per_load_second = _WRITE_PER_LOAD_SECOND
        self._model_written_at = -math.inf

    def begin(
        self, fingerprint: Fingerprint, facts: Mapping[str, Any], trusted_types: Sequence[str]
    ) -> FitState | None:
        """Return the state in the folder, if there is one of this fit, and from now on note the time that passes."""
        content, past, unclear = self._content, None, list_not_comparable(fingerprint)
        # A fit that ended before its first model, such as one with an error in its data, has nothing to lose.
        if content is not None and content.state.best is not None:
            differences = find_differences(content.fingerprint, fingerprint)
            if differences:
                raise UserInputError(
                    f"The checkpoint {self.path} is of another fit. {join_names(differences)}.",
                    "Name another folder, or delete this one to begin again.",
                )
            if not unclear:
                past, self._stored = read_checkpoint(self.path, trusted_types).state, content.state.model_record
        if unclear:
            self._report(
                f"The checkpoint {self.path} cannot be resumed, so each call begins again: "
                f"{join_names(unclear)} cannot be compared with that of another call."
            )
        self._trusted_types = trusted_types
        self._others = {"fingerprint": fingerprint, "facts": facts, "attachments": list(self._attachments)}
        with self._reporting_errors():
            for name, body in self._attachments.items():
                with atomic_write(self.path / name) as temporary:
                    temporary.write_bytes(body)
        # Here and not in the first write, which would seem to be slow.
        import_module("fitwithin._core.model_file")
        threading.Thread(target=self._keep_up, name="fitwithin-checkpoint", daemon=True).start()
        return past

    def reserved_seconds(self, model: SavedModel) -> float:
        """Seconds before the deadline to keep for writing the last state, and this model unless it takes too long."""
        seconds = _SAFETY_FACTOR * self._predict_seconds(model) if self._can_store else 0.0
        is_reserved = seconds <= _MAX_RESERVED_SHARE * self.budget.seconds
        return _SAFETY_FACTOR * self._state_seconds + (seconds if is_reserved else 0.0)

    def write(self, state: FitState, model: SavedModel | None, *, is_last: bool = False) -> None:
        """Write the state, and the model of its `model_record` if that is new and there is time for it.

        At the end of the fit, wait for the model until the deadline.
        """
        with self._mutex:
            self._state, self._model = state, model
            self._finish_model(is_last=is_last)
            self._begin_model(is_last=is_last)
            self._finish_model(is_last=is_last)
            self._write_state(self._state)
            if is_last:
                self._stopped.set()
                if self._can_store and not self._has_failed:
                    self.report_older_model(state)

    def report_older_model(self, state: FitState) -> None:
        """Report that the best model is not in the folder, if that is so."""
        if state.best is not None and state.best.rows is not None and not self._is_stored(state.best):
            self._report(
                f"The checkpoint {self.path} holds an older model, or none, since there was no time to store the best "
                f"one, of {state.best.n_rows:,} rows. With a longer time_limit, the same call fits it again on these "
                f"rows, which took {state.best.fit_seconds:.1f} s."
            )

    def _is_stored(self, record: ModelRecord) -> bool:
        return self._stored is not None and self._stored.number == record.number

    def _predict_seconds(self, model: SavedModel) -> float:
        """Predict the seconds of writing a model from those of the last one, and from how long both take to load."""
        return max(self._model_seconds, self._write_per_load_second * model.load_seconds)

    def _seconds_left(self, model: SavedModel) -> float:
        """Seconds that may go into writing this model: those before the last state is written and it is loaded."""
        reserved = _LOAD_FACTOR * model.load_seconds + _SAFETY_FACTOR * self._state_seconds
        return self.budget.until_deadline() - reserved

    def _is_due(self, model: SavedModel, *, is_last: bool) -> bool:
        """Whether to begin to write a new model now."""
        if model.dumps_in_background:
            # It takes no time from the learner, and is given up at the deadline.
            return True
        is_rare = self._model_seconds <= _WRITING_SHARE * (self.budget.elapsed() - self._model_written_at)
        return (is_last or is_rare) and self._predict_seconds(model) <= self._seconds_left(model)

    def _begin_model(self, *, is_last: bool = False) -> None:
        """Begin to write the best model, if it is new and there is time for it."""
        record, model = None if self._state is None else self._state.model_record, self._model
        if record is None or model is None or self._is_stored(record):
            return
        if self._pending is not None or not self._can_store or not self._is_due(model, is_last=is_last):
            return
        # Suppressed: another learner has just found a better model, and this one is gone.
        with self._reporting_errors(of_model=True), suppress(LearnerDied):
            path, began = self._writer.new_file("model"), self.budget.elapsed()
            named = replace(record, file=path.name)
            self._pending = _PendingModel(named, model.load_seconds, model.dump(path), began)

    def _finish_model(self, *, is_last: bool = False) -> bool:
        """Make the model that was begun the stored one, if it is written; return whether it is."""
        pending = self._pending
        wait_seconds = self._seconds_left(self._model) if is_last and self._model is not None else 0.0
        if pending is None or not pending.dump.wait(max(0.0, wait_seconds)):
            return False
        self._pending, self._model_written_at = None, self.budget.elapsed()
        self._model_seconds = self._model_written_at - pending.began
        self._write_per_load_second = self._model_seconds / pending.load_seconds if pending.load_seconds else 0.0
        with self._reporting_errors(of_model=True):
            types = pending.dump.result()
            unknown = set(types) - set(self._trusted_types)
            if unknown:
                raise NotStorable(f"it holds {', '.join(sorted(unknown))}, which the next call could not trust")
            flush_to_disk(self.path / pending.record.file)
            self._stored = replace(pending.record, trust=types)
        return True

    def _write_state(self, state: FitState) -> None:
        """Write a state with the time that has passed by now; a wait for the model may be part of it."""
        start = self.budget.elapsed()
        with self._reporting_errors():
            try:
                self._writer.write(replace(state, seconds=start), self._stored, self._others)
            finally:
                # Models that the next state may name.
                pending = None if self._pending is None else self._pending.record
                self._writer.delete_unnamed([one.file for one in (pending, self._stored) if one is not None])
        self._state_seconds = self.budget.elapsed() - start

    def _keep_up(self) -> None:
        """Store a model soon after it is written, and now and then the time that passes."""
        for poll in itertools.count(1):
            if self._stopped.wait(_POLL_SECONDS):
                return
            with self._mutex:
                if self._stopped.is_set():
                    return
                is_finished = self._finish_model()
                if is_finished:
                    self._begin_model()
                if self._state is not None and (is_finished or poll % _POLLS_PER_HEARTBEAT == 0):
                    self._write_state(self._state)

    @contextmanager
    def _reporting_errors(self, *, of_model: bool = False) -> Iterator[None]:
        """Turn a full disk or a lost folder into a message, once, and a model that skops can't store into another."""
        try:
            yield
        except OutOfTime:
            # The model of the last write is still there, and the session notices by itself.
            return
        except Exception as error:
            if of_model and not isinstance(error, OSError):
                # A model of the user's own may raise anything.
                reason = str(error) if isinstance(error, NotStorable) else f"{type(error).__name__}: {error}"
                self._can_store = False
                self._report(
                    f"The checkpoint {self.path} holds no model, since skops can't store it: {reason}. Its row numbers "
                    "are stored; the next call fits it again, which takes the time of that fit."
                )
            # The last two: notes of a teacher that JSON cannot hold.
            elif not isinstance(error, OSError | TypeError | ValueError):
                raise
            elif not self._has_failed:
                self._has_failed = True
                self._report(
                    f"The checkpoint {self.path} could not be written: {getattr(error, 'strerror', None) or error}. "
                    "The fit went on; a later call resumes from the last state that could be written, if there is one."
                )

    def _report(self, message: str) -> None:
        LOGGER.warning("%s", message)
        self.messages.append(message)

    def close(self) -> None:
        """Write no more."""
        self._stopped.set()
        with self._mutex:
            self._writer.delete_unnamed()


def read_stored_seconds(target: str | os.PathLike[str]) -> float:
    """Return the seconds that earlier calls spent on a fit that has a model; 0.0 if there is none to resume."""
    with suppress(OSError, KeyError, TypeError, ValueError):
        # `open_checkpoint` and `Checkpoint.begin` report what is wrong with it.
        values = json.loads((Path(target) / STATE_FILE).read_bytes())
        if values["best"] is not None and not list_not_comparable(values["fingerprint"]):
            return float(values["seconds"])
    return 0.0


@contextmanager
def open_checkpoint(target: str | os.PathLike[str], budget: Budget) -> Iterator[Checkpoint]:
    """Yield the checkpoint of a fit, which no other fit can open meanwhile."""
    if not isinstance(target, str | os.PathLike):
        raise UserInputError(f"checkpoint must be a path or None; got {target!r}.", 'For example "fit.ckpt".')
    require_libraries("checkpoint", "filelock", "skops")
    with lock_folder(Path(os.fspath(target)).absolute()), closing(Checkpoint(target, budget)) as checkpoint:
        yield checkpoint
