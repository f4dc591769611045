"""The results of a search as `cv_results_`, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fitwithin.teachers._search.contender import Contender


def make_cv_results(contenders: Sequence[Contender], names: Sequence[str], best: int | None) -> dict[str, Any]:
    """Return the settings of a search, one entry for each.

    Parameters
    ----------
    contenders : sequence of Contender
        All settings, by their numbers.
    names : sequence of str
        The learners' names.
    best : int or None
        Number of the settings whose model is returned.
    """
    last = [contender.last for contender in contenders]
    parameters = sorted({name for contender in contenders for name in contender.settings})
    results: dict[str, Any] = {
        "estimator": np.array([names[contender.learner] for contender in contenders], dtype=object),
        "params": [dict(contender.settings) for contender in contenders],
        **{f"param_{name}": _mask_missing([one.settings for one in contenders], name) for name in parameters},
        "mean_test_score": np.array([np.nan if trial is None else trial.score.value for trial in last]),
        "std_test_score": np.array([np.nan if trial is None else trial.score.standard_error for trial in last]),
        "rank_test_score": _rank(contenders, best),
        "n_rows": np.array([0 if trial is None else trial.n_rows for trial in last]),
        "mean_fit_time": np.array([np.nan if trial is None else trial.seconds for trial in last]),
        "seconds": np.array([contender.seconds for contender in contenders]),
        "ended": np.array(
            [_describe_end(contender, contender.candidate.number == best) for contender in contenders], dtype=object
        ),
    }
    return results


def _mask_missing(settings: Sequence[dict[str, Any]], name: str) -> np.ma.MaskedArray[Any, Any]:
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for index, one in enumerate(settings):
        if name in one:
            values[index] = one[name]
    return values


def _rank(contenders: Sequence[Contender], best: int | None) -> Any:
    """Return ranks: the returned one first, then by rows and score, and those that failed last."""

    def key(number: int) -> tuple[bool, bool, int, float]:
        contender, last = contenders[number], contenders[number].last
        score = float("-inf") if last is None else last.score.value
        return number != best, contender.failure is not None or last is None, -contender.n_rows, -score

    order = sorted(range(len(contenders)), key=key)
    ranks = np.empty(len(contenders), dtype=np.int32)
    ranks[order] = np.arange(1, len(contenders) + 1)
    return ranks


def _describe_end(contender: Contender, is_best: bool) -> str:
    if is_best:
        return "returned"
    if contender.failure is not None:
        return f"failed: {contender.failure}"
    last = contender.last
    if last is None:
        return "not tried: the time was up"
    return "stopped early, and behind others" if last.was_cut_short else "behind others"
