"""The section of a report about a search: the race, the best hyperparameters, and which of them mattered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from fitwithin import viz
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.viz._fitted_estimator import score_name
from fitwithin.viz._fitted_search import FittedSearch, describe_candidate, list_failed
from fitwithin.viz._html import HtmlColumn, PageSection, escape_text, html_table, make_scrollable
from fitwithin.viz._report.pictures import ReportPicture, render_picture
from fitwithin.viz._setting_effects import SettingEffect, find_setting_effects

# Rows of the table of settings.
_MAX_SETTINGS = 10
# Failed candidates whose reasons are listed.
_MAX_FAILED = 5
# Inches of a picture for its axes and its legend, and for each bar.
_HEIGHT_WITHOUT_BARS, _HEIGHT_OF_BAR = 1.4, 0.42
_MAX_BARS_HEIGHT = 6.0


def search_section(search: FittedSearch) -> PageSection:
    """Return the section about a search."""
    effects = find_setting_effects(search)
    pictures = [_RACE] + ([_settings_picture(effects)] if effects else [])
    rendered = "".join(render_picture(search, picture) for picture in pictures)
    introduction = (
        "A candidate is a learner with its settings. Candidates were tried on small subsets of the training rows, the "
        "better ones on larger subsets, all on the same validation rows."
    )
    body = (
        f'<div class="pictures">{rendered}</div>{_settings_table(search)}{_vote_note(search)}{_failures_note(search)}'
    )
    return PageSection("Search", introduction, body)


_RACE = ReportPicture(
    viz.plot_race,
    4.6,
    "The race",
    "Each point is a fit; the larger it is, the more training rows it had. A line joins the fits of one candidate. "
    "After a hollow point the candidate was dropped. Green is the candidate that is returned.",
)


def _settings_picture(effects: Sequence[SettingEffect]) -> ReportPicture:
    subsets = {effect.learner: f"{effect.learner} on {effect.n_rows:,} rows" for effect in effects}
    return ReportPicture(
        viz.plot_settings,
        min(_HEIGHT_WITHOUT_BARS + _HEIGHT_OF_BAR * len(effects), _MAX_BARS_HEIGHT),
        "Which hyperparameters mattered",
        "Spearman's rank correlation of each number with the score, among the n candidates that were tried on one "
        f"subset ({', '.join(subsets.values())}). At 1, higher values always had higher scores; at -1, lower ones. "
        "Chance alone gives a grey bar in more than 5 % of cases. The search stays near good hyperparameters, so this "
        "describes what was tried, not all that is possible.",
    )


def _settings_table(search: FittedSearch) -> str:
    """Return a table of the best candidates, as HTML."""
    results = search.cv_results_
    order = np.argsort(results["rank_test_score"], kind="stable")
    shown = [number for number in order if np.isfinite(results["mean_test_score"][number])][:_MAX_SETTINGS]
    if not shown:
        return ""
    columns = [
        _settings_column("learner", "estimator", str),
        _settings_column("settings", "params", describe_settings),
        _settings_column(score_name(search), "mean_test_score", "{:.4f}".format),
        _settings_column("training rows", "n_rows", "{:,}".format),
        _settings_column("seconds", "seconds", "{:.2f}".format),
        _settings_column("candidate", "candidate", str),
    ]
    records = [{"candidate": number} | {name: values[number] for name, values in results.items()} for number in shown]
    table = f'<div class="settings">{html_table(columns, records)}</div>'
    count = "The best candidates" if len(shown) < _MAX_SETTINGS else f"The best {_MAX_SETTINGS} candidates"
    note = (
        "The first one is returned; then those tried on more rows come first. Scores are those of the last fit, on the "
        "validation rows, and seconds are those of all fits of a candidate."
    )
    return f'<h3>{count}</h3>{make_scrollable(table, count)}<p class="note">{note}</p>'


def _settings_column(heading: str, key: str, format_value: Callable[[Any], str]) -> HtmlColumn[Mapping[str, Any]]:
    return HtmlColumn(heading, heading, itemgetter(key), format_value)


def _vote_note(search: FittedSearch) -> str:
    """Return the members of a vote and their weights, as HTML."""
    weights = getattr(search, "ensemble_", {})
    total = sum(weights.values())
    return _html_list(
        "The vote",
        [f"{describe_candidate(search, number)}: {weight} of {total} votes" for number, weight in weights.items()],
    )


def _failures_note(search: FittedSearch) -> str:
    """Return the reasons of candidates that failed, as HTML."""
    failed, reasons = list_failed(search), search.cv_results_["ended"]
    lines = [f"{describe_candidate(search, number)}: {reasons[number]}" for number in failed[:_MAX_FAILED]]
    more = [f"and {len(failed) - _MAX_FAILED:,} more"] if len(failed) > _MAX_FAILED else []
    return _html_list("Candidates that failed", lines + more)


def _html_list(heading: str, lines: Sequence[str]) -> str:
    """Return a heading and a list as HTML; nothing for an empty list."""
    items = "".join(f"<li>{escape_text(line)}</li>" for line in lines)
    return f"<h3>{heading}</h3><ul>{items}</ul>" if lines else ""
