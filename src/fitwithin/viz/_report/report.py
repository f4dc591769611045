"""The `report` method of the estimators, and the sections of its page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.rounds import Round
from fitwithin.backends._early_stopping.registry import find_inner_learner
from fitwithin.viz._fitted import check_fitted, is_search, score_name
from fitwithin.viz._history import ROUND_COLUMNS, first_and_last
from fitwithin.viz._html import HtmlColumn, PageSection, html_table, make_scrollable, read_page_file, render_html_page
from fitwithin.viz._report.pictures import render_pictures
from fitwithin.viz._report.search_section import search_section
from fitwithin.viz._report.summary import facts_sections, summarize_fit

# A teacher of mini-batches may have thousands of rounds, and a page with all of them is slow to sort.
_MAX_ROUNDS_IN_REPORT = 1000
# Other limits of the forecast, as multiples of that of the fit.
_LIMIT_FACTORS = (0.5, 2, 4, 16)


class ReportMixin:
    """The `report` method of `TimeConstrainedClassifier` and `TimeConstrainedRegressor`."""

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML report of the fit: score, time limit, pictures, rounds, parameters, machine.

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
        ...     print(page.name, "of 60 s" in page.read_text(encoding="utf-8"))
        report.html True
        """
        page = _render_report(self)
        with atomic_write(Path(path)) as temporary_path:
            temporary_path.write_text(page, encoding="utf-8", newline="\n")
        return Path(path)


def _render_report(estimator: Any) -> str:
    check_fitted(estimator)
    title = f"{type(find_inner_learner(estimator.best_estimator_)).__name__}, fitted within {estimator.time_limit_:g} s"
    sections = [
        *([search_section(estimator)] if is_search(estimator) else []),
        PageSection("Pictures", "The score, the time and the training rows.", render_pictures(estimator)),
        _rounds_section(estimator.history_),
        _forecast_section(estimator),
        *facts_sections(estimator),
    ]
    style, script = read_page_file("report.css"), read_page_file("sort.js")
    return render_html_page(title, summarize_fit(estimator), sections, style=style, script=script)


def _rounds_section(history: Sequence[Round]) -> PageSection:
    if not history:
        return PageSection("Rounds", "No round was finished.")
    introduction = "Every finished round, times in seconds. Click a heading to sort; point at it for its meaning."
    shown, n_omitted = first_and_last(history, _MAX_ROUNDS_IN_REPORT)
    if n_omitted:
        introduction += f" The table omits {n_omitted:,} of {len(history):,} rounds, in the middle."
    # How to read the scores of the rounds.
    notes = []
    if any(finished.validation_rows for finished in history):
        notes.append(
            "The scores of the rounds come from the validation rows, which also chose the model. "
            "The estimate at the top comes from other rows."
        )
    if any(finished.is_biased for finished in history):
        notes.append("A score without validation rows is too high if some of its checked rows are not fresh.")
    note = f'<p class="note">{" ".join(notes)}</p>' if notes else ""
    return PageSection(
        "Rounds", introduction, make_scrollable(html_table(ROUND_COLUMNS, shown, sortable=True), "Rounds") + note
    )


def _forecast_section(estimator: Any) -> PageSection:
    """Return the section about what other time limits should buy."""
    title = "Other time limits"
    try:
        forecasts = estimator.forecast([factor * estimator.time_limit_ for factor in _LIMIT_FACTORS])
    except ValueError as error:
        return PageSection(title, str(error))
    columns = [
        HtmlColumn("limit, s", "time limit in seconds", "time_limit", "{:g}".format),
        HtmlColumn("rows", "training rows of the returned model", "rows", "{:,}".format),
        HtmlColumn(score_name(estimator), "expected score", "score", "{:.4f}".format),
        HtmlColumn("from", "lower end of the 90 % interval", "low", "{:.4f}".format),
        HtmlColumn("to", "upper end of the 90 % interval", "high", "{:.4f}".format),
    ]
    introduction = (
        "What the default teacher should reach with other time limits, from the costs and the scores of this fit. "
        f"One fit on every row should take {forecasts[0].seconds_every_row:.3g} s."
    )
    if is_search(estimator):
        introduction += " The forecast is for the best learner with its hyperparameters, without a search."
    return PageSection(
        title, introduction, make_scrollable(html_table(columns, [vars(one) for one in forecasts]), title)
    )
