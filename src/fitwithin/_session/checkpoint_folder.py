"""The folder of a checkpoint: ``state.json`` names the files of one state, and is replaced once they are complete.

The model is stored by skops, marks and row numbers as arrays of NumPy in one file, and nothing by pickle: a checkpoint
from elsewhere runs nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from fitwithin._core.atomic_write import atomic_write, flush_to_disk
from fitwithin._core.cost import CostModel
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import UPGRADE_COMMAND
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.fit_state import FitState, ModelRecord

STATE_FILE = "state.json"
"""The file that names the others."""

_LOCK_FILE = "fitwithin.lock"
"""The lock of the fit under way; it stays there, and marks the folder as a checkpoint."""

_VERSION = 3
"""Version of the layout; increase it when older versions of fitwithin can't read it."""

_NUMBERED_FILE = re.compile(r"(model|rows)-(\d+)\.(skops|npz)")
"""Names of the files that ``state.json`` names."""

_JSON_TYPES: Mapping[Any, Any] = {float: float | int, Any: object}
"""What may stand in JSON for a type."""

_TEMPORARY_FILE = re.compile(r"\..+\.part")
"""Names of files before their rename."""


@dataclass(frozen=True, eq=False)
class CheckpointPath(os.PathLike[str]):
    """A path for the parameter `checkpoint`, and further files for the folder."""

    path: Path
    attachments: Mapping[str, bytes] = field(default_factory=dict)  # by name, such as an encoder of the features

    def __fspath__(self) -> str:
        return os.fspath(self.path)


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Keep other fits away from a folder, which is created if it is not there."""
    from filelock import FileLock, Timeout

    try:
        validate_checkpoint_path(path)
        path.mkdir(exist_ok=True)
        lock = FileLock(path / _LOCK_FILE).acquire(timeout=0)
    except Timeout as error:
        raise UserInputError(
            f"Another fit is using the checkpoint {path}.", "Wait until it has ended, or name another folder."
        ) from error
    except OSError as error:
        raise UserInputError(
            f"The checkpoint {path} can't be written to: {error.strerror or error}.", "Choose another folder."
        ) from error
    with lock:
        yield


def validate_checkpoint_path(path: Path) -> None:
    """Check that a path is free for a checkpoint, or is one."""
    if path.exists() and not path.is_dir():
        raise UserInputError(f"The checkpoint {path} is a file; expected a folder.", "Name another path, or delete it.")
    if not path.parent.is_dir():
        raise UserInputError(f"There is no folder {path.parent} for the checkpoint {path.name}.", "Create it.")
    names = set(os.listdir(path)) if path.exists() else set()
    if names and not names & {_LOCK_FILE, STATE_FILE}:
        raise UserInputError(f"The folder {path} holds other files and no checkpoint.", "Name another folder.")


@dataclass(frozen=True, eq=False)
class CheckpointContent:
    """What a checkpoint holds."""

    state: FitState  # with its model if that was asked for
    fingerprint: Fingerprint
    facts: Mapping[str, Any]  # the task, classes and columns, for readers who do not have the data
    attachments: tuple[str, ...]  # names of further files


def read_checkpoint(path: Path, trusted_types: Collection[str] | None = None) -> CheckpointContent:
    """Read a checkpoint of any origin, also while its fit runs; a damaged one is a `UserInputError`.

    With `trusted_types`, load the model too, if it has only these types and those on fitwithin's own list.
    """
    text = _read_state_file(path)
    while True:
        try:
            content = _read_content(path, json.loads(text))
            record = content.state.model_record
            if trusted_types is None or record is None:
                return content
            model = load_skops_file(path / record.file, trusted_types)
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
    """Load a skops file of a checkpoint; one that is damaged, or holds types that are not trusted, raises."""
    from fitwithin._core.model_file import UntrustedTypes, load_model

    try:
        return load_model(file, trusted_types)
    except FileNotFoundError:
        raise
    except UntrustedTypes as error:
        raise UserInputError(f"The checkpoint {file.parent} was not opened. {error.sentence}", error.hint) from error
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
    files, best, stored = values["files"], values["best"], values["model"]
    if not all(_NUMBERED_FILE.fullmatch(name) for name in files.values()):
        raise ValueError("it names files that are not its own")
    # Raises an error if these are no costs.
    CostModel().restore(values["cost"])
    arrays = _read_arrays(path / files["rows"])
    if best is not None:
        best["rows"] = arrays.get("best_rows")
    if stored is not None:
        is_best = best is not None and stored["number"] == best["number"]
        stored |= {"rows": arrays.get("best_rows" if is_best else "model_rows"), "file": files["model"]}
    state = _read_value(FitState, {**values, **arrays, "model": None, "model_record": stored})
    return CheckpointContent(state, dict(values["fingerprint"]), dict(values["facts"]), tuple(values["attachments"]))


def _read_value(kind: Any, value: Any) -> Any:
    """Return a value of JSON as the type of a record's field; entries of a newer version are ignored."""
    origin, options = get_origin(kind) or kind, get_args(kind)
    if type(None) in options:
        return None if value is None else _read_value(options[0], value)
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return origin(**{name: _read_value(types[name], entry) for name, entry in value.items() if name in types})
    if origin is tuple:
        return tuple(_read_value(options[0], entry) for entry in value)
    if origin is np.ndarray:
        return value if isinstance(value, np.ndarray) else np.array(value, dtype=np.int64)
    if not (value in options if origin is Literal else isinstance(value, _JSON_TYPES.get(origin, origin))):
        raise TypeError(f"it holds {value!r} in place of another value")
    return value


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the marks and the row numbers of a file."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    for name, array in arrays.items():
        if name in ("best_rows", "model_rows") and not len(array):
            raise ValueError("a model has no rows")
        if array.ndim != 1 or (array.dtype != np.uint8 if name == "marks" else array.dtype.kind != "i"):
            raise ValueError(f"{path.name} holds no {name}")
        if name != "marks" and len(array) and not 0 <= array.min() <= array.max() < len(arrays["marks"]):
            raise ValueError(f"{path.name} names rows that do not exist")
    return arrays


