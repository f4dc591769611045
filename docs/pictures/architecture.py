"""Draw the pictures of docs/architecture.md: the layers, from the contract in pyproject.toml, and the processes.

Run with ``python docs/pictures/architecture.py``; needs matplotlib.
"""

import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from fitwithin.viz._style import BLUE, GREEN, GREY, ORANGE, figure_to_svg, picture_style

HERE = Path(__file__).parent
PYPROJECT = HERE.parents[1] / "pyproject.toml"
PUBLIC = ("viz", "backends", "teachers", "testing")


def draw_layers() -> plt.Figure:
    """Draw one row for each layer of the import contract, and one box for each module or package."""
    contract = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [layer.split(" | ") for layer in contract["layers"]]
    figure = plt.figure(figsize=(7.2, 4.6), layout="constrained")
    ax = _empty_axes(figure, (0, 12), (-len(layers), 0.6))
    for depth, names in enumerate(layers):
        width = 12 / len(names)
        for column, name in enumerate(names):
            color = BLUE if name in PUBLIC else GREY
            _box(ax, (column * width + 0.08, -depth - 0.36), (width - 0.16, 0.72), name, color)
    ax.text(0, 0.52, "each row imports only from rows below it; blue: public packages", fontsize=9, color=GREY)
    return figure


def draw_processes() -> plt.Figure:
    """Draw the program, the fork server, its two workers and the memory that they share."""
    figure = plt.figure(figsize=(8.4, 4.2), layout="constrained")
    ax = _empty_axes(figure, (0, 19), (0, 9.4))
    _box(ax, (0.2, 5.2), (4.6, 3.6), "program\n\nestimator, session, teacher\nrunner (backend.py)\nfork_host.py", BLUE)
    _box(ax, (10.4, 6.6), (8.4, 2.2), "fork server\nfork_server.py\nimports, never fits", GREY)
    _box(ax, (10.4, 2.7), (4.9, 2.3), "learner's process\nworker.py, ModelRunner\nfits, predicts, scores", ORANGE)
    _box(ax, (15.6, 2.7), (3.2, 2.3), "loader\nworker.py\nloads models once", ORANGE)
    _box(ax, (0.2, 0.3), (18.6, 1.3), "shared memory: rows that were used, the best models", GREEN)
    _arrow(ax, (4.8, 8.1), (10.4, 8.1), "fork, clean up")
    _arrow(ax, (13.1, 6.6), (13.1, 5.0), "fork", aside=True)
    _arrow(ax, (17.2, 6.6), (17.2, 5.0), "fork", aside=True)
    _arrow(ax, (4.8, 6.1), (10.4, 4.4), "", both=True)
    ax.text(7.6, 5.75, "fit, predict, score,\nsave, load (connection.py)", ha="left", va="bottom", fontsize=9)
    _arrow(ax, (2.4, 5.2), (2.4, 1.6), "appends rows,\nloads the best model", aside=True, both=True)
    _arrow(ax, (11.0, 2.7), (11.0, 1.6), "rows, models", aside=True, both=True)
    _arrow(ax, (17.2, 1.6), (17.2, 2.7), "models", aside=True)
    ax.text(8.0, 3.4, "SIGKILL to both\ngroups at the deadline", ha="center", va="center", fontsize=9, color=ORANGE)
    return figure


def _empty_axes(figure: plt.Figure, xlim: tuple[float, float], ylim: tuple[float, float]) -> Axes:
    ax = figure.subplots()
    ax.set(xlim=xlim, ylim=ylim)
    ax.axis("off")
    return ax


def _box(ax: Axes, corner: tuple[float, float], size: tuple[float, float], text: str, color: str) -> None:
    style = "round,pad=0,rounding_size=0.12"
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, facecolor=f"{color}18", edgecolor=color))
    ax.text(corner[0] + size[0] / 2, corner[1] + size[1] / 2, text, ha="center", va="center", fontsize=9)


def _arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    *,
    both: bool = False,
    aside: bool = False,
) -> None:
    style = "<|-|>" if both else "-|>"
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle=style, mutation_scale=11, color=GREY, shrinkA=0, shrinkB=0))
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if aside:
        ax.text(x + 0.15, y, text, ha="left", va="center", fontsize=9)
    else:
        ax.text(x, y + 0.15, text, ha="center", va="bottom", fontsize=9)


if __name__ == "__main__":
    with picture_style():
        for name, draw in {"layers": draw_layers, "processes": draw_processes}.items():
            picture = draw()
            (HERE / f"{name}.svg").write_bytes(figure_to_svg(picture))
            plt.close(picture)
