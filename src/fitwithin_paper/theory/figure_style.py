"""Style of the theory figures, which leaves matplotlib's global state alone and writes reproducible files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fitwithin.viz._style import GRID, INK, require_matplotlib
from fitwithin_paper.figure_files import figure_to_svg_and_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Line style of every theorem's bound: dashed and dark.
THEOREM_LINE: dict[str, Any] = {"color": INK, "linestyle": (0, (5, 2)), "linewidth": 1.3}


# Width of one panel in inches.
_PANEL_WIDTH = 5.2

# Height of one panel in inches.
_PANEL_HEIGHT = 4.2

# Resolution of the PNG files in dots per inch.
_DPI = 110


def make_panels(n_panels: int) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with panels side by side.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message names the extra that installs it.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_PANEL_WIDTH * n_panels, _PANEL_HEIGHT), layout="constrained")
    axes = figure.subplots(1, n_panels, squeeze=False)[0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color=GRID, linewidth=0.7)
        ax.set_axisbelow(True)
    return figure, list(axes)


def add_title(ax: Axes, text: str) -> None:
    """Add a title above the left edge of the panel."""
    ax.set_title(text, loc="left", fontsize=10.5, fontweight="bold")


def add_label(ax: Axes, text: str, position: tuple[float, float], colour: str, **alignment: Any) -> None:
    """Add a coloured label at a position in data coordinates."""
    background = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
    ax.text(*position, text, color=colour, fontsize=8.5, bbox=background, **alignment)


def add_legend(ax: Axes, position: Literal["upper left", "upper right"]) -> None:
    """Add a legend without a frame line."""
    ax.legend(loc=position, fontsize=8.5, frameon=True, framealpha=0.9, edgecolor="none")


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as SVG and PNG, without dates or versions, and return the paths."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    for path, body in zip(paths, figure_to_svg_and_png(figure, dpi=_DPI), strict=True):
        path.write_bytes(body)
    return paths
