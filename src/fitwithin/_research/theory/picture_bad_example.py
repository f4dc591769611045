"""The bad example, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fitwithin._research.theory.bad_example import ALPHA, ATTEMPTS, BATCH, PAPER_TCTBASE, TIES, BadExample, safe_alpha
from fitwithin._research.theory.pictures import BLACK, BLUE, GREEN, GREY, ORANGE, THEOREM, blank, label, legend, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LABELLED = 0.7


_COLOURS = dict(zip(TIES, (ORANGE, GREEN, BLUE), strict=True))


def draw_bad_example(measured: BadExample) -> Mapping[str, Figure]:
    """How often the best classifier is found: over the share of mistakes, and round by round."""
    figure, (left, right) = blank(2)
    _draw_alphas(left, measured)
    _draw_rounds(right, measured)
    return {"bad_example": figure}


def _draw_alphas(ax: Axes, measured: BadExample) -> None:
    for ties, colour in _COLOURS.items():
        rows = [row for row in measured.curve if row.ties == ties]
        alphas = [row.alpha for row in rows]
        ax.plot(alphas, [row.any_round for row in rows], "o-", markersize=3, color=colour)
        at = next(row for row in rows if row.alpha >= _LABELLED)
        label(ax, f"ties: {ties}", (at.alpha + 0.02, at.any_round + 0.02), colour)
    last = [row for row in measured.curve if row.ties == next(iter(TIES))]
    ax.plot([row.alpha for row in last], [row.last_round for row in last], ":", color=GREY, linewidth=2)
    label(ax, "returned, in\nround 20", (0.33, 0.5), GREY, va="center")
    ax.axvline(safe_alpha(), **THEOREM)
    label(ax, "agnostic theorem:\nreturned if α is\nleft of this line", (safe_alpha() + 0.012, 0.03), BLACK)
    _draw_paper(ax)
    _draw_tbatch(ax, measured)
    ax.set(xlabel="share of mistakes, α", ylabel="share of attempts", xlim=(-0.02, 1), ylim=(-0.02, 1.12))
    title(ax, "Best classifier found in any of 20 rounds")


def _draw_paper(ax: Axes) -> None:
    ax.plot(ALPHA, PAPER_TCTBASE, "x", color=BLACK, markersize=9, markeredgewidth=2)
    text = f"paper: {PAPER_TCTBASE:.0%} of {ATTEMPTS}"
    label(ax, text, (ALPHA - 0.03, PAPER_TCTBASE - 0.015), BLACK, ha="right", va="center")


def _draw_tbatch(ax: Axes, measured: BadExample) -> None:
    found = min(row.any_round for row in measured.found if row.teacher == "TBatch")
    ax.axhline(found, color=GREY, linewidth=0.8)
    label(ax, f"TBatch, {BATCH:,} examples: {found:.0%}", (0.98, found + 0.025), GREY, ha="right", va="bottom")


def _draw_rounds(ax: Axes, measured: BadExample) -> None:
    for ties, colour in _COLOURS.items():
        rows = [row for row in measured.rounds if row.ties == ties]
        shares = [row.found for row in rows]
        ax.plot([row.round for row in rows], shares, "o-", markersize=3.5, color=colour, label=f"ties: {ties}")
    ax.set(xlabel="round", ylabel="share of attempts", xticks=range(1, 21), ylim=(-0.02, 0.8))
    title(ax, f"The best classifier is this round's, α = {ALPHA}")
    legend(ax, "upper right")
