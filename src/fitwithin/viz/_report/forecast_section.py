"""The section of a report about other time limits."""

from __future__ import annotations

from typing import Any

from fitwithin._core.forecast import Forecast
from fitwithin.viz._fitted_estimator import score_name
from fitwithin.viz._html import HtmlColumn, PageSection, html_table, make_scrollable

# Other limits, as multiples of that of the fit.
_FACTORS = (0.5, 2, 4, 16)


def forecast_section(estimator: Any) -> PageSection:
    """Return the section about what other time limits should buy."""
    title = "Other time limits"
    try:
        forecasts = estimator.forecast([factor * estimator.time_limit_ for factor in _FACTORS])
    except ValueError as error:
        return PageSection(title, str(error))
    name = score_name(estimator)
    columns: list[HtmlColumn[Forecast]] = [
        HtmlColumn("limit, s", "time limit in seconds", lambda one: one.time_limit, "{:g}".format),
        HtmlColumn("rows", "training rows of the returned model", lambda one: one.rows, "{:,}".format),
        HtmlColumn(name, "expected score", lambda one: one.score, "{:.4f}".format),
        HtmlColumn("from", "lower end of the 90 % interval", lambda one: one.low, "{:.4f}".format),
        HtmlColumn("to", "upper end of the 90 % interval", lambda one: one.high, "{:.4f}".format),
    ]
    every_row = forecasts[0].seconds_every_row
    introduction = (
        "What the default teacher should reach with other time limits, from the costs and the scores of this fit. "
        f"One fit on every row should take {every_row:.3g} s."
    )
    if hasattr(estimator, "best_params_"):
        introduction += " The forecast is for the best learner with its hyperparameters, without a search."
    return PageSection(title, introduction, make_scrollable(html_table(columns, forecasts), title))
