"""Figures as image files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fitwithin.viz._style import figure_to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_to_svg_and_png(figure: Figure, *, dpi: float) -> tuple[bytes, bytes]:
    """Return the figure as SVG and as PNG, without dates and versions."""
    svg, png = figure_to_svg(figure), io.BytesIO()
    # The SVG has laid out the panels; a second layout would take as long as drawing.
    figure.set_layout_engine("none")
    figure.savefig(png, format="png", dpi=dpi, metadata={"Software": None})
    return svg, png.getvalue()
