"""Every finished round: a list, and a table where a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fitwithin._core.records import Round
from fitwithin.viz._html import Column, table

_SHOWN = 20


class History(list[Round]):
    """The rounds of a session: a list in every respect, and in a notebook a table.

    Examples
    --------
    >>> history = History([])
    >>> history == []
    True
    >>> history._repr_html_()
    '<p>No round was finished.</p>'
    """

    def _repr_html_(self) -> str:
        """The rounds as HTML; of many the first and the last."""
        if not self:
            return "<p>No round was finished.</p>"
        shown, left_out = ends(self, _SHOWN)
        best = max((one.number for one in self if one.best), default=None)
        words = f"{len(self)} rounds" if len(self) > 1 else "1 round"
        if left_out:
            words += f", {left_out} between the first and the last of them not shown"
        if best is not None:
            words += f"; the model of round {best} is the best"
        words += "; times in seconds"
        return table(COLUMNS, shown, caption=words)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _score(value: float) -> str:
    return f"{value:.4f}"


def _seconds(value: float) -> str:
    """Two decimals, or as many as it takes for a first figure.

    Examples
    --------
    >>> _seconds(12.345), _seconds(0.00123), _seconds(0.0)
    ('12.35', '0.001', '0')
    """
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def _best(value: float) -> str:
    return "yes" if value else ""


COLUMNS: tuple[Column[Round], ...] = tuple(
    Column(heading, meaning, attrgetter(field), write)
    for field, heading, meaning, write in (
        ("number", "round", "1 for the first", _count),
        ("rows", "rows", "rows of the lesson", _count),
        ("new_rows", "new", "rows that no earlier lesson held", _count),
        ("new_mistakes", "mistakes", "new rows that the model before this one got wrong", _count),
        ("examined", "examined", "rows that this model was examined on", _count),
        ("fresh", "fresh", "examined rows that were never taught and never examined before", _count),
        ("validation_rows", "validation", "examined rows that are validation rows, the same for every model", _count),
        ("estimate", "score", "over the validation rows, or without any over all examined rows", _score),
        ("low", "from", "lower end of the 95 % interval of the score", _score),
        ("high", "to", "upper end of the 95 % interval of the score", _score),
        ("best", "best", "whether this model became the one to be returned", _best),
        ("elapsed", "at", "seconds since the start when the model became the best, or the round was over", _seconds),
        ("seconds_fit", "fit", "seconds of training", _seconds),
        ("predicted_fit", "predicted", "seconds that training was expected to take", _seconds),
        ("seconds_exam", "exam", "seconds of classifying", _seconds),
        ("seconds_handover", "hand-over", "seconds of bringing rows to the learner", _seconds),
        ("seconds_choose", "choosing", "seconds of the teacher's own choosing of rows", _seconds),
        ("seconds_model", "storing", "seconds of storing the model", _seconds),
    )
)
"""What is shown of a round."""


def ends(rounds: Sequence[Round], most: int) -> tuple[Sequence[Round], int]:
    """The rounds, or of more than so many the first and the last, and how many are left out between them.

    Examples
    --------
    >>> ends("abcdefg", 4)
    (['a', 'b', 'f', 'g'], 3)
    """
    left_out = len(rounds) - most
    if left_out <= 0:
        return rounds, 0
    return [*rounds[: most // 2], *rounds[-(most - most // 2) :]], left_out
