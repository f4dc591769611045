"""The pictures of a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fitwithin import viz
from fitwithin.viz._fitted import Fitted, score_name
from fitwithin.viz._html import figure, plain
from fitwithin.viz._style import BLACK, BLUE, BROWN, EDGE, GREEN, GREY, GRID, ORANGE, PINK, TICKS, house_style, svg_of
from fitwithin.viz._time_spent import parts_of_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WIDTH = 5.2


_STYLE: dict[str, Any] = {
    # Text stays text: it can be searched and copied, and a browser has the signs that matplotlib's font lacks.
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "legend.edgecolor": "none",
    # Large enough for a phone, where a picture is as wide as the screen.
    "font.size": 11,
    "text.color": BLACK,
    "axes.labelcolor": BLACK,
}


@dataclass(frozen=True)
class Picture:
    """A picture to be drawn: how, how high, and what to say about it."""

    draw: Callable[[Any, Axes | None], Axes]
    height: float
    title: str
    caption: str
    words: str = ""


def pictures(estimator: Fitted) -> str:
    """All pictures of a fit, as HTML."""
    return f'<div class="pictures">{"".join(_drawn(estimator, one) for one in _wanted(estimator))}</div>'


def _wanted(estimator: Fitted) -> Iterator[Picture]:
    """The pictures that have something to show."""
    rounds = estimator.history_
    if any(one.estimate is not None for one in rounds):
        yield _learning_curve(estimator)
    largest, seconds = max(parts_of_time(estimator).items(), key=lambda part: part[1])
    yield Picture(
        viz.time_spent,
        2.6,
        "Where the time went",
        "Hand-over includes the start of a process. At the end a lesson may have been cut off by the deadline, and the "
        "model was brought back.",
        f"One bar; the largest part is {largest} with {seconds:.2f} s of {estimator.time_used_:.2f} s",
    )
    if rounds:
        yield Picture(
            viz.rows_taught,
            3.4,
            "What was taught",
            "Rows of each lesson. Mistakes are rows that the model before got wrong.",
            f"Rows of {len(rounds)} lessons; {estimator.n_rows_taught_:,} rows are behind the returned model",
        )
    if hasattr(estimator, "class_count_taught_"):
        yield _CLASSES_TAUGHT
    if any(one.predicted_fit is not None for one in rounds):
        yield _FIT_TIMES


_CLASSES_TAUGHT = Picture(
    viz.classes_taught,
    3.4,
    "Classes taught",
    "The share of each class in the pool, and among the rows behind the returned model.",
    "Shares of the classes in the pool and in the lesson",
)


_FIT_TIMES = Picture(
    viz.fit_times,
    3.6,
    "Predicted and real fit time",
    "Below the line a lesson was faster than the cost model expected from the lessons before it.",
    "Real against predicted seconds of the lessons",
)


def _learning_curve(estimator: Fitted) -> Picture:
    scores = [one.estimate for one in estimator.history_ if one.estimate is not None]
    diamond = "; the diamond is the score at the top of this page" if estimator.score_estimate_ is not None else ""
    return Picture(
        viz.learning_curve,
        3.6,
        "Score over time",
        "Each point is a model at the moment its score was known, with its 95 % interval. A filled one became the best "
        f"then{diamond}.",
        f"{score_name(estimator)} over time, from {scores[0]:.4f} to {scores[-1]:.4f}",
    )


def _drawn(estimator: Fitted, picture: Picture) -> str:
    from matplotlib.figure import Figure

    with house_style(**_STYLE), warnings.catch_warnings():
        # It is the browser that draws the text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        drawing = Figure(figsize=(_WIDTH, picture.height), layout="constrained")
        picture.draw(estimator, drawing.subplots())
        svg = svg_of(drawing)
    drawn = inline(svg, name=picture.draw.__name__, words=f"{picture.title}. {picture.words}.")
    return figure(drawn, title=picture.title, caption=f"{picture.title}. {picture.caption}")


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
