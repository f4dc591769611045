"""Theorem 1, drawn: time and error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fitwithin._research.theory.clock import overhead_bound
from fitwithin._research.theory.fallback import POWERS, PROBLEMS, ErrorAtBatch, Fallback
from fitwithin._research.theory.guarantee import DELTA
from fitwithin._research.theory.pictures import BLUE, GREEN, ORANGE, PINK, THEOREM, blank, legend, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_GROWTH = "1 + ln m"


_SHOWN = {0.0: GREEN, 0.4: BLUE, 0.9: ORANGE}


_NAMES = {"singletons": "singletons: mistakes teach little", "steps": "steps: mistakes teach much"}


def draw_fallback(measured: Fallback) -> Mapping[str, Figure]:
    """The overhead over the share of mistakes, and the errors over the size of TBatch's sample."""
    overhead, axes = blank(len(POWERS))
    for ax, k in zip(axes, POWERS, strict=True):
        _draw_overhead(ax, measured, k)
    legend(axes[0], "upper left")
    errors, axes = blank(len(PROBLEMS))
    for ax, name in zip(axes, PROBLEMS, strict=True):
        _draw_errors(ax, name, [row for row in measured.errors if row.problem == name])
    return {"theorem_1_overhead": overhead, "theorem_1_errors": errors}


def _draw_overhead(ax: Axes, measured: Fallback, k: int) -> None:
    rows = [row for row in measured.overhead if (row.k, row.growth) == (k, _GROWTH)]
    alphas = [row.alpha for row in rows]
    fine = np.linspace(0, 0.9, 91)
    ax.plot(fine, [overhead_bound(alpha, k) for alpha in fine], **THEOREM, label="theorem 1: 2 (2 / (1 − α))$^{k+1}$")
    ax.plot(
        alphas, [row.proof for row in rows], "o-", color=PINK, markersize=4, label="until as many unbiased examples"
    )
    ax.plot(alphas, [row.singletons for row in rows], "s-", color=BLUE, markersize=4, label="measured, singletons")
    ax.plot(alphas, [row.steps for row in rows], "^-", color=GREEN, markersize=4, label="measured, steps")
    ax.set(yscale="log", xlabel="share of mistakes, α", ylabel="time of TCTBase / time of TBatch")
    title(ax, f"Overhead, learner of time m{_power(k)} (1 + ln m)")


def _draw_errors(ax: Axes, name: str, rows: list[ErrorAtBatch]) -> None:
    bound = [row for row in rows if row.alpha == 0]
    theorem = "theorem 1: $ε_T$, promised by TBatch"
    ax.plot([row.batch for row in bound], [row.epsilon for row in bound], **THEOREM, label=theorem)
    for alpha, colour in _SHOWN.items():
        mine = [row for row in rows if row.alpha == alpha]
        # A logarithm has no place for an error of zero.
        shown = [row for row in mine if row.error > 0]
        text = f"TCTBase, α = {alpha:g}" + ("" if len(shown) == len(mine) else ", then none")
        ax.plot(
            [row.batch for row in shown], [row.error for row in shown], "o-", color=colour, markersize=4, label=text
        )
    ax.set(xscale="log", yscale="log", ylim=(0.004, 1))
    ax.set(xlabel="examples of TBatch, $m_T$", ylabel=f"error, kept with probability {1 - DELTA:.0%}")
    title(ax, f"Errors, {_NAMES[name]}")
    legend(ax, "upper right")


def _power(k: int) -> str:
    return "" if k == 1 else f"$^{k}$"
