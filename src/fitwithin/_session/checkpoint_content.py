"""The content of a checkpoint file: a model, attachments and the state of a fit, as records.

The model is stored by skops and nothing by pickle, so that a file from elsewhere runs nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin._core.cost import CostModel
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import UPGRADE_COMMAND
from fitwithin._core.record_file import DamagedFile, NewerVersion, OtherKind, Record, RecordFile, RecordPosition
from fitwithin._core.records import Rows
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.fit_state import FitState, Marks, ModelRecord, round_from_values, stop_reason_from_value

TITLE = "fitwithin checkpoint"
"""First words of the file."""

_VERSION = 1
"""Version of the layout; increase it when older versions of fitwithin can't read the file."""

ATTACHMENTS, MODEL, STATE = b"ATTA", b"MODL", b"STAT"
"""Kinds of records. There is at most one of the first two; the last state counts."""


@dataclass(frozen=True, eq=False)
class CheckpointContent:
    """What a checkpoint holds, its model not loaded.

    Parameters
    ----------
    state : FitState
        The fit so far.
    fingerprint : dict
        The rows and the learner of the fit.
    facts : dict
        The task, classes and columns, for those who do not have the data.
    model_position : RecordPosition or None
        Where the model lies.
    attachments : dict of slice
        Where the attachments lie.
    trust : tuple of str
        Types that must be trusted by name to open the model.
    """

    state: FitState
    fingerprint: Fingerprint
    facts: Mapping[str, Any]
    model_position: RecordPosition | None
    attachments: Mapping[str, slice]
    trust: tuple[str, ...] = ()


