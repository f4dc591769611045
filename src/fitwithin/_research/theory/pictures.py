"""Figures that leave matplotlib's global state alone, and files of them that are the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fitwithin.viz._style import figure_to_svg_and_png, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's colours, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, PINK, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777", "#222222"


# What a theorem says is dashed and dark, everywhere.
THEOREM: dict[str, Any] = {"color": BLACK, "linestyle": (0, (5, 2)), "linewidth": 1.3}


_WIDTH, _HEIGHT, _DPI = 5.2, 4.2, 110


def blank(panels: int) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels side by side.

    Raises
    ------
    ImportError
        Without matplotlib; the message names the extra that brings it.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH * panels, _HEIGHT), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#e5e5e5", linewidth=0.7)
        ax.set_axisbelow(True)
    return figure, list(axes)


def title(ax: Axes, text: str) -> None:
    """A panel's title, above its left edge."""
    ax.set_title(text, loc="left", fontsize=10.5, fontweight="bold")


def label(ax: Axes, text: str, at: tuple[float, float], colour: str, **where: Any) -> None:
    """A label beside what it names, in its colour, in the units of the data."""
    halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
    ax.text(*at, text, color=colour, fontsize=8.5, bbox=halo, **where)


def legend(ax: Axes, place: Literal["upper left", "upper right"]) -> None:
    """A quiet legend."""
    ax.legend(loc=place, fontsize=8.5, frameon=True, framealpha=0.9, edgecolor="none")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as SVG and PNG, without dates or versions, and return the paths."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    for path, body in zip(paths, figure_to_svg_and_png(figure, dpi=_DPI), strict=True):
        path.write_bytes(body)
    return paths
