"""The folder of a checkpoint: ``state.json`` names the files of one state, and is replaced once they are complete.

The model is stored by skops, row numbers as ``.npy`` files, and nothing by pickle: a checkpoint from elsewhere runs
nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.cost import CostModel
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import UPGRADE_COMMAND
from fitwithin._core.records import Estimate, Rows, StopReason
from fitwithin._core.rounds import Round
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.fit_state import FitState, Marks, ModelRecord

STATE_FILE = "state.json"
"""The file that names the others."""

_VERSION = 2
"""Version of the layout; increase it when older versions of fitwithin can't read it. Version 1 was one file."""

_NUMBERED_FILE = re.compile(r"(model|rows|marks)-(\d+)\.(skops|npy)")
"""Names of the files that ``state.json`` names."""

_PLAIN_ENTRIES: Mapping[str, Callable[[Any], Any]] = {
    "seconds": float,
    "cost": dict,
    "was_cut_short": bool,
    "teacher": str,
    "notes": dict,
}
"""Fields of `FitState` that are stored as they are, with their types."""

_Record = TypeVar("_Record", Estimate, Round)

_TEMPORARY_FILE = re.compile(r"\..+\.part")
"""Names of files before their rename."""


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model in the folder.

    Parameters
    ----------
    record : ModelRecord
        What is known about it.
    file : str
        Name of its skops file.
    trust : tuple of str
        Types that must be trusted by name to open it.
    """

    record: ModelRecord
    file: str
    trust: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CheckpointContent:
    """What a checkpoint holds.

    Parameters
    ----------
    state : FitState
        The fit so far.
    model : StoredModel or None
        Its model; ``state.model`` is that model if it was asked for.
    fingerprint : dict
        The rows and the learner of the fit.
    facts : dict
        The task, classes and columns, for readers who do not have the data.
    attachments : tuple of str
        Names of further files.
    """

    state: FitState
    model: StoredModel | None
    fingerprint: Fingerprint
    facts: Mapping[str, Any]
    attachments: tuple[str, ...]


def read_checkpoint(path: Path, trusted_types: Collection[str] | None = None) -> CheckpointContent:
    """Read a checkpoint of any origin, also while its fit runs.

    Parameters
    ----------
    path : Path
        The folder.
    trusted_types : collection of str, optional
        Load the model too, if it has only these types and those on fitwithin's own list.

    Raises
    ------
    UserInputError
        If it is no checkpoint, is damaged, was written by a newer version, or its model has other types.
    """
    text = _read_state_file(path)
    while True:
        try:
            content = _read_content(path, json.loads(text))
            if trusted_types is None or content.model is None:
                return content
            model = load_skops_file(path / content.model.file, trusted_types)
            return replace(content, state=replace(content.state, model=model))
        except UserInputError:
            raise
        except FileNotFoundError as error:
            # The fit under way may have replaced these files meanwhile.
            former, text = text, _read_state_file(path)
            if text == former:
                raise _damaged(path, f"it has no file {Path(str(error.filename)).name}") from error
        except Exception as error:  # A damaged or forged file may raise anything.
            raise _damaged(path, error) from error


def _read_state_file(path: Path) -> bytes:
    try:
        return (path / STATE_FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserInputError(f"{path} is not a checkpoint of fitwithin.", "Name another folder.") from error
    except OSError as error:
        raise UserInputError(
            f"The checkpoint {path} can't be read: {error.strerror or error}.", "Name another folder."
        ) from error


def load_skops_file(file: Path, trusted_types: Collection[str] = ()) -> Any:
    """Load a skops file of a checkpoint.

    Raises
    ------
    UserInputError
        If it holds types that are not trusted, or is damaged.
    FileNotFoundError
        If it is not there.
    """
    from fitwithin._core.model_file import UntrustedTypes, load_model

    try:
        return load_model(file, trusted_types)
    except FileNotFoundError:
        raise
    except UntrustedTypes as error:
        options = " ".join(f"--trust {name}" for name in error.names)
        raise UserInputError(
            f"The checkpoint {file.parent} was not opened: it asks for {', '.join(error.names)}, which neither the "
            "list of trusted types nor the learner has. Nothing in it was run.",
            f"Name another folder. On the command line, to trust them: {options}",
        ) from error
    except Exception as error:  # A damaged or forged file may raise anything.
        reason = getattr(error, "sentence", f"{type(error).__name__}: {error}").rstrip(".")
        raise _damaged(file.parent, f"{file.name} can't be opened: {reason}") from error


def _damaged(path: Path, reason: object) -> UserInputError:
    return UserInputError(
        f"The checkpoint {path} is damaged: {reason}.", "Name another folder, or delete this one to begin again."
    )


def _read_content(path: Path, values: Mapping[str, Any]) -> CheckpointContent:
    if values["version"] > _VERSION:
        raise UserInputError(
            f"The checkpoint {path} was written by a newer version of fitwithin.",
            f"Name another folder, or upgrade fitwithin. {UPGRADE_COMMAND}",
        )
    files, stored = values["files"], values["model"]
    if not all(_NUMBERED_FILE.fullmatch(name) for name in files.values()):
        raise ValueError("it names files that are not its own")
    if values["stop_reason"] not in (None, *get_args(StopReason)):
        raise ValueError(f"{values['stop_reason']!r} is no stop reason")
    # Raises an error if these are no costs.
    CostModel().restore(values["cost"])
    marks = _load_array(path / files["marks"])
    if marks.ndim != 1 or marks.dtype != np.uint8:
        raise ValueError(f"{files['marks']} holds no marks of rows")
    rows = {name: _load_rows(path / file, len(marks)) for name, file in files.items() if name.endswith("rows")}
    record = None if stored is None else _read_model_record(stored, rows.get("model_rows"))
    state = FitState(
        stop_reason=values["stop_reason"],
        history=tuple(_read_numbers(Round, entry) for entry in values["history"]),
        marks=marks,
        best=None if values["best"] is None else _read_model_record(values["best"], rows.get("best_rows")),
        validation_rows=rows["validation_rows"],
        holdout_rows=rows["holdout_rows"],
        model_record=record,
        **{name: kind(values[name]) for name, kind in _PLAIN_ENTRIES.items()},
    )
    model = None if record is None else StoredModel(record, files["model"], tuple(map(str, stored["trust"])))
    fingerprint, facts, attachments = (values[name] for name in ("fingerprint", "facts", "attachments"))
    return CheckpointContent(state, model, dict(fingerprint), dict(facts), tuple(attachments))


def _list_values(record: ModelRecord) -> dict[str, Any]:
    """Return everything that is known about a model but its row numbers."""
    return asdict(replace(record, rows=None))


def _read_model_record(values: Mapping[str, Any], rows: Rows | None) -> ModelRecord:
    if rows is not None and not len(rows):
        raise ValueError("a model has no rows")
    counts = values["class_counts"]
    found = (values["estimate"], values["fresh_estimate"])
    estimate, fresh_estimate = (None if one is None else _read_numbers(Estimate, one) for one in found)
    return ModelRecord(
        number=int(values["number"]),
        n_rows=int(values["n_rows"]),
        rows=rows,
        class_counts=None if counts is None else np.array(counts, dtype=np.int64),
        estimate=estimate,
        fresh_estimate=fresh_estimate,
        fit_seconds=float(values["fit_seconds"]),
        was_cut_short=bool(values["was_cut_short"]),
    )


def _read_numbers(kind: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Return a record of numbers; entries of a newer version are ignored, and of an older one missing."""
    if not all(value is None or isinstance(value, int | float) for value in values.values()):
        raise TypeError(f"a {kind.__name__} holds numbers only")
    known = {entry.name for entry in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})


