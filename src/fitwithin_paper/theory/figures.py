"""Figures of the simulations, with the bounds of the theorems drawn in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fitwithin.viz._style import BLUE, GREEN, GREY, INK, ORANGE, PINK
from fitwithin_paper.theory.agnostic_theorem import AgnosticResult
from fitwithin_paper.theory.bad_example import (
    BATCH_EXAMPLES,
    PAPER_ALPHA,
    PAPER_ATTEMPTS,
    PAPER_TCTBASE,
    TIE_BREAKING,
    BadExampleResult,
    find_safe_alpha,
)
from fitwithin_paper.theory.figure_style import (
    THEOREM_LINE,
    add_label,
    add_legend,
    add_title,
    make_panels,
)
from fitwithin_paper.theory.high_probability_bound import DELTA
from fitwithin_paper.theory.theorem_1 import (
    EXPONENTS,
    REALIZABLE_PROBLEMS,
    ErrorAtBatchSize,
    Theorem1Result,
    overhead_bound,
)
from fitwithin_paper.theory.threshold_theorem import (
    SIX_ORDERS,
    SIXTY_ORDERS,
    ThresholdResult,
    TimeToError,
    fit_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_TIE_COLOURS = dict(zip(TIE_BREAKING, (ORANGE, GREEN, BLUE), strict=True))

# Share of mistakes at which the curves of the bad example are labelled: there they are far apart.
_LABEL_ALPHA = 0.7

# The factor f of the training time that theorem 1's figure shows.
_SHOWN_GROWTH = "1 + ln m"

# Shares of mistakes that theorem 1's figure of errors shows, with their colours.
_SHOWN_ALPHAS = {0.0: GREEN, 0.4: BLUE, 0.9: ORANGE}

_REALIZABLE_TITLES = {"singletons": "singletons: mistakes teach little", "steps": "steps: mistakes teach much"}

_AGNOSTIC_COLOURS = {"seesaw": ORANGE, "bad example": BLUE}

# Share of mistakes in the agnostic theorem's figure over unbiased examples.
_AGNOSTIC_ALPHA = 0.3

_KEPT = f"kept in {1 - DELTA:.0%}"

_LEARNER_COLOURS = {"worst": BLUE, "middle": GREEN, "switching": ORANGE}

# Share of mistakes in the figures of threshold learning.
_THRESHOLD_ALPHA = 0.2


def draw_bad_example(result: BadExampleResult) -> Mapping[str, Figure]:
    """Draw how often the best classifier is found, over the share of mistakes and round by round."""
    figure, (left, right) = make_panels(2)
    _draw_rates_by_alpha(left, result)
    _draw_rates_by_round(right, result)
    return {"bad_example": figure}


def _draw_rates_by_alpha(ax: Axes, result: BadExampleResult) -> None:
    for ties, colour in _TIE_COLOURS.items():
        rows = [row for row in result.rates_by_alpha if row.ties == ties]
        alphas = [row.alpha for row in rows]
        ax.plot(alphas, [row.any_round for row in rows], "o-", markersize=3, color=colour)
        labelled = next(row for row in rows if row.alpha >= _LABEL_ALPHA)
        add_label(ax, f"ties: {ties}", (labelled.alpha + 0.02, labelled.any_round + 0.02), colour)
    last = [row for row in result.rates_by_alpha if row.ties == next(iter(TIE_BREAKING))]
    ax.plot([row.alpha for row in last], [row.last_round for row in last], ":", color=GREY, linewidth=2)
    add_label(ax, "returned, in\nround 20", (0.33, 0.5), GREY, va="center")
    safe_alpha = find_safe_alpha()
    ax.axvline(safe_alpha, **THEOREM_LINE)
    add_label(ax, "agnostic theorem:\nreturned if α is\nleft of this line", (safe_alpha + 0.012, 0.03), INK)
    _draw_paper_rate(ax)
    _draw_tbatch_rate(ax, result)
    ax.set(xlabel="share of mistakes, α", ylabel="share of attempts", xlim=(-0.02, 1), ylim=(-0.02, 1.12))
    add_title(ax, "Best classifier found in any of 20 rounds")


def _draw_paper_rate(ax: Axes) -> None:
    ax.plot(PAPER_ALPHA, PAPER_TCTBASE, "x", color=INK, markersize=9, markeredgewidth=2)
    text = f"paper: {PAPER_TCTBASE:.0%} of {PAPER_ATTEMPTS}"
    add_label(ax, text, (PAPER_ALPHA - 0.03, PAPER_TCTBASE - 0.015), INK, ha="right", va="center")


def _draw_tbatch_rate(ax: Axes, result: BadExampleResult) -> None:
    rate = min(row.any_round for row in result.rates if row.teacher == "TBatch")
    ax.axhline(rate, color=GREY, linewidth=0.8)
    text = f"TBatch, {BATCH_EXAMPLES:,} examples: {rate:.0%}"
    add_label(ax, text, (0.98, rate + 0.025), GREY, ha="right", va="bottom")


def _draw_rates_by_round(ax: Axes, result: BadExampleResult) -> None:
    for ties, colour in _TIE_COLOURS.items():
        rows = [row for row in result.rates_by_round if row.ties == ties]
        shares = [row.found for row in rows]
        ax.plot([row.round for row in rows], shares, "o-", markersize=3.5, color=colour, label=f"ties: {ties}")
    ax.set(xlabel="round", ylabel="share of attempts", xticks=range(1, 21), ylim=(-0.02, 0.8))
    add_title(ax, f"The best classifier is this round's, α = {PAPER_ALPHA}")
    add_legend(ax, "upper right")


def draw_theorem_1(result: Theorem1Result) -> Mapping[str, Figure]:
    """Draw the overhead over the share of mistakes, and the errors over TBatch's sample size."""
    overhead, axes = make_panels(len(EXPONENTS))
    for ax, k in zip(axes, EXPONENTS, strict=True):
        _draw_overhead(ax, result, k)
    add_legend(axes[0], "upper left")
    errors, axes = make_panels(len(REALIZABLE_PROBLEMS))
    for ax, name in zip(axes, REALIZABLE_PROBLEMS, strict=True):
        _draw_errors_by_batch_size(ax, name, [row for row in result.errors if row.problem == name])
    return {"theorem_1_overhead": overhead, "theorem_1_errors": errors}