class CheckpointWriter:
    """Write states to a folder. A kill between any two steps leaves the last complete state readable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = (_NUMBERED_FILE.fullmatch(name) for name in os.listdir(path))
        self._numbers = itertools.count(1 + max((int(match[2]) for match in found if match), default=0))
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._rows_file = ""

    def new_file(self, kind: Literal["model", "rows"]) -> Path:
        """Return a path for a new file."""
        return self.path / f"{kind}-{next(self._numbers)}.{'skops' if kind == 'model' else 'npz'}"

    def write(self, state: FitState, model: ModelRecord | None, others: Mapping[str, Any]) -> None:
        """Write the arrays if they changed, and a ``state.json`` that names them and a model that lies in the folder.

        The `others` are the fingerprint, the facts and the attachments.
        """
        self._write_arrays(state, model)
        files = {"rows": self._rows_file}
        values = {
            "version": _VERSION,
            **{name: value for name, value in vars(state).items() if name not in self._arrays},
            "best": None if state.best is None else replace(state.best, rows=None),
            "model": None if model is None else replace(model, rows=None),
            "model_record": None,
            "files": files if model is None else {**files, "model": model.file},
            **others,
        }
        with atomic_write(self.path / STATE_FILE) as temporary:
            temporary.write_text(json.dumps(values, default=_to_python), encoding="utf-8")

    def _write_arrays(self, state: FitState, model: ModelRecord | None) -> None:
        arrays: dict[str, Any] = {
            "marks": state.marks,
            "validation_rows": state.validation_rows,
            "holdout_rows": state.holdout_rows,
        }
        records = {} if state.best is None else {"best_rows": state.best}
        if model is not None and (state.best is None or model.number != state.best.number):
            records["model_rows"] = model
        arrays |= {name: record.rows for name, record in records.items() if record.rows is not None}
        if self._arrays.keys() == arrays.keys() and all(self._arrays[name] is arrays[name] for name in arrays):
            return
        path = self.new_file("rows")
        np.savez(path, **arrays)
        # After a power failure `state.json` must not name a file that is not there.
        flush_to_disk(path)
        self._arrays, self._rows_file = arrays, path.name

    def delete_unnamed(self, kept: Collection[str] = ()) -> None:
        """Delete files that ``state.json`` does not name: older ones, and what a kill left; not those that are kept."""
        with suppress(OSError, ValueError, KeyError):
            state_file = self.path / STATE_FILE
            # What is on the disk counts: Ctrl-C may have come right after the rename.
            named = set(json.loads(state_file.read_bytes())["files"].values()) if state_file.exists() else set()
            if self._rows_file not in named:
                self._arrays = {}
            for name in os.listdir(self.path):
                is_own = _NUMBERED_FILE.fullmatch(name) or _TEMPORARY_FILE.fullmatch(name)
                if is_own and name not in named and name not in kept:
                    (self.path / name).unlink(missing_ok=True)


def _to_python(value: Any) -> Any:
    """Return records as dicts, and numbers and arrays of NumPy as Python's own."""
    if is_dataclass(value):
        return vars(value)
    if not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} is neither text nor a number")
    return value.tolist()
