"""One style for all pictures, and reproducible image files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from fitwithin._core.install_command import format_install_command
from fitwithin.viz._palette import EDGE, GRID, TICKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_PICTURE_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "axes.edgecolor": EDGE,
    "xtick.color": TICKS,
    "ytick.color": TICKS,
    "svg.fonttype": "path",
}


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install if matplotlib is missing."""
    try:
        import matplotlib.style as _style  # noqa: F401  # only to see whether it can be imported
    except ImportError as error:
        raise ImportError(
            f"The pictures need matplotlib, which is not installed. {format_install_command('plots')}"
        ) from error


def picture_style(**changes: Any) -> Any:
    """Return a context manager that sets the style of our pictures, whatever the user's own settings are."""
    require_matplotlib()
    import matplotlib.style

    return matplotlib.style.context(["default", _PICTURE_STYLE | changes])


def figure_to_svg(figure: Figure) -> bytes:
    """Return the figure as SVG, without dates and versions."""
    import matplotlib as mpl

    svg = io.BytesIO()
    # The salt makes the SVG's ids reproducible; the context restores the user's setting.
    with mpl.rc_context({"svg.hashsalt": "fitwithin"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue()
