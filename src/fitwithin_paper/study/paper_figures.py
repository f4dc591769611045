"""The paper's figures from this study: accuracy over time, alpha, and the agreement with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin.viz._style import BLUE, BROWN, EDGE, GREEN, GREY, INK, ORANGE, PINK, TICKS, picture_style
from fitwithin_paper.figure_files import figure_to_svg_and_png
from fitwithin_paper.study.accuracy_curves import (
    AccuracyCurve,
    compare_teachers,
    compute_dataset_curve,
    describe_final_accuracies,
    format_list,
    spread_labels,
)
from fitwithin_paper.study.paper_results import PaperResults, display_name, sort_learners
from fitwithin_paper.study.paper_tables import build_alpha_table
from fitwithin_paper.study.significance import compare_by_dataset
from fitwithin_paper.study.study_results import StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOUR_CYCLE = (BLUE, ORANGE, GREEN, PINK, BROWN, GREY, INK)
"""Colours for any number of series, in order."""


_LINE_STYLES: Mapping[str, tuple[str, Any]] = {
    "tct": (BLUE, "-"),
    "double": (ORANGE, "-"),
    "full": (GREY, "--"),
    "osct": (BROWN, "-"),
    "osct-half-percent": (PINK, "-."),
    "osct-best": (GREEN, "--"),
    "sgd": (PINK, "-"),
    "tct_al": (GREEN, "-"),
}
"""Colour and line style of each teacher."""


_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


_LABEL_INCHES = 0.175
"""Height of a line of labels, in inches."""


_DPI = 150
"""Resolution of the PNG files, in dots per inch."""


@dataclass(frozen=True)
class ReportFigure:
    """A figure in two formats, with a caption and an alternative text."""

    name: str
    title: str
    caption: str
    alt: str
    svg: bytes
    png: bytes
    is_wide: bool = False


def plot_accuracy_over_time(
    study: StudyResults, paper: PaperResults, learner: str, teachers: Sequence[str], name: str
) -> ReportFigure | None:
    """Plot the mean accuracy of several teachers over normalized time, with the final accuracies as labels.

    Parameters
    ----------
    study : StudyResults
        The study's results.
    paper : PaperResults
        The paper's accuracies in the same experiment; they are marked if the data sets are the same.
    learner : str
        The learner.
    teachers : sequence of str
        Teachers to plot, over the data sets that all of them finished.
    name : str
        Part of the file name.

    Returns
    -------
    ReportFigure or None
        None if there is nothing to compare.
    """
    comparison = compare_teachers(study, learner, teachers)
    if comparison is None:
        return None
    title = f"{display_name(learner)}: {format_list([display_name(curve.teacher) for curve in comparison.curves])}"
    paper_accuracies = comparison.average_final_accuracies(paper)
    with picture_style():
        figure = _create_figure(5.3, 3.6)
        axes = _add_axes(figure, left=0.65, bottom=0.55, width=3.1, height=2.25)
        _draw_curves(axes, comparison.curves, paper_accuracies, show_names=True)
        axes.set(xlabel="time, as a share of a full training", ylabel="accuracy on the test set, %")
        note = "◇ the paper's final accuracy, same data sets" if paper_accuracies else ""
        _draw_title(figure, title, [comparison.description, note])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    final = format_list(
        [f"{display_name(curve.teacher)} {100 * curve.final_accuracy:.1f} %" for curve in comparison.curves]
    )
    alt = f"Mean accuracy over normalized time for {title}. Final accuracy: {final}."
    caption = describe_final_accuracies(study, paper, comparison)
    return ReportFigure(f"time-{name}-{learner}", title, caption, alt, svg, png)


def plot_datasets(study: StudyResults, paper: PaperResults, learner: str) -> ReportFigure | None:
    """Plot the accuracy of TCT, Double and Full over normalized time, in one panel per data set."""
    teachers = ("tct", "double", "full")
    panels = {}
    for dataset in study.datasets(learner):
        curves = [curve for teacher in teachers if (curve := compute_dataset_curve(study, learner, dataset, teacher))]
        if any(curve.teacher != "full" for curve in curves):
            panels[dataset] = curves
    if not panels:
        return None
    width, height = 0.5 + 3.0 * min(3, len(panels)), 0.95 + 1.95 * -(-len(panels) // 3)
    title = f"{display_name(learner)}, data set by data set"
    with picture_style():
        figure = _create_figure(max(width, 5.3), height)
        for position, (dataset, curves) in enumerate(panels.items()):
            bottom = height - 0.95 - 1.6 - 1.95 * (position // 3)
            axes = _add_axes(figure, left=0.5 + 3.0 * (position % 3), bottom=bottom, width=1.95, height=1.3)
            found = {teacher: paper.accuracy(learner, dataset, teacher) for teacher in teachers}
            paper_accuracies = {teacher: value for teacher, value in found.items() if value is not None}
            _draw_curves(axes, curves, paper_accuracies, show_names=False)
            name = dataset if len(dataset) <= 26 else f"{dataset[:25]}…"
            axes.set_title(name, loc="left", fontsize=9.5, parse_math=False)
        _draw_title(figure, title, ["accuracy on the test set, %, over time as a share of a full training"])
        _draw_legend(figure, teachers)
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    caption = "Accuracy on the test set in % over time as a share of a full training, mean over the seeds."
    alt = f"Small line charts of accuracy over normalized time for {format_list(list(panels))}."
    return ReportFigure(f"data-sets-{learner}", title, caption, alt, svg, png, is_wide=len(panels) > 2)


def plot_alpha(study: StudyResults) -> ReportFigure | None:
    """Plot wins and losses against Double, and the mean accuracy, over alpha; the paper's values are dotted."""
    table = build_alpha_table(study)
    names = [column.name for column in table.columns]
    columns: dict[str, Any] = dict(zip(names, zip(*table.rows, strict=True), strict=False))
    if len(table.rows) < 2 or not all(columns["pairs"]):
        return None
    with picture_style():
        figure = _create_figure(5.3, 5.4)
        upper = _add_axes(figure, left=0.75, bottom=2.75, width=3.1, height=1.95)
        lower = _add_axes(figure, left=0.75, bottom=0.55, width=3.1, height=1.7)
        alphas = [float(alpha) for alpha in columns["alpha"]]
        series = []
        for prefix, style in (("", "-"), ("paper_", ":")):
            pairs = np.array(columns[f"{prefix}pairs"], dtype=float)
            for what, colour in (("wins", COLOUR_CYCLE[0]), ("losses", COLOUR_CYCLE[1])):
                share = 100 * np.array(columns[f"{prefix}{what}"], dtype=float) / pairs
                series.append((f"{what}, paper" if prefix else f"{what}, here", share, colour, style))
        _draw_series(upper, alphas, series)
        upper.set_ylabel("% of pairs")
        series = []
        for label, name, style in (("here", "accuracy_pct", "-"), ("paper", "paper_accuracy_pct", ":")):
            if None not in columns[name]:
                accuracies = 100 * np.array(columns[name], dtype=float)
                series.append((label, accuracies - accuracies.max(), COLOUR_CYCLE[0], style))
        _draw_series(lower, alphas, series)
        lower.set(xlabel="alpha", ylabel="points below the best")
        _draw_title(figure, "Sensitivity to alpha", ["above: wins and losses against Double; below: mean accuracy"])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    alt = "Two line charts over alpha: shares of pairs won and lost against Double, and the mean accuracy."
    return ReportFigure("alpha", "Sensitivity to alpha", "The paper's values are dotted.", alt, svg, png)


