"""What a search found, for the model card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fitwithin._search_learners import list_learners


def describe_search(search: Any, learner_names: Sequence[str]) -> dict[str, Any]:
    """Return what a search found.

    Parameters
    ----------
    search : TimeConstrainedSearch
        Fitted, with a list of estimators.
    learner_names : sequence of str
        The user's names of these estimators.

    Returns
    -------
    dict
        ``learners`` as the user named them, the best ``learner`` among them, its ``params``, and the number of
        settings that were tried and that failed.
    """
    results = search.cv_results_
    names = [learner.name for learner in list_learners(search.estimator, None, search.task)]
    best = names.index(results["estimator"][search.best_index_])
    failed = {number for number, reason in enumerate(results["ended"]) if reason.startswith("failed")}
    fitted = {finished.candidate for finished in search.history_ if finished.candidate is not None}
    return {
        "learners": list(learner_names),
        "learner": learner_names[best],
        "params": dict(search.best_params_),
        "n_settings": len(fitted | failed),
        "n_failed": len(failed),
    }
