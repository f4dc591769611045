"""Positions of rows in a partition, in few bytes: an exam of many rows then travels with its task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows


@dataclass(frozen=True, eq=False)
class PackedPositions:
    """Ascending positions, each once, as one bit for each row of the partition."""

    bits: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self.bits.nbytes

    def unpack(self) -> Rows:
        """Return the positions."""
        return np.flatnonzero(np.unpackbits(self.bits))


def pack_positions(positions: Rows, n_rows: int) -> Rows | PackedPositions:
    """Return ascending positions in a partition, as bits if that takes fewer bytes.

    Examples
    --------
    >>> packed = pack_positions(np.arange(100), 1000)
    >>> packed.nbytes
    125
    >>> len(unpack_positions(packed))
    100
    """
    is_distinct = bool((positions[1:] > positions[:-1]).all())
    if not is_distinct or positions.nbytes <= n_rows // 8:
        return positions
    is_chosen = np.zeros(n_rows, dtype=np.bool_)
    is_chosen[positions] = True
    return PackedPositions(np.packbits(is_chosen))


def unpack_positions(positions: Rows | PackedPositions) -> Rows:
    """Return what was given to `pack_positions`."""
    return positions.unpack() if isinstance(positions, PackedPositions) else positions
