"""The `report` method of the estimators, and the sections of its page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from fitwithin._core.rounds import Round
from fitwithin.viz._fitted_estimator import check_fitted
from fitwithin.viz._fitted_search import is_search
from fitwithin.viz._history import first_and_last, history_columns
from fitwithin.viz._html import PageSection, html_table, make_scrollable, read_page_file, render_html_page, save_page
from fitwithin.viz._report.forecast_section import forecast_section
from fitwithin.viz._report.pictures import render_pictures
from fitwithin.viz._report.search_section import search_section
from fitwithin.viz._report.summary import facts_sections, summarize_fit
from fitwithin.viz._style import require_matplotlib

# A teacher of mini-batches may have thousands of rounds, and a page with all of them is slow to sort.
_MAX_ROUNDS_IN_REPORT = 1000


class ReportMixin:
    """The `report` method of `TimeConstrainedClassifier` and `TimeConstrainedRegressor`."""

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML report of the fit: score, time limit, pictures, rounds, settings, machine.

        The page needs no other file and no network. Writing it needs matplotlib, which is in the extra ``plots``.

        Parameters
        ----------
        path : str or path
            File to write, such as ``"report.html"``. An existing file is replaced once the page is complete.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ImportError
            If matplotlib is missing.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from fitwithin import TimeConstrainedClassifier
        >>> clf = TimeConstrainedClassifier(GaussianNB(), backend="inline", random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = clf.fit(*make_classification(5_000, random_state=0)).report(f"{folder}/report.html")
        ...     print(page.name, "The time limit was kept" in page.read_text(encoding="utf-8"))
        report.html True
        """
        page = Path(path)
        save_page(page, _render_report(self))
        return page


def _render_report(estimator: Any) -> str:
    check_fitted(estimator)
    require_matplotlib()
    title = f"{_learner_name(estimator.best_estimator_)}, fitted within {estimator.time_limit_:g} s"
    sections = [search_section(estimator)] if is_search(estimator) else []
    pictures = PageSection("Pictures", "The score, the time and the training rows.", render_pictures(estimator))
    sections += [pictures, _rounds_section(estimator.history_), forecast_section(estimator), *facts_sections(estimator)]
    style, script = read_page_file("report.css"), read_page_file("sort.js")
    return render_html_page(title, summarize_fit(estimator), sections, style=style, script=script)


def _learner_name(model: Any) -> str:
    """Return the name of the learner's class; for a pipeline, that of its last step."""
    return type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__


def _rounds_section(history: Sequence[Round]) -> PageSection:
    if not history:
        return PageSection("Rounds", "No round was finished.")
    introduction = "Every finished round, times in seconds. Click a heading to sort; point at it for its meaning."
    shown, n_omitted = first_and_last(history, _MAX_ROUNDS_IN_REPORT)
    if n_omitted:
        introduction += f" The table omits {n_omitted:,} of {len(history):,} rounds, in the middle."
    table = make_scrollable(html_table(history_columns(history), shown, sortable=True), "Rounds")
    return PageSection("Rounds", introduction, table + _score_note(history))


def _score_note(history: Sequence[Round]) -> str:
    """Return a note, as HTML, on how to read the scores of the rounds."""
    notes = []
    if any(finished.validation_rows for finished in history):
        notes.append(
            "The scores of the rounds come from the validation rows, which also chose the model. "
            "The estimate at the top comes from other rows."
        )
    if any(finished.is_biased for finished in history):
        notes.append("A score without validation rows is too high if some of its checked rows are not fresh.")
    return f'<p class="note">{" ".join(notes)}</p>' if notes else ""
