"""Pictures inside a page: SVG that shares the page's document, its font and its light or dark colours."""

from __future__ import annotations

from xml.etree import ElementTree

from .._drawing import BLACK, BLUE, BROWN, EDGE, GREEN, GREY, GRID, ORANGE, PINK, TICKS
from .._pages import plain

_IN_THE_DARK = {
    BLUE: "#58b1e8",
    ORANGE: "#f28e4b",
    GREEN: "#3fc496",
    PINK: "#dd8fc0",
    BROWN: "#d0a13a",
    GREY: "#b4b4b4",
    BLACK: "#e8e8e8",
    GRID: "#33373c",
    EDGE: "#85898e",
    TICKS: "#c4c4c4",
}

STYLE = (
    "@media screen and (prefers-color-scheme: dark) { :root { "
    + " ".join(f"--dark-{light[1:]}: {dark};" for light, dark in _IN_THE_DARK.items())
    + " } }\n.card svg { display: block; width: 100%; height: auto; }"
    + " .card svg text { font-family: system-ui, sans-serif !important; }\n"
)
"""What a page with such pictures needs."""


def inline(svg: bytes, *, name: str, words: str) -> str:
    """A picture of matplotlib's as a part of a page.

    Parameters
    ----------
    svg : bytes
        The picture, in our colours.
    name : str
        Put before the ids, which must differ from those of the other pictures in the page.
    words : str
        What is to be seen, for those who cannot see it.

    Examples
    --------
    >>> inline(b'<svg width="9pt" viewBox="0 0 9 9"><path id="a" style="fill: #0072b2"/></svg>', name="x", words="<o>")
    '<svg viewBox="0 0 9 9" role="img" aria-label="&lt;o&gt;"><path id="x-a" style="fill: var(--dark-0072b2, #0072b2)" /></svg>'
    """  # noqa: E501  # the output of an example is what it is
    root = ElementTree.fromstring(svg)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    for parent in root.iter():
        # Who made it, in a vocabulary that is named by addresses.
        for child in [child for child in parent if child.tag.endswith("}metadata")]:
            parent.remove(child)
    for element in root.iter():
        # In a page the parser knows these names without their namespaces.
        element.tag = _bare(element.tag)
        element.attrib = {_bare(key): _adapted(_bare(key), value, name) for key, value in element.attrib.items()}
    drawn = ElementTree.tostring(root, encoding="unicode")
    return drawn.replace(">", f' role="img" aria-label="{plain(words)}">', 1)


def _bare(name: str) -> str:
    return name.rpartition("}")[2]


def _adapted(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    value = value.replace("url(#", f"url(#{name}-")
    if key in ("style", "fill", "stroke"):
        for light in _IN_THE_DARK:
            value = value.replace(light, f"var(--dark-{light[1:]}, {light})")
    return value
