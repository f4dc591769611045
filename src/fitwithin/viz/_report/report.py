"""The `report` method of the estimators, and the sections of its page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.environment import Environment, library_versions
from fitwithin._core.rounds import Round
from fitwithin.backends._early_stopping.registry import find_inner_learner
from fitwithin.viz._facts import list_facts, summarize_training
from fitwithin.viz._fitted import FittedEstimator, check_fitted, find_best_round, is_search, score_name
from fitwithin.viz._history import ROUND_COLUMNS, first_and_last
from fitwithin.viz._html import (
    HtmlColumn,
    PageSection,
    escape_text,
    html_table,
    make_scrollable,
    read_page_file,
    render_html_page,
)
from fitwithin.viz._report.pictures import render_pictures, search_section

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


def summarize_fit(estimator: FittedEstimator) -> list[str]:
    """Return a line for each fact about the score, the search, the time, the memory and the returned model."""
    facts = list_facts(summarize_training(estimator), score_name(estimator))
    lines = [f"{label[:1].upper()}{label[1:]}: {text}." for label, text in facts.items()]
    oversampling = _describe_oversampling(estimator)
    return [*lines, oversampling] if oversampling else lines


def _describe_oversampling(estimator: FittedEstimator) -> str:
    best = find_best_round(estimator)
    n_hard = 0 if best is None else sum(past.new_mistakes for past in estimator.history_ if past.number <= best.number)
    if not n_hard or not hasattr(estimator, "classes_"):
        return ""
    return (
        f"Up to {n_hard:,} of the training rows were chosen because an earlier model misclassified them. That shifts "
        "predicted probabilities: calibrate them if you need them."
    )


def facts_sections(estimator: Any) -> list[PageSection]:
    """Return the sections about the parameters, the data, the machine and the versions of the libraries."""
    environment, model = Environment.current(), estimator.best_estimator_
    given = estimator.get_params(deep=False)
    # The repr of a function shows its address; its name says more.
    parameters = {name: getattr(value, "__qualname__", repr(value)) for name, value in given.items()}
    n_features, n_classes = getattr(estimator, "n_features_in_", 0), len(getattr(estimator, "classes_", ()))
    counts = {"rows": estimator.n_rows_in_, "features": n_features, "classes": n_classes}
    data = {name: f"{count:,}" for name, count in counts.items() if count}
    machine = {
        "processor": f"{environment.cores} cores, {environment.processor or 'unknown'}",
        "memory": f"{environment.memory_gb:g} GB",
        "system": environment.kernel,
        "date": environment.date,
    }
    versions = {"Python": environment.python} | environment.libraries | library_versions(model)
    settings = _facts_table("Parameters", parameters | {"fitted learner": repr(model)}) + _facts_table("Data", data)
    environment_facts = _facts_table("Machine", machine) + _facts_table("Versions", versions)
    return [
        PageSection("Parameters and data", "The parameters of the estimator and the size of the data.", settings),
        PageSection("Machine and versions", "The machine and the libraries that wrote this page.", environment_facts),
    ]


def _facts_table(heading: str, facts: Mapping[str, Any]) -> str:
    """Return a heading and a table with a row for each fact, as HTML."""
    rows = (
        f'<tr><th scope="row">{escape_text(name)}</th><td>{escape_text(value)}</td></tr>'
        for name, value in facts.items()
    )
    table = f'<table class="facts">{"".join(rows)}</table>'
    return f"<h3>{escape_text(heading)}</h3>{make_scrollable(table, heading)}"