def _draw_overhead(ax: Axes, result: Theorem1Result, k: int) -> None:
    rows = [row for row in result.overheads if (row.k, row.growth) == (k, _SHOWN_GROWTH)]
    alphas = [row.alpha for row in rows]
    grid = np.linspace(0, 0.9, 91)
    bound = "theorem 1: 2 (2 / (1 − α))$^{k+1}$"
    ax.plot(grid, [overhead_bound(alpha, k) for alpha in grid], **THEOREM_LINE, label=bound)
    proof = "until as many unbiased examples"
    ax.plot(alphas, [row.proof for row in rows], "o-", color=PINK, markersize=4, label=proof)
    ax.plot(alphas, [row.singletons for row in rows], "s-", color=BLUE, markersize=4, label="measured, singletons")
    ax.plot(alphas, [row.steps for row in rows], "^-", color=GREEN, markersize=4, label="measured, steps")
    ax.set(yscale="log", xlabel="share of mistakes, α", ylabel="time of TCTBase / time of TBatch")
    exponent = "" if k == 1 else f"$^{k}$"
    add_title(ax, f"Overhead, learner of time m{exponent} (1 + ln m)")


def _draw_errors_by_batch_size(ax: Axes, name: str, rows: list[ErrorAtBatchSize]) -> None:
    bound = [row for row in rows if row.alpha == 0]
    theorem = "theorem 1: $ε_T$, promised by TBatch"
    ax.plot([row.batch for row in bound], [row.epsilon for row in bound], **THEOREM_LINE, label=theorem)
    for alpha, colour in _SHOWN_ALPHAS.items():
        of_alpha = [row for row in rows if row.alpha == alpha]
        # A logarithmic axis cannot show an error of zero.
        positive = [row for row in of_alpha if row.error > 0]
        label = f"TCTBase, α = {alpha:g}" + ("" if len(positive) == len(of_alpha) else ", then none")
        sizes, errors = [row.batch for row in positive], [row.error for row in positive]
        ax.plot(sizes, errors, "o-", color=colour, markersize=4, label=label)
    ax.set(xscale="log", yscale="log", ylim=(0.004, 1))
    ax.set(xlabel="examples of TBatch, $m_T$", ylabel=f"error, kept with probability {1 - DELTA:.0%}")
    add_title(ax, f"Errors, {_REALIZABLE_TITLES[name]}")
    add_legend(ax, "upper right")


