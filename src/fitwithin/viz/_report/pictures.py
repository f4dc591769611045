"""The pictures of a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fitwithin import viz
from fitwithin.viz._fitted_estimator import FittedEstimator, score_name
from fitwithin.viz._fitted_search import is_search
from fitwithin.viz._html import html_figure
from fitwithin.viz._palette import INK
from fitwithin.viz._report.inline_svg import inline_svg
from fitwithin.viz._style import figure_to_svg, picture_style
from fitwithin.viz._time_spent import seconds_by_activity

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


PICTURES_CSS = """
.card svg { display: block; width: 100%; height: auto; }
.card svg text { font-family: system-ui, sans-serif !important; }
"""


@dataclass(frozen=True)
class ReportPicture:
    """A picture of a report: the function that draws it, its height, and the texts about it."""

    draw: Callable[[Any, Axes | None], Axes]
    height_inches: float
    title: str
    caption: str
    description: str


def render_pictures(estimator: FittedEstimator) -> str:
    """Return all pictures of a fit as HTML."""
    pictures = "".join(render_picture(estimator, picture) for picture in _select_pictures(estimator))
    return f'<div class="pictures">{pictures}</div>'


def _select_pictures(estimator: FittedEstimator) -> Iterator[ReportPicture]:
    """Yield the pictures that have something to show; the scores of a search have a section of their own."""
    rounds = estimator.history_
    if not is_search(estimator) and any(finished.estimate is not None for finished in rounds):
        yield _learning_curve_picture(estimator)
    yield _time_spent_picture(estimator)
    if hasattr(estimator, "class_count_trained_"):
        yield _CLASS_SHARES
    if any(finished.predicted_fit is not None for finished in rounds):
        yield _fit_times_picture(estimator)


def _learning_curve_picture(estimator: FittedEstimator) -> ReportPicture:
    has_expected = any(finished.predicted_estimate is not None for finished in estimator.history_)
    expected = " A square is the score that was expected before the fit." if has_expected else ""
    scores = [finished.estimate for finished in estimator.history_ if finished.estimate is not None]
    diamond = " The diamond is the estimate at the top of this page." if estimator.score_estimate_ is not None else ""
    return ReportPicture(
        viz.learning_curve,
        3.6,
        "Score over time",
        "Each point is a model's score with its 95 % interval, at the time it was known. "
        f"A filled point is a model that became the best.{expected}{diamond}",
        f"{score_name(estimator)} over time, from {scores[0]:.4f} to {scores[-1]:.4f}",
    )


_SETUP_CAPTION = "The set-up of a fit is the time until its first step. "
_WITHOUT_MODEL_CAPTION = "A fit without a model was ended by the deadline or the memory limit. "


def _time_spent_picture(estimator: FittedEstimator) -> ReportPicture:
    parts = seconds_by_activity(estimator)
    activity, seconds = max(parts.items(), key=lambda item: item[1])
    return ReportPicture(
        viz.time_spent,
        2.6,
        "Where the time went",
        f"{_SETUP_CAPTION if 'set-up of fits' in parts else ''}Transfer includes the start of the learner's process. "
        f"{_WITHOUT_MODEL_CAPTION if 'fits without a model' in parts else ''}After the last round the best model was "
        "loaded.",
        f"One bar; the largest part is {activity} with {seconds:.2f} s of {estimator.time_used_:.2f} s",
    )


_CLASS_SHARES = ReportPicture(
    viz.class_shares,
    3.4,
    "Class shares",
    "The share of each class in the data, and in the training rows of the returned model.",
    "Shares of the classes in the data and in the training rows",
)


def _fit_times_picture(estimator: FittedEstimator) -> ReportPicture:
    has_setup = any(
        finished.predicted_setup is not None and finished.seconds_setup is not None for finished in estimator.history_
    )
    return ReportPicture(
        viz.fit_times,
        3.6,
        "Predicted and actual fit time",
        "Below the line a fit was faster than predicted from the fits before it."
        + (" A square is the set-up of a fit, the time until its first step." if has_setup else ""),
        "Actual against predicted seconds of the fits",
    )


def render_picture(estimator: FittedEstimator, picture: ReportPicture) -> str:
    """Return a picture of a fit, with its caption, as HTML."""
    from matplotlib.figure import Figure

    with picture_style(**_REPORT_PICTURE_STYLE), warnings.catch_warnings():
        # The browser draws the text, with fonts of its own.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(_WIDTH_INCHES, picture.height_inches), layout="constrained")
        picture.draw(estimator, figure.subplots())
        svg = figure_to_svg(figure)
    description = f"{picture.title}. {picture.description}."
    element = inline_svg(svg, id_prefix=picture.draw.__name__, description=description)
    return html_figure(element, title=picture.title, caption=f"{picture.title}. {picture.caption}")
