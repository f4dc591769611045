"""Peak memory of a fit by its rows."""

from __future__ import annotations

import math
from bisect import bisect_left

# Least share of a fit's growth in memory that is taken to grow with its rows. The rest may be libraries that are
# loaded once, and hides how little the rows take.
_LEAST_GROWING_MEMORY = 0.2
# Extrapolate at most quadratically, whatever growth two fits showed: a kernel matrix grows like that.
_MAX_MEMORY_GROWTH = 2.0
# Factor on the part that grows, beyond the largest fit so far: memory is taken in steps, and a fit over the limit is
# lost with all its time.
_MEMORY_FACTOR = 1.1
# Least ratio of two sizes whose difference shows how memory grows; between closer ones it is mostly noise.
_MIN_SIZE_RATIO = 1.2
# Share of the rows of a lesson that was stopped for memory that the next lesson may have at most.
_MAX_SHARE_AFTER_STOP = 0.5


class MemoryModel:
    """Predict the peak memory of lessons of one learner from those it has finished.

    A fit takes a fixed part and a part that grows with the rows, drawn through fits of two sizes. With one size
    only, all that the fit took beyond what its process had before grows with the rows. Beyond the largest fit
    the growing part grows as fast as it did between the two sizes, at least in proportion to the rows.

    Examples
    --------
    >>> memory = MemoryModel(limit=1_000)
    >>> memory.largest_rows(500)
    500
    >>> memory.observe_fit(10, 200, 100)
    >>> memory.predict(10), memory.fits(90)
    (200, False)
    >>> memory.largest_rows(500)
    82
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._peaks: dict[int, int] = {}
        self._fixed = math.inf
        self._rows_cap = math.inf

    def observe_fit(self, rows: int, peak: int | None, before: int | None = None) -> None:
        """Learn from a fit: the bytes of its process at the peak, and those before it; None if they are unknown."""
        if peak is None:
            return
        self._fixed = min(self._fixed, peak, 0 if before is None else before)
        self._peaks[rows] = peak

    def observe_exam(self, rows: int, peak: int | None) -> None:
        """Learn from predictions after a fit on this number of rows, if they took more memory than the fit."""
        if peak is not None and rows in self._peaks:
            self._peaks[rows] = max(self._peaks[rows], peak)

    def observe_stop(self, rows: int) -> None:
        """Learn that a lesson of this size was stopped for its memory, however little was predicted."""
        self._rows_cap = min(self._rows_cap, int(_MAX_SHARE_AFTER_STOP * rows))

    def predict(self, rows: int) -> int | None:
        """Predict the peak memory of a fit in bytes; None before the first fit, or if its memory is unknown."""
        if not self._peaks:
            return None
        size, peak = max(self._peaks.items())
        grown = peak - self._fixed
        smaller = [(other, taken) for other, taken in self._peaks.items() if _MIN_SIZE_RATIO * other <= size]
        per_row, growth = grown / size, 1.0
        if smaller:
            other, taken = max(smaller)
            slope = (peak - taken) / (size - other)
            if slope > per_row and taken > self._fixed:
                growth = min(math.log(grown / (taken - self._fixed)) / math.log(size / other), _MAX_MEMORY_GROWTH)
            per_row = min(max(_LEAST_GROWING_MEMORY * per_row, slope), per_row)
        if rows <= size:
            return int(peak - per_row * (size - rows))
        return int(peak + per_row * _MEMORY_FACTOR * (rows * math.pow(rows / size, growth - 1) - size))

    def fits(self, rows: int) -> bool:
        """Whether a lesson of this size is expected to stay within the limit; True if nothing is known."""
        predicted = self.predict(rows)
        return rows <= self._rows_cap and (predicted is None or predicted <= self.limit)

    def largest_rows(self, most: int) -> int:
        """Return the rows of the largest lesson, up to `most`, that is expected to stay within the limit."""
        return bisect_left(range(1, most + 1), True, key=lambda n: not self.fits(n))