def draw_agnostic_theorem(result: AgnosticResult) -> Mapping[str, Figure]:
    """Draw the excess error of the last round over the share of mistakes, and over the unbiased examples."""
    figure, (left, right) = make_panels(2)
    _draw_excess_by_alpha(left, result)
    _draw_excess_by_examples(right, result)
    return {"agnostic": figure}


def _draw_excess_by_alpha(ax: Axes, result: AgnosticResult) -> None:
    last = max(row.round for row in result.excess_errors)
    bounds = [row for row in result.excess_errors if (row.problem, row.round) == ("bad example", last)]
    theorem = "theorem: $ε_T^A$ + α / (1 − α)"
    ax.plot([row.alpha for row in bounds], [row.bound for row in bounds], **THEOREM_LINE, label=theorem)
    for name, colour in _AGNOSTIC_COLOURS.items():
        rows = [row for row in result.excess_errors if (row.problem, row.round) == (name, last)]
        alphas = [row.alpha for row in rows]
        ax.plot(alphas, [row.excess for row in rows], "o-", color=colour, markersize=4, label=f"{name}, {_KEPT}")
        ax.plot(alphas, [row.mean_excess for row in rows], ":", color=colour, label=f"{name}, mean")
    ax.set(xlabel="share of mistakes, α", ylabel="error beyond the best of the class", ylim=(-0.02, 1.05))
    add_title(ax, f"Excess error, round {last}")
    add_legend(ax, "upper left")


def _draw_excess_by_examples(ax: Axes, result: AgnosticResult) -> None:
    for name, colour in _AGNOSTIC_COLOURS.items():
        rows = [row for row in result.excess_errors if (row.problem, row.alpha) == (name, _AGNOSTIC_ALPHA)]
        unbiased = [row.unbiased for row in rows]
        ax.plot(unbiased, [row.bound for row in rows], **(THEOREM_LINE | {"color": colour}), label=f"theorem, {name}")
        ax.plot(unbiased, [row.excess for row in rows], "o-", color=colour, markersize=4, label=f"{name}, {_KEPT}")
        ax.plot(unbiased, [row.mean_excess for row in rows], ":", color=colour, label=f"{name}, mean")
    mistake_term = _AGNOSTIC_ALPHA / (1 - _AGNOSTIC_ALPHA)
    ax.axhline(mistake_term, color=INK, linewidth=0.8)
    add_label(ax, "α / (1 − α)", (12, mistake_term + 0.012), INK, va="bottom")
    ax.set(xscale="log", xlabel="unbiased examples", ylabel="error beyond the best of the class", ylim=(-0.02, 1.15))
    add_title(ax, f"Excess error, α = {_AGNOSTIC_ALPHA}")
    add_legend(ax, "upper right")


