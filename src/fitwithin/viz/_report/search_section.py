"""The section of a report about a search: the race, the best hyperparameters, and which of them mattered."""

from __future__ import annotations

import numpy as np

from fitwithin import viz
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.viz._fitted import FittedSearch, list_failed, score_name
from fitwithin.viz._html import HtmlColumn, PageSection, escape_text, html_table, make_scrollable
from fitwithin.viz._report.pictures import render_picture
from fitwithin.viz._search_pictures import find_setting_effects

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
