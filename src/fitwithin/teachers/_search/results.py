"""The results of a search as `cv_results_`, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin.teachers._search.contender import Contender


def make_cv_results(
    contenders: Sequence[Contender], names: Sequence[str], history: Sequence[Round], best: int
) -> dict[str, Any]:
    """Return the settings that were tried as a table of columns.

    Parameters
    ----------
    contenders : sequence of Contender
        All settings, by their numbers.
    names : sequence of str
        The learners' names.
    history : sequence of Round
        Every fit of this call.
    best : int
        Number of the settings whose model is returned.
    """
    rows = [_describe(one, [fit for fit in history if fit.candidate == one.number], best) for one in contenders]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    # The returned one first, then by rows and score, and those that failed last.
    has_failed = [one.failure is not None for one in contenders] | np.isnan(columns["mean_test_score"])
    order = np.lexsort((-columns["mean_test_score"], -columns["n_rows"], has_failed, np.arange(len(rows)) != best))
    settings = [dict(one.settings) for one in contenders]
    return {
        "estimator": np.array([names[one.learner] for one in contenders], dtype=object),
        "params": settings,
        **{f"param_{name}": _mask_missing(settings, name) for name in sorted(set().union(*settings))},
        "rank_test_score": np.argsort(order).astype(np.int32) + np.int32(1),
        **columns,
        "ended": columns["ended"].astype(object),
    }


def _describe(contender: Contender, fits: Sequence[Round], best: int) -> dict[str, Any]:
    """Return the columns of a candidate, by its fit on the most rows that has a score; of several, by the last one."""
    last = max(reversed([one for one in fits if one.estimate is not None]), key=lambda one: one.rows, default=None)
    estimate = Estimate(np.nan, np.nan, np.nan)
    if last is not None:
        estimate = Estimate(last.estimate or 0.0, last.low or 0.0, last.high or 0.0)
    was_cut_short = contender.last is not None and contender.last.was_cut_short
    ended = "stopped early, and behind others" if was_cut_short else "behind others"
    if contender.number == best:
        ended = "returned"
    elif contender.failure is not None:
        ended = f"failed: {contender.failure}"
    elif last is None:
        ended = "not tried: the time was up"
    return {
        "mean_test_score": estimate.value,
        "std_test_score": estimate.standard_error,
        "n_rows": 0 if last is None else last.rows,
        "mean_fit_time": np.nan if last is None else last.seconds_fit,
        "seconds": sum(one.seconds_fit + one.seconds_exam for one in fits),
        "ended": ended,
    }


def _mask_missing(settings: Sequence[dict[str, Any]], name: str) -> np.ma.MaskedArray[Any, Any]:
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for index, one in enumerate(settings):
        if name in one:
            values[index] = one[name]
    return values
