"""The texts and tables of facts in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._core.environment import Environment, library_versions
from fitwithin._core.memory_limit import format_bytes
from fitwithin._core.rounds import Round
from fitwithin.viz._fitted import (
    FittedEstimator,
    describe_candidate,
    find_best_round,
    is_search,
    list_failed,
    score_name,
)
from fitwithin.viz._html import PageSection, escape_text, make_scrollable

_STOP_REASONS = {
    "time": "the time was up, or too short for another fit",
    "all rows": "no more training rows were left",
    "no gain": "training on more rows did not give a better model",
    "no mistakes": "the model made no more mistakes",
    "on_round": "on_round returned True",
    "interrupted": "it was interrupted",
    "learner failed": "the learner failed in a later round",
    "memory": "the memory limit allowed no larger fit",
    "fallback": "there was no model but the fallback",
}


def summarize_fit(estimator: FittedEstimator) -> list[str]:
    """Return a paragraph each about the score, the search, the time limit, the memory and the returned model."""
    paragraphs = _describe_score, _describe_search, _describe_time, _describe_memory, _describe_model
    return [text for describe in paragraphs if (text := describe(estimator))]


def _describe_score(estimator: FittedEstimator) -> str:
    name = score_name(estimator)
    name = name[:1].upper() + name[1:]
    if estimator.score_estimate_ is not None:
        value, low, high = estimator.score_estimate_
        return (
            f"{name} {value:.4f}, 95 % interval {low:.4f} to {high:.4f}. "
            "The estimate comes from rows that had no part in training or choosing the model."
        )
    if estimator.n_rows_trained_ >= estimator.n_rows_in_:
        return f"{name} not known: the model was trained on every row, so no row is left for an estimate."
    return f"{name} not known: the model made no predictions for rows that were new to it."


def _describe_search(estimator: FittedEstimator) -> str:
    if not is_search(estimator):
        return ""
    n_tried = len({finished.candidate for finished in estimator.history_} - {None} | set(list_failed(estimator)))
    best = f"Best of {n_tried:,} candidates: {describe_candidate(estimator, estimator.best_index_)}."
    n_votes = len(getattr(estimator, "ensemble_", ()))
    return f"The returned model is a vote of {n_votes} candidates. {best}" if n_votes else best


def _describe_time(estimator: FittedEstimator) -> str:
    limit, used, lost = estimator.time_limit_, estimator.time_used_, estimator.lost_seconds_
    text = f"The time limit was kept: {used:.2f} s of {limit:g} s."
    if used > limit:
        text = f"The time limit of {limit:g} s was missed by {used - limit:.2f} s: the fit took {used:.2f} s."
    return f"{text} Fits that left no model took {lost:.2f} s." if lost else text


def _describe_memory(estimator: FittedEstimator) -> str:
    peaks = [finished.peak_memory for finished in estimator.history_ if finished.peak_memory is not None]
    if not peaks:
        return ""
    taken = f"The learner took at most {format_bytes(max(peaks))} of memory"
    limit = estimator.memory_limit_
    return f"{taken}." if limit is None else f"{taken}, with a limit of {format_bytes(limit)}."


def _describe_model(estimator: FittedEstimator) -> str:
    n_rounds, best = len(estimator.history_), find_best_round(estimator)
    origin = "" if best is None else f", from round {best.number},"
    return (
        f"The returned model{origin} was trained on {estimator.n_rows_trained_:,} of {estimator.n_rows_in_:,} rows. "
        f"There {'was 1 round' if n_rounds == 1 else f'were {n_rounds:,} rounds'}; the fit ended because "
        f"{_STOP_REASONS.get(estimator.stop_reason_, estimator.stop_reason_)}.{_describe_oversampling(estimator, best)}"
    )


def _describe_oversampling(estimator: FittedEstimator, best: Round | None) -> str:
    n_hard = 0 if best is None else sum(past.new_mistakes for past in estimator.history_ if past.number <= best.number)
    if not n_hard or not hasattr(estimator, "classes_"):
        return ""
    return (
        f" Up to {n_hard:,} of these rows were chosen because an earlier model misclassified them. That shifts "
        "predicted probabilities: calibrate them if you need them."
    )


def facts_sections(estimator: Any) -> list[PageSection]:
    """Return the sections about the parameters, the data, the machine and the versions of the libraries."""
    environment, model = Environment.current(), estimator.best_estimator_
    parameters = {name: _format_parameter(value) for name, value in estimator.get_params(deep=False).items()}
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
    settings = _facts_table("Settings", parameters | {"fitted learner": repr(model)}) + _facts_table("Data", data)
    environment_facts = _facts_table("Machine", machine) + _facts_table("Versions", versions)
    return [
        PageSection("Settings and data", "The parameters of the estimator and the size of the data.", settings),
        PageSection("Machine and versions", "The machine and the libraries that wrote this page.", environment_facts),
    ]


def _format_parameter(value: Any) -> str:
    # The repr of a function shows its address; its name says more.
    return str(value.__qualname__) if hasattr(value, "__qualname__") else repr(value)


def _facts_table(heading: str, facts: Mapping[str, Any]) -> str:
    """Return a heading and a table with a row for each fact, as HTML."""
    rows = (
        f'<tr><th scope="row">{escape_text(name)}</th><td>{escape_text(value)}</td></tr>'
        for name, value in facts.items()
    )
    table = f'<table class="facts">{"".join(rows)}</table>'
    return f"<h3>{escape_text(heading)}</h3>{make_scrollable(table, heading)}"
