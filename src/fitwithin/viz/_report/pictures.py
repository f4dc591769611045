"""The pictures of a report, as SVG elements of its page, and its section about a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from fitwithin import viz
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.viz._fitted import FittedEstimator, FittedSearch, is_search, list_failed, score_name
from fitwithin.viz._html import HtmlColumn, PageSection, escape_text, html_figure, html_table, make_scrollable
from fitwithin.viz._search_pictures import find_setting_effects
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


# Rows of the table of candidates.
_MAX_SETTINGS = 10
# Failed candidates whose reasons are listed.
_MAX_FAILED = 5
# Inches of a picture for its axes and its legend, and for each bar.
_HEIGHT_WITHOUT_BARS, _HEIGHT_OF_BAR = 1.4, 0.4


def search_section(search: FittedSearch) -> PageSection:
    """Return the section about a search."""
    introduction = (
        "A candidate is a learner with its hyperparameters. Candidates were tried on small subsets of the training "
        "rows, the better ones on larger subsets, all on the same validation rows."
    )
    caption = (
        "Each point is a fit; the larger it is, the more training rows it had. A line joins the fits of one candidate. "
        "After a hollow point the candidate was dropped. Green is the candidate that is returned."
    )
    pictures = render_picture(search, viz.plot_race, 4.6, "The race", caption) + _settings_picture(search)
    body = f'<div class="pictures">{pictures}</div>{_settings_table(search)}{_failed_list(search)}'
    return PageSection("Search", introduction, body)


def _settings_picture(search: FittedSearch) -> str:
    effects = find_setting_effects(search)
    if not effects:
        return ""
    subsets = {effect.learner: f"{effect.learner} on {effect.n_rows:,} rows" for effect in effects}
    caption = (
        "Spearman's rank correlation of each number with the score, among the n candidates that were tried on one "
        f"subset ({', '.join(subsets.values())}). At 1, higher values always had higher scores; at -1, lower ones. "
        "Chance alone gives a grey bar in more than 5 % of cases. The search stays near good hyperparameters, so this "
        "describes what was tried, not all that is possible."
    )
    height = _HEIGHT_WITHOUT_BARS + _HEIGHT_OF_BAR * len(effects)
    return render_picture(search, viz.plot_settings, height, "Which hyperparameters mattered", caption)


def _settings_table(search: FittedSearch) -> str:
    """Return a table of the best candidates, as HTML."""
    results = search.cv_results_
    order = np.argsort(results["rank_test_score"], kind="stable")
    shown = [number for number in order if np.isfinite(results["mean_test_score"][number])][:_MAX_SETTINGS]
    if not shown:
        return ""
    columns = [
        HtmlColumn(heading, heading, key, format_value)
        for heading, key, format_value in (
            ("learner", "estimator", str),
            ("hyperparameters", "params", describe_settings),
            (score_name(search), "mean_test_score", "{:.4f}".format),
            ("training rows", "n_rows", "{:,}".format),
            ("seconds", "seconds", "{:.2f}".format),
            ("candidate", "candidate", str),
        )
    ]
    records = [{"candidate": number} | {name: values[number] for name, values in results.items()} for number in shown]
    table = f'<div class="settings">{html_table(columns, records)}</div>'
    count = "The best candidates" if len(shown) < _MAX_SETTINGS else f"The best {_MAX_SETTINGS} candidates"
    note = (
        "The first one is returned; then those tried on more rows come first. Scores are those of the last fit, on the "
        "validation rows, and seconds are those of all fits of a candidate."
    )
    return f'<h3>{count}</h3>{make_scrollable(table, count)}<p class="note">{note}</p>'


def _failed_list(search: FittedSearch) -> str:
    """Return the first candidates that failed, with the reasons, as an HTML list; nothing if none did."""
    names, settings, reasons = (search.cv_results_[key] for key in ("estimator", "params", "ended"))
    failed = list_failed(search)
    lines = [f"{names[number]}, {describe_settings(settings[number])}: {reasons[number]}" for number in failed]
    if not lines:
        return ""
    more = [f"and {len(lines) - _MAX_FAILED:,} more"] if len(lines) > _MAX_FAILED else []
    items = "".join(f"<li>{escape_text(line)}</li>" for line in lines[:_MAX_FAILED] + more)
    return f"<h3>Candidates that failed</h3><ul>{items}</ul>"
