"""Every finished round: a list, and a table where a notebook shows it."""

from __future__ import annotations

from ._messages import Round
from ._pages import table
from ._rounds import COLUMNS, ends

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
