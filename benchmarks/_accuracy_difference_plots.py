"""Differences in accuracy between auto and each rival: pairs sorted, with intervals, one panel for each rival."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from _accuracy_summary import AUTO, Contest, Duel, Findings, PairKey
from fitwithin.viz._style import BLUE, EDGE, GREY, ORANGE, picture_style
from fitwithin_paper.figure_files import figure_to_svg_and_png

# Widths of the names and of a panel, and height of a pair, in inches.
_NAMES_INCHES = 2.6
_PANEL_INCHES = 1.75
_PAIR_INCHES = 0.19
# Quantile of a two-sided interval at 95 %.
_Z = 1.96
_COLOURS = {"win": BLUE, "tie": GREY, "loss": ORANGE}
_LABELS = (("win", f"{AUTO} wins"), ("tie", "tie"), ("loss", f"{AUTO} loses"))
_RIVAL_NAMES = {"full": "every row, no limit", "double": "random rows, doubling", "tct": "TCT"}


def draw_differences(findings: Findings, folder: Path, name: str, share: float = 1.0) -> list[Path]:
    """Draw the differences in test accuracy at a share of T, and write the figure as PNG and SVG.

    Parameters
    ----------
    findings : Findings
        The measurements.
    folder, name : Path, str
        Folder and name of the files, without the suffix.
    share : float, default=1.0
        Time limit as a share of T.

    Returns
    -------
    list of Path
        The written files; empty if there is nothing to draw.
    """
    contests = [findings.contest(AUTO, rival, share) for rival in findings.rivals if rival != AUTO]
    contests = [contest for contest in contests if _know_difference(contest)]
    if not contests:
        return []
    with picture_style(**{"font.size": 8.5}):
        svg, png = figure_to_svg_and_png(_make_figure(findings, contests), dpi=120)
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    for file, content in zip(files, (png, svg), strict=True):
        file.write_bytes(content)
    return files


def _know_difference(contest: Contest) -> bool:
    return any(duel.difference is not None for duel in contest.duels)


def _make_figure(findings: Findings, contests: list[Contest]) -> Figure:
    """Draw one panel for each rival, beside each other; pairs are sorted by the difference to the first rival."""
    order = {duel.pair: duel.difference or 0.0 for duel in contests[0].duels}
    pairs = sorted(findings.pairs, key=lambda pair: order.get(pair, 0.0))
    size = (_NAMES_INCHES + _PANEL_INCHES * len(contests), _PAIR_INCHES * len(pairs) + 1.2)
    # The long names need some room of their own.
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(rect=(0.015, 0, 0.97, 1)))
    panels = figure.subplots(1, len(contests), squeeze=False, sharey=True, sharex=True)[0]
    for axes, contest in zip(panels, contests, strict=True):
        _draw_panel(axes, findings, contest, pairs)
    panels[0].set_yticks(range(len(pairs)), [", ".join(pair) for pair in pairs], fontsize=7.5)
    panels[0].set_ylim(-0.7, len(pairs) - 0.3)
    _set_scale(panels[0])
    figure.supxlabel(f"accuracy of {AUTO} minus that of the rival, points, with 95 % interval", fontsize=8.5)
    markers = [
        Line2D([], [], marker="o", linestyle="", color=_COLOURS[result], label=label) for result, label in _LABELS
    ]
    figure.legend(handles=markers, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _draw_panel(axes: Axes, findings: Findings, contest: Contest, pairs: Sequence[PairKey]) -> None:
    """Draw one rival: a point for each pair, with the interval of the difference."""
    for duel in contest.duels:
        if duel.difference is None:
            continue
        height, colour = pairs.index(duel.pair), _COLOURS[duel.result]
        difference, error = 100 * duel.difference, 100 * _standard_error(findings, duel)
        axes.plot([difference - _Z * error, difference + _Z * error], [height] * 2, color=colour, linewidth=1.2)
        axes.plot(difference, height, "o", color=colour, markersize=3.5)
    axes.axvline(0, color=EDGE, linewidth=1)
    tally = contest.tally
    rival = _RIVAL_NAMES.get(contest.second, contest.second)
    axes.set_title(f"{rival}\n{tally.wins} wins, {tally.ties} ties, {tally.losses} losses", fontsize=8.5)


def _set_scale(axes: Axes) -> None:
    """Use a scale that is linear up to one point and logarithmic beyond, the same in every panel."""
    axes.set_xscale("symlog", linthresh=1)
    low, high = axes.get_xlim()
    # There is no room for 5 beside 20.
    far = 20 if max(-low, high) >= 20 else 5
    ticks = [tick for tick in (-far, -1, 0, 1, far) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axes.minorticks_off()


def _standard_error(findings: Findings, duel: Duel) -> float:
    """Return the standard error of the difference, as in the paper's test: two independent samples of test rows."""
    first, second = duel.first or 0.0, duel.second or 0.0
    return math.sqrt((first * (1 - first) + second * (1 - second)) / findings.pairs[duel.pair]["test_rows"])
