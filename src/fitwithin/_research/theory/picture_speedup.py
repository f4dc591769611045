"""The threshold theorem, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fitwithin._research.theory.guarantee import DELTA
from fitwithin._research.theory.pictures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    THEOREM,
    blank,
    label,
    legend,
    title,
)
from fitwithin._research.theory.speedup import SIX_ORDERS, SIXTY_ORDERS, Speedup, TimeToError, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ALPHA = 0.2


_COLOURS = {"worst": BLUE, "middle": GREEN, "switching": ORANGE}


def draw_speedup(measured: Speedup) -> Mapping[str, Figure]:
    """Error against time, and the time to reach an error, over six and over sixty orders of magnitude."""
    figure, (errors, six, sixty) = blank(3)
    _draw_errors(errors, measured)
    _draw_times(six, measured, SIX_ORDERS)
    _draw_times(sixty, measured, SIXTY_ORDERS)
    return {"thresholds": figure}


def _draw_errors(ax: Axes, measured: Speedup) -> None:
    rows = [row for row in measured.errors if (row.teacher, row.learner) == ("TBatch", "worst")]
    ax.plot(
        [row.time for row in rows], [row.error for row in rows], "-", color=GREY, linewidth=2, label="TBatch, worst"
    )
    for learner, colour in _COLOURS.items():
        rows = [row for row in measured.errors if (row.teacher, row.learner, row.alpha) == ("TCTBase", learner, _ALPHA)]
        times, errors = [row.time for row in rows], [row.error for row in rows]
        ax.plot(times, errors, "o-", color=colour, markersize=3, label=f"TCTBase, {learner}")
    ax.set(xscale="log", yscale="log", xlim=(0.7, 1e9), ylim=(10.0 ** -SIX_ORDERS[1], 1))
    ax.set(xlabel="simulated time, learner of time m", ylabel=f"error, kept with probability {1 - DELTA:.0%}")
    title(ax, f"Error against time, α = {_ALPHA}, by learner")
    legend(ax, "upper right")


def _draw_times(ax: Axes, measured: Speedup, powers: tuple[int, int]) -> None:
    first, last = powers
    rows = [
        row
        for row in measured.times
        if (row.learner, row.alpha, row.k) == ("worst", _ALPHA, 1) and row.epsilon > 0.99 * 10.0**-last
    ]
    x = np.sqrt(np.log2([1 / row.epsilon for row in rows]))
    time, batch = np.log2([row.tct_base for row in rows]), np.log2([row.tbatch for row in rows])
    slope, intercept, r2 = line(x, time)
    ax.plot(x, batch, "-", color=GREY, linewidth=2, label="TBatch, exact")
    ax.plot(
        x, _theorem(rows), **THEOREM, label=f"theorem's c √log T$_{{TBatch}}$, c = {max(row.c for row in rows):.2f}"
    )
    ax.plot(x, time, ".", color=BLUE, markersize=4, label="TCTBase, measured")
    ax.plot(x, slope * x + intercept, "-", color=PINK, linewidth=1.2, label=f"line, slope {slope:.2f}, R² {r2:.3f}")
    ax.set(xlabel="√ log$_2$ 1/ε", ylabel="log$_2$ of the time to reach ε", ylim=(0, 1.8 * float(time.max())))
    _mark_errors(ax, first, last)
    title(ax, f"Time to reach ε, 10$^{{−{first}}}$ to 10$^{{−{last}}}$")
    legend(ax, "upper left")


def _theorem(rows: list[TimeToError]) -> list[float]:
    """The theorem's curve with the least constant under which all the measured times stay."""
    c = max(row.c for row in rows)
    return [c * float(np.sqrt(np.log2(row.tbatch))) for row in rows]


def _mark_errors(ax: Axes, first: int, last: int) -> None:
    """Some errors under the axis of their logarithms' roots."""
    for power in np.linspace(first, last, 4).round().astype(int):
        place = float(np.sqrt(power * np.log2(10)))
        label(ax, f"10$^{{−{power}}}$", (place, 0.02 * ax.get_ylim()[1]), BLACK, ha="center", va="bottom")