def draw_threshold_theorem(result: ThresholdResult) -> Mapping[str, Figure]:
    """Draw error against time, and the time to reach an error, over six and over sixty orders of magnitude."""
    figure, (errors, six, sixty) = make_panels(3)
    _draw_errors_by_time(errors, result)
    _draw_times_to_error(six, result, SIX_ORDERS)
    _draw_times_to_error(sixty, result, SIXTY_ORDERS)
    return {"thresholds": figure}


def _draw_errors_by_time(ax: Axes, result: ThresholdResult) -> None:
    rows = [row for row in result.errors if (row.teacher, row.learner) == ("TBatch", "worst")]
    times, errors = [row.time for row in rows], [row.error for row in rows]
    ax.plot(times, errors, "-", color=GREY, linewidth=2, label="TBatch, worst")
    for learner, colour in _LEARNER_COLOURS.items():
        key = ("TCTBase", learner, _THRESHOLD_ALPHA)
        rows = [row for row in result.errors if (row.teacher, row.learner, row.alpha) == key]
        times, errors = [row.time for row in rows], [row.error for row in rows]
        ax.plot(times, errors, "o-", color=colour, markersize=3, label=f"TCTBase, {learner}")
    ax.set(xscale="log", yscale="log", xlim=(0.7, 1e9), ylim=(10.0 ** -SIX_ORDERS[1], 1))
    ax.set(xlabel="simulated time, learner of time m", ylabel=f"error, kept with probability {1 - DELTA:.0%}")
    add_title(ax, f"Error against time, α = {_THRESHOLD_ALPHA}, by learner")
    add_legend(ax, "upper right")


def _draw_times_to_error(ax: Axes, result: ThresholdResult, orders: tuple[int, int]) -> None:
    first, last = orders
    key = ("worst", _THRESHOLD_ALPHA, 1)
    of_learner = [row for row in result.times if (row.learner, row.alpha, row.k) == key]
    rows = [row for row in of_learner if row.epsilon > 0.99 * 10.0**-last]
    x = np.sqrt(np.log2([1 / row.epsilon for row in rows]))
    time, batch_time = np.log2([row.tct_base for row in rows]), np.log2([row.tbatch for row in rows])
    slope, intercept, r2 = fit_line(x, time)
    ax.plot(x, batch_time, "-", color=GREY, linewidth=2, label="TBatch, exact")
    theorem = f"theorem's c √log T$_{{TBatch}}$, c = {_least_constant(rows):.2f}"
    ax.plot(x, _compute_theorem_curve(rows), **THEOREM_LINE, label=theorem)
    ax.plot(x, time, ".", color=BLUE, markersize=4, label="TCTBase, measured")
    ax.plot(x, slope * x + intercept, "-", color=PINK, linewidth=1.2, label=f"line, slope {slope:.2f}, R² {r2:.3f}")
    ax.set(xlabel="√ log$_2$ 1/ε", ylabel="log$_2$ of the time to reach ε", ylim=(0, 1.8 * float(time.max())))
    _label_errors(ax, first, last)
    add_title(ax, f"Time to reach ε, 10$^{{−{first}}}$ to 10$^{{−{last}}}$")
    add_legend(ax, "upper left")


def _least_constant(rows: list[TimeToError]) -> float:
    """Return the least constant with which the theorem's bound holds for all measured times."""
    return max(row.c for row in rows)


def _compute_theorem_curve(rows: list[TimeToError]) -> list[float]:
    c = _least_constant(rows)
    return [c * float(np.sqrt(np.log2(row.tbatch))) for row in rows]


def _label_errors(ax: Axes, first: int, last: int) -> None:
    """Label some errors along the axis, which shows the root of their logarithm."""
    for power in np.linspace(first, last, 4).round().astype(int):
        x = float(np.sqrt(power * np.log2(10)))
        add_label(ax, f"10$^{{−{power}}}$", (x, 0.02 * ax.get_ylim()[1]), INK, ha="center", va="bottom")
