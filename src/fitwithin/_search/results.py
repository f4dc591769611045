"""The results of a search as `cv_results_`, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate, Round
from fitwithin.teachers._search.contender import Contender


def make_cv_results(
    contenders: Sequence[Contender], names: Sequence[str], history: Sequence[Round], best: int | None
) -> dict[str, Any]:
    """Return the settings of a search, one entry for each.

    Parameters
    ----------
    contenders : sequence of Contender
        All settings, by their numbers.
    names : sequence of str
        The learners' names.
    history : sequence of Round
        Every fit.
    best : int or None
        Number of the settings whose model is returned.
    """
    last = [_find_last(history, contender.candidate.number) for contender in contenders]
    parameters = sorted({name for contender in contenders for name in contender.settings})
    results: dict[str, Any] = {
        "estimator": np.array([names[contender.learner] for contender in contenders], dtype=object),
        "params": [dict(contender.settings) for contender in contenders],
        **{f"param_{name}": _mask_missing([one.settings for one in contenders], name) for name in parameters},
        "mean_test_score": np.array([np.nan if fit is None else fit.estimate for fit in last], dtype=np.float64),
        "std_test_score": np.array([np.nan if fit is None else _standard_error(fit) for fit in last]),
        "rank_test_score": _rank(contenders, last, best),
        "n_rows": np.array([0 if fit is None else fit.rows for fit in last]),
        "mean_fit_time": np.array([np.nan if fit is None else fit.seconds_fit for fit in last]),
        "seconds": np.array([_count_seconds(history, contender.candidate.number) for contender in contenders]),
        "ended": np.array([_describe_end(*pair, best) for pair in zip(contenders, last, strict=True)], dtype=object),
    }
    return results


def _find_last(history: Sequence[Round], number: int) -> Round | None:
    """Return the fit on the most rows that has a score; of several, the last one."""
    fits = [finished for finished in history if finished.candidate == number and finished.estimate is not None]
    return max(reversed(fits), key=lambda finished: finished.rows, default=None)


def _count_seconds(history: Sequence[Round], number: int) -> float:
    fits = [finished for finished in history if finished.candidate == number]
    return sum(finished.seconds_fit + finished.seconds_exam for finished in fits)


def _standard_error(finished: Round) -> float:
    return Estimate(finished.estimate or 0.0, finished.low or 0.0, finished.high or 0.0).standard_error


def _mask_missing(settings: Sequence[dict[str, Any]], name: str) -> np.ma.MaskedArray[Any, Any]:
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for index, one in enumerate(settings):
        if name in one:
            values[index] = one[name]
    return values


def _rank(contenders: Sequence[Contender], last: Sequence[Round | None], best: int | None) -> Any:
    """Return ranks: the returned one first, then by rows and score, and those that failed last."""

    def key(number: int) -> tuple[bool, bool, int, float]:
        fit, has_failed = last[number], contenders[number].failure is not None
        if fit is None or fit.estimate is None:
            return number != best, True, 0, 0.0
        return number != best, has_failed, -fit.rows, -fit.estimate

    order = sorted(range(len(contenders)), key=key)
    ranks = np.empty(len(contenders), dtype=np.int32)
    ranks[order] = np.arange(1, len(contenders) + 1)
    return ranks


def _describe_end(contender: Contender, last: Round | None, best: int | None) -> str:
    if contender.candidate.number == best:
        return "returned"
    if contender.failure is not None:
        return f"failed: {contender.failure}"
    if last is None:
        return "not tried: the time was up"
    was_cut_short = contender.last is not None and contender.last.was_cut_short
    return "stopped early, and behind others" if was_cut_short else "behind others"
