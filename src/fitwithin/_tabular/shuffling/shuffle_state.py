"""What a shuffle needs to know to resume after a kill; the files that are there say how far it has come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.shuffled_marker import STATE_NAME


@dataclass(frozen=True)
class ShuffleState:
    """Source and order of an unfinished shuffle.

    Parameters
    ----------
    source : dict of str
        What tells the data set from another.
    seed : int
        Makes every order random; the same seed gives the same order.
    n_parts : int
        Files of the copy.
    """

    source: Mapping[str, str]
    seed: int
    n_parts: int

    def save(self, folder: Path) -> None:
        """Write the state to the output folder, completely or not at all."""
        with atomic_write(folder / STATE_NAME) as temporary:
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")


def load_state(folder: Path) -> ShuffleState | None:
    """Return the state of an unfinished shuffle in a folder; None if there is none.

    Raises
    ------
    UserInputError
        If the file is damaged.
    """
    path = folder / STATE_NAME
    if not path.is_file():
        return None
    try:
        return ShuffleState(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise UserInputError(f"{path} is damaged: {error}.", "Begin again with --force.") from error
