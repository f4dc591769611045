"""The small file that says that a folder holds rows in random order."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError

MARKER_NAME = "_shuffled.json"
"""Name of the file. Readers of data sets skip names that begin with an underscore."""

STATE_NAME = "_shuffle_state.json"
"""Name of the file that is there instead until the folder is complete."""


@dataclass(frozen=True)
class ShuffledMarker:
    """What `fitwithin shuffle` notes about its output.

    Parameters
    ----------
    files : list of str
        Names of the files in the folder, in the order in which to read them.
    n_rows : int
        Rows in all of them.
    with_nulls : list of str
        Columns with missing values.
    """

    files: list[str]
    n_rows: int
    with_nulls: list[str]

    def write(self, folder: Path) -> None:
        """Write the marker to a folder."""
        with atomic_write(folder / MARKER_NAME) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def read_marker(folder: Path) -> ShuffledMarker | None:
    """Return the marker of a folder; None if there is none.

    Raises
    ------
    UserInputError
        If it is damaged, a file that it names is gone, or the copy is not finished.
    """
    path = folder / MARKER_NAME
    if (folder / STATE_NAME).is_file():
        raise UserInputError(
            f"{folder} is an unfinished shuffled copy.", "Run the same fitwithin shuffle again; it goes on."
        )
    if not path.is_file():
        return None
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        marker = ShuffledMarker(**stored)
    except (OSError, ValueError, TypeError) as error:
        raise UserInputError(f"{path} is damaged: {error}.", "Make the shuffled copy again.") from error
    missing = next((name for name in marker.files if not (folder / name).is_file()), None)
    if missing is not None:
        raise UserInputError(
            f"The shuffled copy {folder} has lost its file {missing}.", "Make the shuffled copy again."
        )
    return marker
