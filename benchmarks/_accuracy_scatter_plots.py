"""Scatter plots of auto against each rival, one panel for each rival."""

from __future__ import annotations

from pathlib import Path

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from _accuracy_summary import AUTO, Contest, Findings

# Colour and shape of each learner. Okabe and Ito's colours for colour-blind readers, darkened for white paper.
_MARKERS = (
    ("#0072b2", "o"),
    ("#b84a00", "s"),
    ("#007a5a", "^"),
    ("#a0457e", "D"),
    ("#8a6100", "v"),
    ("#555555", "P"),
    ("#222222", "X"),
    ("#0072b2", "<"),
    ("#b84a00", "*"),
    ("#007a5a", "p"),
    ("#a0457e", ">"),
    ("#8a6100", "h"),
    ("#555555", "d"),
    ("#222222", "8"),
)
# Panels in a row.
_MAX_COLUMNS = 4

# Width and height of a panel in inches.
_PANEL_INCHES = 2.6
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    # A fixed salt, and no date below, make the files reproducible.
    "svg.hashsalt": "fitwithin",
}


def draw_scatter(findings: Findings, folder: Path, name: str, share: float = 1.0) -> list[Path]:
    """Draw test accuracies at a share of T, and write the figure as PNG and SVG.

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
    contests = [contest for contest in contests if any(duel.difference is not None for duel in contest.duels)]
    if not contests:
        return []
    with matplotlib.style.context(["default", _STYLE]):
        figure = _make_figure(findings, contests)
        files = [folder / f"{name}.png", folder / f"{name}.svg"]
        figure.savefig(files[0], dpi=150, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None})
    return files


def _make_figure(findings: Findings, contests: list[Contest]) -> Figure:
    across = min(_MAX_COLUMNS, len(contests))
    down = -(-len(contests) // across)
    figure = Figure(figsize=(_PANEL_INCHES * across + 0.4, _PANEL_INCHES * down + 0.9), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    low = min(100 * min(duel.first or 1.0, duel.second or 1.0) for contest in contests for duel in contest.duels)
    for index, axes in enumerate(grid.flat):
        if index < len(contests):
            _draw_panel(axes, findings, contests[index], 5 * (low // 5))
            # The lowest panel of each column has tick labels, even if the last row is not full.
            axes.tick_params(labelbottom=index + across >= len(contests))
        else:
            axes.set_axis_off()
    figure.supxlabel("test accuracy of the rival, %")
    figure.supylabel(f"test accuracy of {AUTO}, %")
    markers = [_make_marker(findings, learner, label=learner) for learner in findings.learners]
    figure.legend(handles=markers, loc="outside upper center", ncols=min(4, len(markers)), frameon=False)
    return figure


def _draw_panel(axes: Axes, findings: Findings, contest: Contest, low: float) -> None:
    """Draw one rival. Hollow markers are ties; above the diagonal auto is better."""
    axes.plot([low, 100], [low, 100], color="#888888", linewidth=1)
    for duel in contest.duels:
        if duel.first is not None and duel.second is not None:
            marker = _make_marker(findings, duel.pair[1], hollow=duel.result == "tie")
            marker.set_data([100 * duel.second], [100 * duel.first])
            axes.add_line(marker)
    tally = contest.tally
    axes.set(xlim=(low, 101), ylim=(low, 101), aspect="equal")
    axes.set_title(f"{contest.second}: {tally.wins} wins, {tally.ties} ties, {tally.losses} losses", fontsize=8.5)


def _make_marker(findings: Findings, learner: str, *, label: str = "", hollow: bool = False) -> Line2D:
    colour, shape = _MARKERS[findings.learners.index(learner) % len(_MARKERS)]
    fill = "white" if hollow else colour
    return Line2D([], [], marker=shape, linestyle="", mec=colour, mfc=fill, ms=5.5, alpha=0.85, label=label)
