"""The pictures of a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fitwithin import viz
from fitwithin.viz._fitted_estimator import FittedEstimator
from fitwithin.viz._fitted_search import is_search
from fitwithin.viz._html import html_figure
from fitwithin.viz._palette import INK
from fitwithin.viz._report.inline_svg import inline_svg
from fitwithin.viz._style import figure_to_svg, picture_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WIDTH_INCHES = 5.2


_REPORT_PICTURE_STYLE: dict[str, Any] = {
    # Text stays text: it can be searched and copied, and a browser has glyphs that matplotlib's font lacks.
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "legend.edgecolor": "none",
    # Large enough for a phone, where a picture is as wide as the screen.
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
}


@dataclass(frozen=True)
class ReportPicture:
    """A picture of a report: the function that draws it, its height, its title and a caption."""

    draw: Callable[[Any, Axes | None], Axes]
    height_inches: float
    title: str
    caption: str


_LEARNING_CURVE = ReportPicture(
    viz.learning_curve,
    3.6,
    "Score over time",
    "Each point is a model's score with its 95 % interval, at the time it was known. A filled point is a model that "
    "became the best. A square is the score that was expected before the fit. The diamond is the estimate at the top "
    "of this page.",
)
_TIME_SPENT = ReportPicture(
    viz.time_spent,
    2.6,
    "Where the time went",
    "The set-up of a fit is the time until its first step. Transfer includes the start of the learner's process. "
    "A fit without a model was ended by the deadline or the memory limit. After the last round the best model was "
    "loaded.",
)
_CLASS_SHARES = ReportPicture(
    viz.class_shares,
    3.4,
    "Class shares",
    "The share of each class in the data, and in the training rows of the returned model.",
)
_FIT_TIMES = ReportPicture(
    viz.fit_times,
    3.6,
    "Predicted and actual fit time",
    "Below the line a fit was faster than predicted from the fits before it. A square is the set-up of a fit, the time "
    "until its first step.",
)


def render_pictures(estimator: FittedEstimator) -> str:
    """Return all pictures of a fit as HTML."""
    pictures = "".join(render_picture(estimator, picture) for picture in _select_pictures(estimator))
    return f'<div class="pictures">{pictures}</div>'


def _select_pictures(estimator: FittedEstimator) -> Iterator[ReportPicture]:
    """Yield the pictures that have something to show; the scores of a search have a section of their own."""
    rounds = estimator.history_
    if not is_search(estimator) and any(finished.estimate is not None for finished in rounds):
        yield _LEARNING_CURVE
    yield _TIME_SPENT
    if hasattr(estimator, "class_count_trained_"):
        yield _CLASS_SHARES
    if any(finished.predicted_fit is not None for finished in rounds):
        yield _FIT_TIMES


def render_picture(estimator: FittedEstimator, picture: ReportPicture) -> str:
    """Return a picture of a fit, with its caption, as HTML."""
    from matplotlib.figure import Figure

    with picture_style(**_REPORT_PICTURE_STYLE), warnings.catch_warnings():
        # The browser draws the text, with fonts of its own.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(_WIDTH_INCHES, picture.height_inches), layout="constrained")
        picture.draw(estimator, figure.subplots())
        svg = figure_to_svg(figure)
    caption = f"{picture.title}. {picture.caption}"
    element = inline_svg(svg, id_prefix=picture.draw.__name__, description=caption)
    return html_figure(element, title=picture.title, caption=caption)
