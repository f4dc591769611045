"""The texts and tables of facts in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._core.environment import Environment, library_versions
from fitwithin.viz._facts import list_facts, summarize_training
from fitwithin.viz._fitted import FittedEstimator, find_best_round, score_name
from fitwithin.viz._html import PageSection, escape_text, make_scrollable


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
