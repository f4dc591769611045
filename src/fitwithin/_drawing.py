"""Pictures as files that are the same every time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install, if matplotlib is not there."""
    try:
        import matplotlib.style as _style  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise ImportError("The pictures need matplotlib: pip install 'fitwithin[plots]'") from error


def rendered(figure: Figure, *, dpi: float) -> tuple[bytes, bytes]:
    """The figure as SVG and as PNG, without dates and versions."""
    import matplotlib as mpl

    svg, png = io.BytesIO(), io.BytesIO()
    # The salt makes the SVG's ids the same each time; the context puts the setting back.
    with mpl.rc_context({"svg.hashsalt": "fitwithin"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    # The panels have found their places; to look for them again takes as long as to draw.
    figure.set_layout_engine("none")
    figure.savefig(png, format="png", dpi=dpi, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()
