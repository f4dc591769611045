"""The result of a fit as values that a model card keeps, and as facts in words for the report and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fitwithin._core.memory_limit import format_bytes
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.viz._fitted import FittedEstimator, FittedSearch, is_search, list_failed

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


def summarize_training(estimator: FittedEstimator) -> dict[str, Any]:
    """Return the rows, the rounds, the score, the time and the memory of a fit, and what a search tried."""
    estimate = estimator.score_estimate_
    return {
        "rows": estimator.n_rows_in_,
        "rows_taught": estimator.n_rows_trained_,
        "estimate": None
        if estimate is None or not np.isfinite(estimate).all()
        else dict(zip(("value", "low", "high"), estimate, strict=True)),
        "time_limit": estimator.time_limit_,
        "time_used": estimator.time_used_,
        "lost_seconds": estimator.lost_seconds_,
        "memory_limit": estimator.memory_limit_,
        "peak_memory": max((finished.peak_memory or 0 for finished in estimator.history_), default=0) or None,
        "stop_reason": estimator.stop_reason_,
        "rounds": [asdict(finished) for finished in estimator.history_],
        **({"search": _summarize_search(estimator)} if is_search(estimator) else {}),
    }


def _summarize_search(search: FittedSearch) -> dict[str, Any]:
    """Return the learners, the best one, its hyperparameters, what was tried, and the vote if any."""
    results, failed = search.cv_results_, list_failed(search)
    fitted = {finished.candidate for finished in search.history_} - {None}
    return {
        "learners": list(dict.fromkeys(results["estimator"])),
        "learner": results["estimator"][search.best_index_],
        "params": dict(results["params"][search.best_index_]),
        "n_settings": len(fitted.union(failed)),
        "n_failed": len(failed),
        "vote": [
            {"learner": results["estimator"][number], "params": results["params"][number], "weight": weight}
            for number, weight in getattr(search, "ensemble_", {}).items()
        ],
    }


def list_facts(training: Mapping[str, Any], scoring: str) -> dict[str, str]:
    """Return what there is to say about a training, by its label.

    Parameters
    ----------
    training : dict
        See `summarize_training`. A model card may lack some of it, and may have the score on test rows.
    scoring : str
        Name of the metric.
    """
    used, limit, lost = training["time_used"], training["time_limit"], training.get("lost_seconds")
    peak, most = training.get("peak_memory"), training.get("memory_limit")
    test, rounds = training.get("test"), training["rounds"]
    # A checkpoint may hold an older model than that of its last round, or none.
    is_known = not training.get("checkpoint")
    best = next((finished["number"] for finished in reversed(rounds) if finished["best"] and is_known), None)
    facts = {
        f"{scoring}, estimated": _format_estimate(training),
        f"{scoring}, test": test and f"{test['score']:.4f} on {test['rows']:,} rows",
        **_list_search_facts(training.get("search")),
        "training rows": f"{training['rows_taught']:,} of {training['rows']:,}",
        "rounds": f"{len(rounds):,}" + ("" if best is None else f"; the model is from round {best}"),
        "time used": f"{used:.2f} of {limit:g} s" + (f", {used - limit:.2f} s too much" if used > limit else ""),
        "without a model": lost and f"{lost:.1f} s in fits that left none",
        "memory used": peak and format_bytes(peak) + (f" of {format_bytes(most)}" if most else ""),
        "ended because": _STOP_REASONS.get(training["stop_reason"], training["stop_reason"]),
    }
    return {label: text for label, text in facts.items() if text}


def _format_estimate(training: Mapping[str, Any]) -> str:
    estimate = training["estimate"]
    if estimate is not None:
        interval = f"{estimate['value']:.4f} [{estimate['low']:.4f}, {estimate['high']:.4f}] (95 %)"
        return f"{interval}, on rows that had no part in training or choosing the model"
    if training["rows_taught"] >= training["rows"]:
        return (
            "none: every row was used for training; test the model on other rows, on the command line with --test FILE"
        )
    return "none: the model was not tested on new rows"


def _list_search_facts(search: Mapping[str, Any] | None) -> dict[str, str]:
    if search is None:
        return {}
    members = search.get("vote", [])
    n_votes = sum(one["weight"] for one in members)
    vote = {
        f"member {place}, {one['weight']} of {n_votes} votes": f"{one['learner']}, {describe_settings(one['params'])}"
        for place, one in enumerate(members, 1)
    }
    others = f", of {', '.join(map(str, search['learners']))}" if len(search["learners"]) > 1 else ""
    failed = f", {search['n_failed']:,} of them failed" if search["n_failed"] else ""
    return {
        "best learner": f"{search['learner']}{others}",
        "its hyperparameters": describe_settings(search["params"]),
        **vote,
        "candidates tried": f"{search['n_settings']:,}{failed}",
    }
