"""The look of pictures and pages: one palette for light and dark mode, matplotlib's style, reproducible images."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from fitwithin._core.install_command import require_libraries

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Colour(NamedTuple):
    """One colour of the palette, in both modes."""

    light: str
    dark: str


# Okabe and Ito's colours, which colour-blind readers tell apart, darkened until they can be read as text on white.
PALETTE = {
    "blue": Colour("#0072b2", "#58b1e8"),
    "orange": Colour("#b84a00", "#f28e4b"),
    "green": Colour("#007a5a", "#3fc496"),
    "pink": Colour("#a0457e", "#dd8fc0"),
    "brown": Colour("#8a6100", "#d0a13a"),
    "grey": Colour("#555555", "#b4b4b4"),
    "ink": Colour("#222222", "#e8e8e8"),
    "grid": Colour("#e4e4e4", "#33373c"),
    "edge": Colour("#888888", "#85898e"),
    "ticks": Colour("#444444", "#c4c4c4"),
    "paper": Colour("#ffffff", "#16181b"),
    "line": Colour("#d9d9d9", "#3a3d41"),
    "band": Colour("#f2f4f6", "#22262b"),
    "link": Colour("#005a9c", "#7cc0f5"),
}
"""Each colour by its name; a page has it as the CSS variable of that name."""


# Pictures are drawn in light mode; a page replaces these values by CSS variables.
BLUE = PALETTE["blue"].light
ORANGE = PALETTE["orange"].light
GREEN = PALETTE["green"].light
PINK = PALETTE["pink"].light
BROWN = PALETTE["brown"].light
GREY = PALETTE["grey"].light
INK = PALETTE["ink"].light
GRID = PALETTE["grid"].light
EDGE = PALETTE["edge"].light
TICKS = PALETTE["ticks"].light


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


def palette_css() -> str:
    """Return the palette as CSS variables. Paper is always light.

    Examples
    --------
    >>> print(palette_css()[:63])
    :root { color-scheme: light dark; --blue: #0072b2; --orange: #b
    """
    light = " ".join(f"--{name}: {colour.light};" for name, colour in PALETTE.items())
    dark = " ".join(f"--{name}: {colour.dark};" for name, colour in PALETTE.items())
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def colours_to_css_variables(style: str) -> str:
    """Replace each light colour of the palette in a style by its CSS variable.

    Examples
    --------
    >>> colours_to_css_variables("fill: #0072b2; stroke: #123456")
    'fill: var(--blue); stroke: #123456'
    """
    for name, colour in PALETTE.items():
        style = style.replace(colour.light, f"var(--{name})")
    return style


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install if matplotlib is missing."""
    require_libraries("A picture", "matplotlib")


def picture_style(**changes: Any) -> Any:
    """Return a context manager that sets the style of our pictures, whatever the user's own settings are."""
    require_matplotlib()
    import matplotlib.style

    return matplotlib.style.context(["default", _PICTURE_STYLE | changes])


def figure_to_svg(figure: Figure, id_salt: str = "fitwithin") -> bytes:
    """Return the figure as SVG, without dates and versions. Ids of clips and markers depend on the salt."""
    import matplotlib as mpl

    svg = io.BytesIO()
    # The salt makes the SVG's ids reproducible; the context restores the user's setting.
    with mpl.rc_context({"svg.hashsalt": id_salt}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue()
