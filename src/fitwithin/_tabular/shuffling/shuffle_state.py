"""How far a shuffle has come, in a file: the same command goes on from it after a kill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.shuffled_marker import STATE_NAME

_VERSION = 1


@dataclass
class ShuffleState:
    """The plan of a shuffle, and how far it has come.

    Parameters
    ----------
    source : dict of str
        What tells the data set from another.
    seed : int
        Makes every order random; the same seed gives the same order.
    n_buckets, n_blocks : int
        Bucket files, and blocks of the source.
    n_blocks_done, n_rows : int
        Blocks whose rows are in the buckets, and these rows.
    sizes : list of int
        Bytes of each bucket file that hold them; what lies beyond was written by a run that was killed.
    with_nulls : list of str
        Columns with missing values so far.
    version : int
        Version of this format.
    """

    source: Mapping[str, str]
    seed: int
    n_buckets: int
    n_blocks: int
    n_blocks_done: int = 0
    n_rows: int = 0
    sizes: list[int] = field(default_factory=list)
    with_nulls: list[str] = field(default_factory=list)
    version: int = _VERSION

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
