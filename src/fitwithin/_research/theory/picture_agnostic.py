"""The agnostic theorem, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fitwithin._research.theory.agnostic import Agnostic
from fitwithin._research.theory.guarantee import DELTA
from fitwithin._research.theory.pictures import BLACK, BLUE, ORANGE, THEOREM, blank, label, legend, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_COLOURS = {"seesaw": ORANGE, "bad example": BLUE}


_SHOWN = 0.3


_KEPT = f"kept in {1 - DELTA:.0%}"


def draw_agnostic(measured: Agnostic) -> Mapping[str, Figure]:
    """The excess over the share of mistakes at the end, and over the unbiased examples."""
    figure, (left, right) = blank(2)
    _draw_alphas(left, measured)
    _draw_rounds(right, measured)
    return {"agnostic": figure}


def _draw_alphas(ax: Axes, measured: Agnostic) -> None:
    last = max(row.round for row in measured.rows)
    bounds = [row for row in measured.rows if (row.problem, row.round) == ("bad example", last)]
    theorem = "theorem: $ε_T^A$ + α / (1 − α)"
    ax.plot([row.alpha for row in bounds], [row.bound for row in bounds], **THEOREM, label=theorem)
    for name, colour in _COLOURS.items():
        rows = [row for row in measured.rows if (row.problem, row.round) == (name, last)]
        alphas = [row.alpha for row in rows]
        ax.plot(alphas, [row.excess for row in rows], "o-", color=colour, markersize=4, label=f"{name}, {_KEPT}")
        ax.plot(alphas, [row.mean_excess for row in rows], ":", color=colour, label=f"{name}, mean")
    ax.set(xlabel="share of mistakes, α", ylabel="error beyond the best of the class", ylim=(-0.02, 1.05))
    title(ax, f"Excess error, round {last}")
    legend(ax, "upper left")


def _draw_rounds(ax: Axes, measured: Agnostic) -> None:
    for name, colour in _COLOURS.items():
        rows = [row for row in measured.rows if (row.problem, row.alpha) == (name, _SHOWN)]
        unbiased = [row.unbiased for row in rows]
        ax.plot(unbiased, [row.bound for row in rows], **(THEOREM | {"color": colour}), label=f"theorem, {name}")
        ax.plot(unbiased, [row.excess for row in rows], "o-", color=colour, markersize=4, label=f"{name}, {_KEPT}")
        ax.plot(unbiased, [row.mean_excess for row in rows], ":", color=colour, label=f"{name}, mean")
    ax.axhline(_SHOWN / (1 - _SHOWN), color=BLACK, linewidth=0.8)
    label(ax, "α / (1 − α)", (12, _SHOWN / (1 - _SHOWN) + 0.012), BLACK, va="bottom")
    ax.set(xscale="log", xlabel="unbiased examples", ylabel="error beyond the best of the class", ylim=(-0.02, 1.15))
    title(ax, f"Excess error, α = {_SHOWN}")
    legend(ax, "upper right")
