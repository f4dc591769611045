"""The finished rounds of a fit: a list, shown as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

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
        return html_table(history_columns(self), shown, caption=caption)


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


def _format_best(value: float) -> str:
    return "yes" if value else ""


_COLUMNS: list[HtmlColumn[Round]] = [
    HtmlColumn(heading, meaning, attrgetter(field), format_value)
    for field, heading, meaning, format_value in (
        ("number", "round", "number of the round, from 1", _format_count),
        ("rows", "training rows", "rows that the model was fitted on", _format_count),
        ("new_rows", "new", "training rows that no earlier round used", _format_count),
        ("new_mistakes", "mistakes", "new training rows that the previous model got wrong", _format_count),
        ("examined", "checked rows", "rows on which the model's predictions were checked", _format_count),
        ("fresh", "fresh", "checked rows that no earlier model was fitted or checked on", _format_count),
        ("validation_rows", "validation rows", "checked rows that are validation rows", _format_count),
        ("estimate", "score", "score on the validation rows, or without any on all checked rows", _format_score),
        ("low", "low", "lower end of the score's 95 % interval", _format_score),
        ("high", "high", "upper end of the score's 95 % interval", _format_score),
        ("predicted_estimate", "expected score", "score that was expected before the fit", _format_score),
        ("candidate", "candidate", "number of the settings that were fitted", _format_count),
        ("best", "best", "whether the model became the best so far", _format_best),
        (
            "elapsed",
            "elapsed",
            "seconds from the start of fit until the model became the best, or until the round ended",
            _format_seconds,
        ),
        ("seconds_fit", "fit", "seconds to fit the model", _format_seconds),
        ("predicted_fit", "predicted fit", "seconds that the fit was expected to take", _format_seconds),
        ("seconds_setup", "set-up", "seconds of the fit until its first step, such as binning", _format_seconds),
        ("predicted_setup", "predicted set-up", "seconds that the set-up was expected to take", _format_seconds),
        ("seconds_exam", "predict", "seconds to predict the checked rows", _format_seconds),
        ("seconds_handover", "transfer", "seconds to bring rows to the learner", _format_seconds),
        ("seconds_choose", "choose rows", "seconds to choose the rows", _format_seconds),
        ("seconds_model", "save model", "seconds to save the model", _format_seconds),
        ("peak_memory", "memory", "most memory of the learner's process and its children", format_bytes),
    )
]


def history_columns(rounds: Sequence[Round]) -> list[HtmlColumn[Round]]:
    """Return the columns of the table of rounds, without those that no round has a value for.

    Examples
    --------
    >>> history_columns([])
    []
    """
    return [column for column in _COLUMNS if any(column.get_value(finished) is not None for finished in rounds)]


def first_and_last(rounds: Sequence[Round], n_shown: int) -> tuple[Sequence[Round], int]:
    """Return the first and the last rounds, `n_shown` in all, and the number omitted between them.

    Examples
    --------
    >>> first_and_last("abcdefg", 4)
    (['a', 'b', 'f', 'g'], 3)
    """
    n_omitted = len(rounds) - n_shown
    if n_omitted <= 0:
        return rounds, 0
    return [*rounds[: n_shown // 2], *rounds[-(n_shown - n_shown // 2) :]], n_omitted
