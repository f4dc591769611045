"""The paper's pictures, from this study: accuracy over time, alpha, and how far the two agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._research.study.curves import Curve, compare, data_set_curve, ends_beside, listing, spread
from fitwithin._research.study.measured import Measured
from fitwithin._research.study.paper import Paper, in_order, name_of
from fitwithin._research.study.statistics import directions
from fitwithin._research.study.tables import alpha_table
from fitwithin.viz._palette import BLUE, BROWN, COLOUR_CYCLE, EDGE, GREEN, GREY, INK, ORANGE, PINK, TICKS
from fitwithin.viz._style import figure_to_svg_and_png, picture_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LINES: Mapping[str, tuple[str, Any]] = {
    "tct": (BLUE, "-"),
    "double": (ORANGE, "-"),
    "full": (GREY, "--"),
    "osct": (BROWN, "-"),
    "osct-half-percent": (PINK, "-."),
    "osct-best": (GREEN, "--"),
    "sgd": (PINK, "-"),
    "tct_al": (GREEN, "-"),
}


_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


_LABEL_INCHES = 0.175


_DPI = 150


@dataclass(frozen=True)
class Picture:
    """A picture in two formats, with a caption for everyone and a description for those who cannot see it."""

    name: str
    title: str
    caption: str
    alt: str
    svg: bytes
    png: bytes
    wide: bool = False


def time_picture(study: Measured, paper: Paper, learner: str, teachers: Sequence[str], name: str) -> Picture | None:
    """The average accuracy over normalised time of several teachers, with the accuracies at the end as labels.

    Parameters
    ----------
    study : Measured
        What was measured.
    paper : Paper
        The paper's accuracies in the same experiment; they are marked where the data sets are the same.
    learner : str
        The learner that was taught.
    teachers : sequence of str
        Whose curves to draw, over the data sets that all of them finished.
    name : str
        The comparison's, for the file.

    Returns
    -------
    Picture or None
        None where there is nothing to compare.
    """
    found = compare(study, learner, teachers)
    if found is None:
        return None
    title = f"{name_of(learner)}: {listing([name_of(curve.teacher) for curve in found.curves])}"
    ends = found.ends(paper)
    with picture_style():
        figure = _figure(5.3, 3.6)
        axes = _axes(figure, left=0.65, bottom=0.55, width=3.1, height=2.25)
        _draw_curves(axes, found.curves, ends, named=True)
        axes.set(xlabel="time, as a share of training on all rows", ylabel="accuracy on the test set, %")
        _head(figure, title, [found.basis, "◇ the paper's end, same data sets" if ends else ""])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    reached = listing([f"{name_of(curve.teacher)} {100 * curve.end:.1f} %" for curve in found.curves])
    alt = f"Average accuracy over normalised time for {title}. At the end: {reached}."
    return Picture(f"time-{name}-{learner}", title, ends_beside(study, paper, found), alt, svg, png)


def data_sets_picture(study: Measured, paper: Paper, learner: str) -> Picture | None:
    """Accuracy over normalised time of TCT, Double and Full, one panel for each of a learner's data sets."""
    teachers = ("tct", "double", "full")
    panels = {}
    for dataset in study.datasets(learner):
        curves = [curve for teacher in teachers if (curve := data_set_curve(study, learner, dataset, teacher))]
        if any(curve.teacher != "full" for curve in curves):
            panels[dataset] = curves
    if not panels:
        return None
    width, height = 0.5 + 3.0 * min(3, len(panels)), 0.95 + 1.95 * -(-len(panels) // 3)
    title = f"{name_of(learner)}, data set by data set"
    with picture_style():
        figure = _figure(max(width, 5.3), height)
        for place, (dataset, curves) in enumerate(panels.items()):
            bottom = height - 0.95 - 1.6 - 1.95 * (place // 3)
            axes = _axes(figure, left=0.5 + 3.0 * (place % 3), bottom=bottom, width=1.95, height=1.3)
            ends = {t: end for t in teachers if (end := paper.accuracy(learner, dataset, t)) is not None}
            _draw_curves(axes, curves, ends, named=False)
            name = dataset if len(dataset) <= 26 else f"{dataset[:25]}…"
            axes.set_title(name, loc="left", fontsize=9.5, parse_math=False)
        _head(figure, title, ["accuracy on the test set, %, over time as a share of training on all rows"])
        _legend(figure, teachers)
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    caption = "Accuracy on the test set in % over the share of the time for training on all rows, mean over the seeds."
    alt = f"Small line charts of accuracy over normalised time for {listing(list(panels))}."
    return Picture(f"data-sets-{learner}", title, caption, alt, svg, png, wide=len(panels) > 2)


def alpha_picture(study: Measured) -> Picture | None:
    """Wins and losses against Double, and the average accuracy, over alpha; the paper's beside."""
    table = alpha_table(study)
    names = [column.name for column in table.columns]
    columns: dict[str, Any] = dict(zip(names, zip(*table.rows, strict=True), strict=False))
    if len(table.rows) < 2 or not all(columns["pairs"]):
        return None
    with picture_style():
        figure = _figure(5.3, 5.4)
        upper = _axes(figure, left=0.75, bottom=2.75, width=3.1, height=1.95)
        lower = _axes(figure, left=0.75, bottom=0.55, width=3.1, height=1.7)
        alphas = [float(alpha) for alpha in columns["alpha"]]
        series = []
        for whose, style in (("", "-"), ("paper_", ":")):
            pairs = np.array(columns[f"{whose}pairs"], dtype=float)
            for what, colour in (("wins", COLOUR_CYCLE[0]), ("losses", COLOUR_CYCLE[1])):
                share = 100 * np.array(columns[f"{whose}{what}"], dtype=float) / pairs
                series.append((f"{what}, paper" if whose else f"{what}, here", share, colour, style))
        _draw_series(upper, alphas, series)
        upper.set_ylabel("% of pairs")
        series = []
        for whose, name, style in (("here", "accuracy_pct", "-"), ("paper", "paper_accuracy_pct", ":")):
            if None not in columns[name]:
                accuracies = 100 * np.array(columns[name], dtype=float)
                series.append((whose, accuracies - accuracies.max(), COLOUR_CYCLE[0], style))
        _draw_series(lower, alphas, series)
        lower.set(xlabel="alpha", ylabel="points below the best")
        _head(figure, "Sensitivity to alpha", ["above: wins and losses against Double; below: average accuracy"])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    alt = "Two line charts over alpha: shares of pairs won and lost against Double, and the average accuracy."
    return Picture("alpha", "Sensitivity to alpha", "The paper's figures are dotted.", alt, svg, png)


def agreement_picture(study: Measured, paper: Paper) -> Picture | None:
    """The difference TCT - Double of each pair that both have, here against there."""
    leads = {}
    for learner in in_order(study.learners):
        ours, theirs = (directions(source, learner, "tct", "double") for source in (study, paper))
        # A pair without a model of either has a direction, but no difference.
        measured = [d for d in ours if study.finished(learner, d, "tct") and study.finished(learner, d, "double")]
        shared = [dataset for dataset in measured if dataset in theirs]
        if shared:
            same = np.array([ours[dataset] == theirs[dataset] for dataset in shared])
            leads[learner] = np.array([[_lead(s, learner, d) for s in (paper, study)] for d in shared]), same
    if not leads:
        return None
    agreed, total = (sum(count(same) for _, same in leads.values()) for count in (np.count_nonzero, len))
    with picture_style():
        figure = _figure(5.3, 5.2)
        axes = _axes(figure, left=0.75, bottom=0.55, width=4.35, height=3.95)
        for place, (learner, (points, same)) in enumerate(leads.items()):
            _scatter(axes, points, same, place, name_of(learner))
        _cross(axes)
        said = f"Directions (win, tie, loss) agree on {agreed} of {total} pairs"
        _head(figure, "TCT minus Double, in points of accuracy", [f"{said}; hollow where they differ"])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    caption = f"{said}. On the dashed line the lead is the same in both; the scales are logarithmic beyond 1 point."
    return Picture("agreement", "This study against the paper", caption, f"Scatter plot. {said}.", svg, png)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _axes(figure: Figure, *, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, because labels are as large in a tall figure as in a flat one."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _draw_curves(axes: Axes, curves: Sequence[Curve], ends: Mapping[str, float], *, named: bool) -> None:
    """Curves that are level until the next model, the paper's ends as diamonds, and labels on the right."""
    labels = []
    for curve in curves:
        colour, style = _LINES[curve.teacher]
        axes.plot(curve.times, 100 * curve.accuracies, style, color=colour, drawstyle="steps-post", linewidth=1.8)
        if curve.teacher in ends:
            end = 100 * ends[curve.teacher]
            axes.plot([1], [end], "D", mec=colour, mfc="none", ms=6, mew=1.4, clip_on=False, zorder=4)
        name = f"{name_of(curve.teacher)} " if named else ""
        labels.append((f"{name}{100 * curve.end:.1f}", 100 * curve.end, colour))
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    _end_labels(axes, labels)


def _draw_series(axes: Axes, x: Sequence[float], series: Sequence[tuple[str, Any, str, str]]) -> None:
    for _, values, colour, style in series:
        axes.plot(x, values, style, marker="o", color=colour, linewidth=1.8, ms=4)
    axes.set_xscale("log")
    axes.set_xlim(0.9 * x[0], x[-1])
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.set_xticks([], minor=True)
    _end_labels(axes, [(name, float(values[-1]), colour) for name, values, colour, _ in series])


def _end_labels(axes: Axes, labels: Sequence[tuple[str, float, str]]) -> None:
    """Write labels right of the curves' ends, apart from each other, each with a line to its end."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    inches = axes.bbox.height / axes.figure.dpi
    heights = spread([height for _, height, _ in labels], gap=(high - low) * _LABEL_INCHES / inches)
    for (text, height, colour), place in zip(labels, heights, strict=True):
        end, label = (axes.get_xlim()[1], height), (1.075, (place - low) / (high - low))
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 5}
        how: dict[str, Any] = {"textcoords": "axes fraction", "va": "center", "annotation_clip": False}
        axes.annotate(text, end, label, color=colour, arrowprops=line, **how)


def _head(figure: Figure, title: str, notes: Sequence[str]) -> None:
    """A title and lines of small print, from the top left."""
    left, top = 0.1 / figure.get_figwidth(), figure.get_figheight()
    figure.text(left, 1 - 0.12 / top, title, fontsize=11, fontweight="bold", va="top", parse_math=False)
    for line, note in enumerate(notes):
        figure.text(left, 1 - (0.36 + 0.17 * line) / top, note, fontsize=8.5, color=TICKS, va="top")


def _legend(figure: Figure, teachers: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=_LINES[t][0], linestyle=_LINES[t][1], label=name_of(t)) for t in teachers]
    lines += [Line2D([], [], color=INK, marker="D", linestyle="", mfc="none", label="the paper's end")]
    place = 0.1 / figure.get_figwidth(), 1 - 0.56 / figure.get_figheight()
    spaces = {"borderpad": 0, "borderaxespad": 0, "handlelength": 1.6, "columnspacing": 1.4}
    figure.legend(handles=lines, loc="upper left", bbox_to_anchor=place, ncols=4, frameon=False, **spaces)


def _scatter(axes: Axes, points: Any, same: Any, place: int, name: str) -> None:
    marker, colour = _MARKERS[place % len(_MARKERS)], COLOUR_CYCLE[place % len(COLOUR_CYCLE)]
    for chosen, fill in ((same, colour), (~same, "white")):
        axes.plot(*points[chosen].T, marker, mec=colour, mfc=fill, ms=7, mew=1.4, alpha=0.85, zorder=3)
    axes.plot([], [], marker, mec=colour, mfc=colour, ms=7, label=name)


def _cross(axes: Axes) -> None:
    """The same scale on both sides, the axes through nought, the line of equal differences, and the legend."""
    reach = 1.3 * max(2.0, *(abs(limit) for limits in (axes.get_xlim(), axes.get_ylim()) for limit in limits))
    ticks = [tick for tick in (-30, -10, -3, -1, 0, 1, 3, 10, 30) if abs(tick) <= reach]
    names = [f"{tick:+d}" if tick else "0" for tick in ticks]
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="in the paper", ylabel="in this study")
    axes.set_xticks(ticks, names)
    axes.set_yticks(ticks, names)
    for x, y, style in ((reach, 0, "-"), (0, reach, "-"), (reach, reach, "--")):
        axes.plot([-x, x], [-y, y], style, color=EDGE, linewidth=1)
    axes.legend(loc="best", fontsize=8.5, framealpha=0.9)


def _lead(source: Measured | Paper, learner: str, dataset: str) -> float:
    tct, double = (source.accuracy(learner, dataset, teacher) for teacher in ("tct", "double"))
    return 100 * ((tct or 0.0) - (double or 0.0))