class CheckpointReader:
    """Read a checkpoint of any origin; nothing in it is run.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = RecordFile(path, TITLE, _VERSION)

    def read(self) -> CheckpointContent:
        """Return the last state.

        Raises
        ------
        UserInputError
            If the file is no checkpoint, is damaged, or was written by a newer version.
        """
        try:
            return self._read()
        except NewerVersion as error:
            raise UserInputError(
                f"The checkpoint {self.path} was written by a newer version of fitwithin.",
                f"Name another file, or upgrade fitwithin. {UPGRADE_COMMAND}",
            ) from error
        except OtherKind as error:
            raise UserInputError(f"{self.path} is not a checkpoint of fitwithin.", "Name another file.") from error
        except (DamagedFile, KeyError, TypeError, ValueError, OverflowError) as error:
            raise UserInputError(
                f"The checkpoint {self.path} is damaged: {error}.",
                "Name another file, or delete this one to begin again.",
            ) from error
        except OSError as error:
            raise UserInputError(
                f"The checkpoint {self.path} can't be read: {error.strerror or error}.", "Name another file."
            ) from error

    def _read(self) -> CheckpointContent:
        positions = list(self.file.positions())
        states = [position for position in positions if position.kind == STATE]
        last = next((position for position in reversed(states) if self.file.is_intact(position)), None)
        if last is None:
            raise DamagedFile("it holds no state of a fit")
        values, parts = self.file.read(last)
        model_position = next((position for position in positions if position.kind == MODEL), None)
        state = self._read_state(values, parts, model_position)
        attached = next((position for position in positions if position.kind == ATTACHMENTS), None)
        attachments = {} if attached is None else self.file.read(attached)[1]
        trust = () if model_position is None else self.file.read(model_position)[0]["trust"]
        facts, fingerprint = dict(values["facts"]), dict(values["fingerprint"])
        return CheckpointContent(state, fingerprint, facts, model_position, attachments, tuple(map(str, trust)))

    def _read_state(
        self, values: Mapping[str, Any], parts: Mapping[str, slice], model_position: RecordPosition | None
    ) -> FitState:
        n_rows = int(values["n_rows"])
        best = values["best"]
        # Raises an error if these are no costs.
        CostModel().restore(values["cost"])
        return FitState(
            seconds=max(float(values["seconds"]), self.file.read_slot()),
            stop_reason=stop_reason_from_value(values["stop_reason"]),
            history=tuple(round_from_values(entry) for entry in values["history"]),
            cost=dict(values["cost"]),
            marks=_unpack_marks(self.file.read_part(parts["marks"]), n_rows),
            was_cut_short=bool(values["was_cut_short"]),
            best=None if best is None else ModelRecord.from_values(best, self._read_rows(parts.get("rows"), n_rows)),
            validation_rows=self._read_rows(parts["validation_rows"], n_rows),
            holdout_rows=self._read_rows(parts["holdout_rows"], n_rows),
            teacher=str(values["teacher"]),
            notes=dict(values["notes"]),
            model_record=None if model_position is None else self._read_model_record(model_position, n_rows),
        )

    def _read_model_record(self, position: RecordPosition, n_rows: int) -> ModelRecord:
        values, parts = self.file.read(position)
        return ModelRecord.from_values(values, self._read_rows(parts.get("rows"), n_rows))

    def _read_rows(self, part: slice | None, n_rows: int) -> Any:
        if part is None:
            return None
        rows = np.frombuffer(self.file.read_part(part), _row_dtype(n_rows))
        if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
            raise DamagedFile("it names rows that do not exist")
        return rows

    def load_model(self, content: CheckpointContent, trusted_types: Sequence[str]) -> Any:
        """Load the model if all of its types are trusted.

        Raises
        ------
        UserInputError
            If the file holds no model or other types, or is damaged.
        """
        if content.model_position is None:
            raise UserInputError(
                f"The checkpoint {self.path} holds no model yet.", "Let the fit go on until its first model is stored."
            )
        if not self.file.is_intact(content.model_position):
            raise UserInputError(
                f"The model in the checkpoint {self.path} is damaged.",
                "Name another file, or delete this one to begin again.",
            )
        return self.load_part(self.file.read(content.model_position)[1]["model"], trusted_types)

    def load_part(self, part: slice, trusted_types: Sequence[str] = ()) -> Any:
        """Load a skops file that is a part of the checkpoint.

        Raises
        ------
        UserInputError
            If it holds types that are not trusted, or is damaged.
        """
        from fitwithin._core.model_file import UntrustedTypes, load_model

        with tempfile.TemporaryDirectory(prefix="fitwithin-") as folder:
            path = Path(folder) / "part.skops"
            self.file.extract_part(part, path)
            try:
                return load_model(path, trusted_types)
            except UntrustedTypes as error:
                options = " ".join(f"--trust {name}" for name in error.names)
                raise UserInputError(
                    f"The checkpoint {self.path} was not opened: it asks for {', '.join(error.names)}, which "
                    "fitwithin does not know to be harmless, and which the learner has not. Nothing in it was run.",
                    f"Name another file. On the command line, to trust them: {options}",
                ) from error
            except UserInputError as error:
                raise UserInputError(f"{self.path} was not used. {error.sentence}", error.hint) from error
            except Exception as error:  # A damaged or forged file may raise anything.
                raise UserInputError(
                    f"The model in the checkpoint {self.path} can't be opened: {type(error).__name__}: {error}.",
                    "Name another file, or delete this one to begin again.",
                ) from error


def make_state_record(state: FitState, fingerprint: Fingerprint, facts: Mapping[str, Any]) -> Record:
    """Return the record of a state."""
    n_rows, best = len(state.marks), state.best
    values = {
        "n_rows": n_rows,
        "seconds": state.seconds,
        "stop_reason": state.stop_reason,
        "history": [asdict(finished) for finished in state.history],
        "cost": state.cost,
        "was_cut_short": state.was_cut_short,
        "best": None if best is None else best.to_values(),
        "teacher": state.teacher,
        "notes": state.notes,
        "fingerprint": fingerprint,
        "facts": facts,
    }
    parts = {
        "marks": _pack_marks(state.marks),
        "validation_rows": _pack_rows(state.validation_rows, n_rows),
        "holdout_rows": _pack_rows(state.holdout_rows, n_rows),
    }
    return Record(STATE, values, parts | ({} if best is None else _rows_part(best, n_rows)))


def make_model_record(best: ModelRecord, path: Path, trust: Sequence[str], n_rows: int) -> Record:
    """Return the record of a model that lies in a skops file, with the types that must be trusted by name."""
    values = {**best.to_values(), "trust": list(trust)}
    return Record(MODEL, values, {"model": path, **_rows_part(best, n_rows)})


def _rows_part(best: ModelRecord, n_rows: int) -> dict[str, memoryview]:
    return {} if best.rows is None else {"rows": _pack_rows(best.rows, n_rows)}


def _row_dtype(n_rows: int) -> np.dtype[Any]:
    return np.dtype("<i4" if n_rows < 2**31 else "<i8")


def _pack_rows(rows: Rows, n_rows: int) -> memoryview:
    return np.ascontiguousarray(rows, dtype=_row_dtype(n_rows)).view(np.uint8).data


def _pack_marks(marks: Marks) -> memoryview:
    """Return two bits for each row."""
    return np.concatenate([np.packbits(marks & 1), np.packbits(marks & 2)]).data


def _unpack_marks(content: bytes, n_rows: int) -> Marks:
    n_bytes = -(-n_rows // 8)
    if len(content) != 2 * n_bytes:
        raise DamagedFile("it holds marks for another number of rows")
    packed = np.frombuffer(content, np.uint8)
    trained, seen = (np.unpackbits(part, count=n_rows) for part in (packed[:n_bytes], packed[n_bytes:]))
    return trained | np.left_shift(seen, 1, dtype=np.uint8)
