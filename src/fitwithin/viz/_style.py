"""Pictures in one style, as files that are the same every time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Okabe and Ito's colours, which colour-blind readers tell apart, darkened until they can be read as text on white.
BLUE, ORANGE, GREEN, PINK, BROWN, GREY, BLACK = COLOURS = (
    *("#0072b2", "#b84a00", "#007a5a", "#a0457e"),
    *("#8a6100", "#555555", "#222222"),
)


GRID, EDGE, TICKS = "#e4e4e4", "#888888", "#444444"


_STYLE = {
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
    """Raise an ImportError that says what to install, if matplotlib is not there."""
    try:
        import matplotlib.style as _style  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise ImportError("The pictures need matplotlib: pip install 'fitwithin[plots]'") from error


def house_style(**changes: Any) -> Any:
    """A context in which pictures look like ours, whatever the reader's own settings are."""
    require_matplotlib()
    import matplotlib.style

    return matplotlib.style.context(["default", _STYLE | changes])


def svg_of(figure: Figure) -> bytes:
    """The figure as SVG, without dates and versions."""
    import matplotlib as mpl

    svg = io.BytesIO()
    # The salt makes the SVG's ids the same each time; the context puts the setting back.
    with mpl.rc_context({"svg.hashsalt": "fitwithin"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue()


def rendered(figure: Figure, *, dpi: float) -> tuple[bytes, bytes]:
    """The figure as SVG and as PNG, without dates and versions."""
    svg, png = svg_of(figure), io.BytesIO()
    # The panels have found their places; to look for them again takes as long as to draw.
    figure.set_layout_engine("none")
    figure.savefig(png, format="png", dpi=dpi, metadata={"Software": None})
    return svg, png.getvalue()