def plot_agreement(study: StudyResults, paper: PaperResults) -> ReportFigure | None:
    """Plot the difference TCT - Double of this study against the paper's, for each pair that both have."""
    leads = {}
    for learner in sort_learners(study.learners):
        ours, theirs = (compare_by_dataset(source, learner, "tct", "double") for source in (study, paper))
        # A pair without a model of one teacher has a direction, but no difference.
        measured = [d for d in ours if all(study.finished_runs(learner, d, t) for t in ("tct", "double"))]
        shared = [dataset for dataset in measured if dataset in theirs]
        if shared:
            same = np.array([ours[dataset] == theirs[dataset] for dataset in shared])
            leads[learner] = np.array([[_compute_lead(s, learner, d) for s in (paper, study)] for d in shared]), same
    if not leads:
        return None
    agreed, total = (sum(count(same) for _, same in leads.values()) for count in (np.count_nonzero, len))
    with picture_style():
        figure = _create_figure(5.3, 5.2)
        axes = _add_axes(figure, left=0.75, bottom=0.55, width=4.35, height=3.95)
        for position, (learner, (points, same)) in enumerate(leads.items()):
            _draw_points(axes, points, same, position, display_name(learner))
        _draw_reference_lines(axes)
        summary = f"Directions (win, tie, loss) agree on {agreed} of {total} pairs"
        _draw_title(figure, "TCT minus Double, in points of accuracy", [f"{summary}; hollow where they differ"])
        svg, png = figure_to_svg_and_png(figure, dpi=_DPI)
    caption = f"{summary}. On the dashed line both differences are equal; the scales are logarithmic beyond 1 point."
    return ReportFigure("agreement", "This study against the paper", caption, f"Scatter plot. {summary}.", svg, png)


