"""The finished rounds of a fit: a list, shown as a table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fitwithin._core.memory_limit import format_bytes
from fitwithin._core.rounds import Round
from fitwithin.viz._html import HtmlColumn, html_table

# Rows of the table in a notebook; more would push the next cell off the screen.
_MAX_ROUNDS_IN_NOTEBOOK = 20


class History(list[Round]):
    """The finished rounds of a fit: a plain list that a notebook shows as a table.

    Examples
    --------
    >>> history = History([])
    >>> history == []
    True
    >>> history._repr_html_()
    '<p>No round was finished.</p>'
    """

    def _repr_html_(self) -> str:
        """Return the rounds as an HTML table; a long history is cut in the middle."""
        if not self:
            return "<p>No round was finished.</p>"
        shown, n_omitted = first_and_last(self, _MAX_ROUNDS_IN_NOTEBOOK)
        best = max((finished.number for finished in self if finished.best), default=None)
        caption = f"{len(self)} rounds" if len(self) > 1 else "1 round"
        if n_omitted:
            caption += f", {n_omitted} in the middle not shown"
        if best is not None:
            caption += f"; the model of round {best} is the best"
        caption += "; times in seconds"
        return html_table(ROUND_COLUMNS, shown, caption=caption)


_format_count = "{:,.0f}".format
_format_score = "{:.4f}".format


def _format_seconds(value: float) -> str:
    """Write seconds with two decimals; a small value with one significant digit.

    Examples
    --------
    >>> _format_seconds(12.345), _format_seconds(0.00123), _format_seconds(0.0)
    ('12.35', '0.001', '0')
    """
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


ROUND_COLUMNS = (
    HtmlColumn("round", "number of the round, from 1", "number", _format_count),
    HtmlColumn("training rows", "rows that the model was fitted on", "rows", _format_count),
    HtmlColumn("new", "training rows that no earlier round used", "new_rows", _format_count),
    HtmlColumn("mistakes", "new training rows that the previous model got wrong", "new_mistakes", _format_count),
    HtmlColumn("checked rows", "rows on which the model's predictions were checked", "examined", _format_count),
    HtmlColumn("fresh", "checked rows that no earlier model was fitted or checked on", "fresh", _format_count),
    HtmlColumn("validation rows", "checked rows that are validation rows", "validation_rows", _format_count),
    HtmlColumn("score", "score on the validation rows, or without any on all checked rows", "estimate", _format_score),
    HtmlColumn("low", "lower end of the score's 95 % interval", "low", _format_score),
    HtmlColumn("high", "upper end of the score's 95 % interval", "high", _format_score),
    HtmlColumn("expected score", "score that was expected before the fit", "predicted_estimate", _format_score),
    HtmlColumn("candidate", "number of the candidate that was fitted", "candidate", _format_count),
    HtmlColumn("best", "whether the model became the best so far", "best", lambda value: "yes" if value else ""),
    HtmlColumn("elapsed", "seconds until the model became the best, or the round ended", "elapsed", _format_seconds),
    HtmlColumn("fit", "seconds to fit the model", "seconds_fit", _format_seconds),
    HtmlColumn("predicted fit", "seconds that the fit was expected to take", "predicted_fit", _format_seconds),
    HtmlColumn("set-up", "seconds of the fit until its first step, such as binning", "seconds_setup", _format_seconds),
    HtmlColumn("predicted set-up", "seconds that the set-up was expected to take", "predicted_setup", _format_seconds),
    HtmlColumn("predict", "seconds to predict the checked rows", "seconds_exam", _format_seconds),
    HtmlColumn("transfer", "seconds to bring rows to the learner", "seconds_handover", _format_seconds),
    HtmlColumn("choose rows", "seconds to choose the rows", "seconds_choose", _format_seconds),
    HtmlColumn("save model", "seconds to save the model", "seconds_model", _format_seconds),
    HtmlColumn("memory", "most memory of the learner's process and its children", "peak_memory", format_bytes),
)
"""The columns of the table of rounds."""


def first_and_last(rounds: Sequence[Round], n_shown: int) -> tuple[list[Mapping[str, Any]], int]:
    """Return the first and the last rounds as records, `n_shown` in all, and the number omitted between them.

    Examples
    --------
    >>> first_and_last([], 4)
    ([], 0)
    """
    n_omitted = max(0, len(rounds) - n_shown)
    n_first = n_shown // 2
    shown = [*rounds[:n_first], *rounds[n_first + n_omitted :]]
    return [vars(finished) for finished in shown], n_omitted