def _load_rows(file: Path, n_rows: int) -> Rows:
    rows: Rows = _load_array(file)
    if rows.ndim != 1 or rows.dtype.kind != "i":
        raise ValueError(f"{file.name} holds no row numbers")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"{file.name} names rows that do not exist")
    return rows


def _load_array(path: Path) -> npt.NDArray[Any]:
    with path.open("rb") as file:
        # np.load would open a zip file too.
        return np.lib.format.read_array(file, allow_pickle=False)


class CheckpointWriter:
    """Write states to a folder. A kill between any two steps leaves the last complete state readable.

    Parameters
    ----------
    path : Path
        The folder, which no other fit writes to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = (_NUMBERED_FILE.fullmatch(name) for name in os.listdir(path))
        self._numbers = itertools.count(1 + max((int(match[2]) for match in found if match), default=0))
        self._arrays: dict[str, Rows | Marks] = {}

    def new_file(self, kind: Literal["model", "rows", "marks"]) -> Path:
        """Return a path for a new file."""
        return self.path / f"{kind}-{next(self._numbers)}.{'skops' if kind == 'model' else 'npy'}"

    def write(self, state: FitState, model: StoredModel | None, others: Mapping[str, Any]) -> None:
        """Write the arrays that are new, and a ``state.json`` that names them and the model.

        Parameters
        ----------
        state : FitState
            The fit so far.
        model : StoredModel or None
            A model that lies in the folder.
        others : dict
            The fingerprint, the facts and the attachments.
        """
        arrays = {"marks": state.marks, "validation_rows": state.validation_rows, "holdout_rows": state.holdout_rows}
        records = {"best_rows": state.best, "model_rows": None if model is None else model.record}
        for name, record in records.items():
            if record is not None and record.rows is not None:
                arrays[name] = record.rows
        files = {name: self._store(array, "marks" if name == "marks" else "rows") for name, array in arrays.items()}
        values = {
            "version": _VERSION,
            "stop_reason": state.stop_reason,
            "history": [asdict(finished) for finished in state.history],
            "best": None if state.best is None else _list_values(state.best),
            "model": None if model is None else {**_list_values(model.record), "trust": model.trust},
            "files": files if model is None else {**files, "model": model.file},
            **{name: getattr(state, name) for name in _PLAIN_ENTRIES},
            **others,
        }
        with atomic_write(self.path / STATE_FILE) as temporary:
            temporary.write_text(json.dumps(values, default=_to_python), encoding="utf-8")

    def _store(self, array: Rows | Marks, kind: Literal["rows", "marks"]) -> str:
        """Return the name of the file that holds an array; write it if there is none."""
        for name, stored in self._arrays.items():
            if name.startswith(kind) and (stored is array or np.array_equal(stored, array)):
                return name
        path = self.new_file(kind)
        with path.open("wb") as file:
            # np.save does not say why a write failed.
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            file.write(np.ascontiguousarray(array).data)
        flush_to_disk(path)
        self._arrays[path.name] = array
        return path.name

    def delete_unnamed(self, kept: Collection[str] = ()) -> None:
        """Delete files that ``state.json`` does not name: older ones, and what a kill left; not those that are kept."""
        with suppress(OSError, ValueError, KeyError):
            state_file = self.path / STATE_FILE
            # What is on the disk counts: Ctrl-C may have come right after the rename.
            named = set(json.loads(state_file.read_bytes())["files"].values()) if state_file.exists() else set()
            self._arrays = {name: array for name, array in self._arrays.items() if name in named}
            for name in os.listdir(self.path):
                is_own = _NUMBERED_FILE.fullmatch(name) or _TEMPORARY_FILE.fullmatch(name)
                if is_own and name not in named and name not in kept:
                    (self.path / name).unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    """Wait until a file is on the disk: after a power failure ``state.json`` must not name one that is not."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _to_python(value: Any) -> Any:
    """Return numbers and arrays of NumPy as Python's own."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} is neither text nor a number")
    return value.tolist()
