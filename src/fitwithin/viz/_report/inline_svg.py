"""SVG files of matplotlib as elements of an HTML page."""

from __future__ import annotations

from xml.etree import ElementTree

from fitwithin.viz._html import escape_text
from fitwithin.viz._palette import colours_to_css_variables


def inline_svg(svg: bytes, *, id_prefix: str, description: str) -> str:
    """Return a picture of matplotlib as an SVG element of a page, in the colours of the page.

    Parameters
    ----------
    svg : bytes
        The picture, in the light colours of the palette.
    id_prefix : str
        Prefix of every id, so that the ids of two pictures in a page differ.
    description : str
        Description for readers who cannot see the picture.

    Examples
    --------
    >>> svg = b'<svg width="9pt" viewBox="0 0 9 9"><path id="a" style="fill: #0072b2"/></svg>'
    >>> inline_svg(svg, id_prefix="x", description="<o>")
    '<svg viewBox="0 0 9 9" role="img" aria-label="&lt;o&gt;"><path id="x-a" style="fill: var(--blue)" /></svg>'
    """
    root = ElementTree.fromstring(svg)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    for parent in root.iter():
        # The metadata holds web addresses, and a report refers to none.
        for child in [child for child in parent if child.tag.endswith("}metadata")]:
            parent.remove(child)
    for element in root.iter():
        # An HTML parser knows the names of SVG without namespaces.
        element.tag = _remove_namespace(element.tag)
        attributes = {_remove_namespace(name): value for name, value in element.attrib.items()}
        element.attrib = {name: _adapt_attribute(name, value, id_prefix) for name, value in attributes.items()}
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(">", f' role="img" aria-label="{escape_text(description)}">', 1)


def _remove_namespace(name: str) -> str:
    return name.rpartition("}")[2]


def _adapt_attribute(name: str, value: str, id_prefix: str) -> str:
    if name == "id":
        return f"{id_prefix}-{value}"
    if name == "href":
        return value.replace("#", f"#{id_prefix}-", 1)
    value = value.replace("url(#", f"url(#{id_prefix}-")
    return colours_to_css_variables(value) if name in ("style", "fill", "stroke") else value
