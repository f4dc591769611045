"""The report, written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitwithin._core.environment import Environment
from fitwithin._core.records import Round
from fitwithin.viz._fitted import check_fitted
from fitwithin.viz._history import COLUMNS, ends
from fitwithin.viz._html import SORTING, Part, render_page, scrolling, table, write_whole
from fitwithin.viz._report.figures import STYLE, pictures
from fitwithin.viz._report.summary import answer, data, facts, machine, settings, versions
from fitwithin.viz._style import require_matplotlib

# A teacher of mini-batches may have thousands of rounds, and a page with all of them is slow to sort.
_MOST_ROUNDS = 1000


_SORTABLE = """
.sortable td, .sortable th { text-align: right; white-space: nowrap; }
.sortable :is(td, th):first-child { position: sticky; left: 0; background: var(--paper); }
.sortable button { all: unset; cursor: pointer; font-weight: 600; }
.sortable button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.sortable button::after { content: "\\2195"; color: var(--quiet); opacity: .55; padding-left: .2em; font-weight: 400; }
[aria-sort] button::after { color: var(--link); opacity: 1; }
[aria-sort="ascending"] button::after { content: "\\2191"; }
[aria-sort="descending"] button::after { content: "\\2193"; }
.facts td { overflow-wrap: anywhere; white-space: pre-wrap; } .facts th { color: var(--quiet); white-space: nowrap; }
@media print { .sortable { font-size: 6.5pt; } .sortable th, .sortable td { padding: .15rem .25rem; }
  .sortable button::after { content: ""; padding: 0; } }
"""


class Reporting:
    """What can be reported about: a fitted `TimeConstrainedClassifier` or `TimeConstrainedRegressor`."""

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one page about the fit: score, limit, pictures, rounds, settings, machine.

        The page holds everything it needs, and opens without a network. It takes matplotlib:
        ``pip install 'fitwithin[plots]'``.

        Parameters
        ----------
        path : str or path
            Of the page, such as ``"report.html"``. A file that is there is replaced, by the whole page or not at all.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ImportError
            Without matplotlib.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from fitwithin import TimeConstrainedClassifier
        >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = clf.fit(*make_classification(5_000, random_state=0)).report(f"{folder}/report.html")
        ...     print(page.name, "The limit was kept" in page.read_text(encoding="utf-8"))
        report.html True
        """
        page = Path(path)
        write_whole(page, _text(self))
        return page


def _text(estimator: Any) -> str:
    check_fitted(estimator)
    require_matplotlib()
    title = f"{_name(estimator.best_estimator_)}, fitted within {estimator.time_limit_:g} s"
    return render_page(title, answer(estimator), _parts(estimator), style=STYLE + _SORTABLE, script=SORTING)


def _name(model: Any) -> str:
    """The learner's name; a pipeline is known by its last step."""
    steps = getattr(model, "steps", None)
    return type(steps[-1][1] if steps else model).__name__


def _note(history: Sequence[Round]) -> str:
    """How the scores of the rounds are to be read."""
    notes = []
    if any(finished.validation_rows for finished in history):
        notes.append(
            "Scores of rounds come from the validation rows, which chose the model; the score at the top does not."
        )
    if any(finished.is_flattered for finished in history):
        notes.append("A score without validation rows is too high where fewer rows are fresh than were examined.")
    return f'<p class="note">{" ".join(notes)}</p>' if notes else ""


def _parts(estimator: Any) -> list[Part]:
    here = Environment.current()
    shown, left_out = ends(estimator.history_, _MOST_ROUNDS)
    words = "Every finished round, times in seconds. Click a heading to sort; point at it to see what it means."
    if left_out:
        words += f" Of {len(estimator.history_):,} rounds the first and the last are shown, {left_out:,} are left out."
    if not shown:
        words = "No round was finished."
    rounds = scrolling(table(COLUMNS, shown, sortable=True), "Rounds") + _note(estimator.history_) if shown else ""
    settled = facts("Settings", settings(estimator)) + facts("Data", data(estimator))
    where = facts("Environment", machine(here)) + facts("Versions", versions(here, estimator.best_estimator_))
    return [
        Part("Pictures", "How the score grew, where the time went, and what was taught.", pictures(estimator)),
        Part("Rounds", words, rounds),
        Part("Settings and data", "What the fit was asked to do.", settled),
        Part("Environment and versions", "Where this page was written, and with what.", where),
    ]