def _create_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _add_axes(figure: Figure, *, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes at a position in inches, because labels have the same size in every figure."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _draw_curves(
    axes: Axes, curves: Sequence[AccuracyCurve], paper_accuracies: Mapping[str, float], *, show_names: bool
) -> None:
    """Draw curves as steps, the paper's final accuracies as diamonds, and labels on the right."""
    labels = []
    for curve in curves:
        colour, style = _LINE_STYLES[curve.teacher]
        axes.plot(curve.times, 100 * curve.accuracies, style, color=colour, drawstyle="steps-post", linewidth=1.8)
        if curve.teacher in paper_accuracies:
            height = 100 * paper_accuracies[curve.teacher]
            axes.plot([1], [height], "D", mec=colour, mfc="none", ms=6, mew=1.4, clip_on=False, zorder=4)
        name = f"{display_name(curve.teacher)} " if show_names else ""
        labels.append((f"{name}{100 * curve.final_accuracy:.1f}", 100 * curve.final_accuracy, colour))
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    _draw_end_labels(axes, labels)


def _draw_series(axes: Axes, x: Sequence[float], series: Sequence[tuple[str, Any, str, str]]) -> None:
    for _, values, colour, style in series:
        axes.plot(x, values, style, marker="o", color=colour, linewidth=1.8, ms=4)
    axes.set_xscale("log")
    axes.set_xlim(0.9 * x[0], x[-1])
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.set_xticks([], minor=True)
    _draw_end_labels(axes, [(name, float(values[-1]), colour) for name, values, colour, _ in series])


def _draw_end_labels(axes: Axes, labels: Sequence[tuple[str, float, str]]) -> None:
    """Draw labels to the right of the curves, apart from each other, each with a line to its curve."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    inches = axes.bbox.height / axes.figure.dpi
    heights = spread_labels([height for _, height, _ in labels], gap=(high - low) * _LABEL_INCHES / inches)
    for (text, height, colour), label_height in zip(labels, heights, strict=True):
        end, label = (axes.get_xlim()[1], height), (1.075, (label_height - low) / (high - low))
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 5}
        options: dict[str, Any] = {"textcoords": "axes fraction", "va": "center", "annotation_clip": False}
        axes.annotate(text, end, label, color=colour, arrowprops=line, **options)


def _draw_title(figure: Figure, title: str, notes: Sequence[str]) -> None:
    """Draw a title and lines of small print at the top left."""
    left, top = 0.1 / figure.get_figwidth(), figure.get_figheight()
    figure.text(left, 1 - 0.12 / top, title, fontsize=11, fontweight="bold", va="top", parse_math=False)
    for line, note in enumerate(notes):
        figure.text(left, 1 - (0.36 + 0.17 * line) / top, note, fontsize=8.5, color=TICKS, va="top")


def _draw_legend(figure: Figure, teachers: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    styles = {teacher: _LINE_STYLES[teacher] for teacher in teachers}
    lines = [Line2D([], [], color=c, linestyle=s, label=display_name(t)) for t, (c, s) in styles.items()]
    lines += [Line2D([], [], color=INK, marker="D", linestyle="", mfc="none", label="the paper's final accuracy")]
    anchor = 0.1 / figure.get_figwidth(), 1 - 0.56 / figure.get_figheight()
    spaces = {"borderpad": 0, "borderaxespad": 0, "handlelength": 1.6, "columnspacing": 1.4}
    figure.legend(handles=lines, loc="upper left", bbox_to_anchor=anchor, ncols=4, frameon=False, **spaces)


def _draw_points(axes: Axes, points: Any, same: Any, position: int, name: str) -> None:
    marker, colour = _MARKERS[position % len(_MARKERS)], COLOUR_CYCLE[position % len(COLOUR_CYCLE)]
    for chosen, fill in ((same, colour), (~same, "white")):
        axes.plot(*points[chosen].T, marker, mec=colour, mfc=fill, ms=7, mew=1.4, alpha=0.85, zorder=3)
    axes.plot([], [], marker, mec=colour, mfc=colour, ms=7, label=name)


def _draw_reference_lines(axes: Axes) -> None:
    """Set equal scales, and draw the axes through zero, the line of equal differences and the legend."""
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


def _compute_lead(source: StudyResults | PaperResults, learner: str, dataset: str) -> float:
    """Return the difference TCT - Double, in points of accuracy."""
    tct, double = (source.accuracy(learner, dataset, teacher) for teacher in ("tct", "double"))
    return 100 * ((tct or 0.0) - (double or 0.0))
