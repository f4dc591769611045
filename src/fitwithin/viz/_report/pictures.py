"""The pictures of a report, as SVG elements of its page."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fitwithin import viz
from fitwithin.viz._fitted import FittedEstimator, is_search
from fitwithin.viz._html import escape_text, html_figure
from fitwithin.viz._style import INK, colours_to_css_variables, figure_to_svg, picture_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WIDTH_INCHES = 5.2


_REPORT_PICTURE_STYLE: dict[str, Any] = {
    # Text stays text: it can be searched and copied, and a browser has glyphs that matplotlib's font lacks.
    "svg.fonttype": "none",
    "savefig.transparent": True,
    # Large enough for a phone, where a picture is as wide as the screen.
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
}


def render_pictures(estimator: FittedEstimator) -> str:
    """Return the pictures of a fit that have something to show, as HTML."""
    rounds, pictures = estimator.history_, ""
    # The scores of a search have a section of their own.
    if not is_search(estimator) and any(finished.estimate is not None for finished in rounds):
        caption = (
            "Each point is a model's score with its 95 % interval, at the time it was known. A filled point is a model "
            "that became the best. A square is the score that was expected before the fit. The diamond is the estimate "
            "at the top of this page."
        )
        pictures += render_picture(estimator, viz.learning_curve, 3.6, "Score over time", caption)
    caption = (
        "The set-up of a fit is the time until its first step. Transfer includes the start of the learner's process. "
        "A fit without a model was ended by the deadline or the memory limit. After the last round the best model was "
        "loaded. Seconds of learners that work at the same time are added up."
    )
    pictures += render_picture(estimator, viz.time_spent, 2.6, "Where the time went", caption)
    if hasattr(estimator, "class_count_trained_"):
        caption = "The share of each class in the data, and in the training rows of the returned model."
        pictures += render_picture(estimator, viz.class_shares, 3.4, "Class shares", caption)
    if any(finished.predicted_fit is not None for finished in rounds):
        caption = (
            "Below the line a fit was faster than predicted from the fits before it. A square is the set-up of a fit, "
            "the time until its first step."
        )
        pictures += render_picture(estimator, viz.fit_times, 3.6, "Predicted and actual fit time", caption)
    return f'<div class="pictures">{pictures}</div>'


def render_picture(
    estimator: FittedEstimator, draw: Callable[[Any, Axes], Axes], height_inches: float, title: str, caption: str
) -> str:
    """Return a picture of a fit, with its caption, as HTML."""
    with picture_style(**_REPORT_PICTURE_STYLE), warnings.catch_warnings():
        from matplotlib.figure import Figure

        # The browser draws the text, with fonts of its own.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(_WIDTH_INCHES, height_inches), layout="constrained")
        draw(estimator, figure.subplots())
        svg = figure_to_svg(figure, id_salt=draw.__name__)
    caption = f"{title}. {caption}"
    return html_figure(_inline_svg(svg, caption), title=title, caption=caption)


def _inline_svg(svg: bytes, description: str) -> str:
    """Return an SVG file of matplotlib as an element of a page, in the colours of the page.

    Examples
    --------
    >>> svg = b'<svg width="9pt" viewBox="0 0 9 9"><g id="a" style="fill: #0072b2"/></svg>'
    >>> _inline_svg(svg, "<o>")
    '<svg viewBox="0 0 9 9" role="img" aria-label="&lt;o&gt;"><g style="fill: var(--blue)" /></svg>'
    """
    root = ElementTree.fromstring(svg)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    for metadata in root.findall("{*}metadata"):
        # It holds web addresses, and a report refers to none.
        root.remove(metadata)
    for element in root.iter():
        # An HTML parser knows the names of SVG without namespaces.
        element.tag = element.tag.rpartition("}")[2]
        # Groups have the same ids in every picture, and nothing refers to them.
        element.attrib = {
            name.rpartition("}")[2]: colours_to_css_variables(value)
            for name, value in element.items()
            if (element.tag, name) != ("g", "id")
        }
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(">", f' role="img" aria-label="{escape_text(description)}">', 1)
