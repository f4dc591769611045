"""The results of a search as `cv_results_`, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.space import Settings


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
    settings = [dict(one.settings) for one in contenders]
    fits = [[one for one in history if one.candidate == number] for number in range(len(contenders))]
    last = [_find_last(own) for own in fits]
    # The returned one first, then by rows and score, and those that failed last.
    keys = [
        (number != best, one.failure is not None or fit is None, -fit.rows if fit else 0, -_score(fit) if fit else 0)
        for number, (one, fit) in enumerate(zip(contenders, last, strict=True))
    ]
    ranks = np.empty(len(keys), dtype=np.int32)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(1, len(keys) + 1)
    ended = [_describe_end(one, fit) for one, fit in zip(contenders, last, strict=True)]
    return {
        "estimator": np.array([names[one.learner] for one in contenders], dtype=object),
        "params": settings,
        **{
            f"param_{name}": _mask_missing(settings, name)
            for name in sorted({name for one in settings for name in one})
        },
        "mean_test_score": np.array([np.nan if fit is None else _score(fit) for fit in last]),
        "std_test_score": np.array([np.nan if fit is None else _standard_error(fit) for fit in last]),
        "rank_test_score": ranks,
        "n_rows": np.array([0 if fit is None else fit.rows for fit in last]),
        "mean_fit_time": np.array([np.nan if fit is None else fit.seconds_fit for fit in last]),
        "seconds": np.array([sum(one.seconds_fit + one.seconds_exam for one in own) for own in fits]),
        "ended": np.array(["returned" if number == best else end for number, end in enumerate(ended)], dtype=object),
    }


def _find_last(fits: Sequence[Round]) -> Round | None:
    """Return the fit on the most rows that has a score; of several with as many rows, the last one."""
    scored = [finished for finished in fits if finished.estimate is not None]
    return max(reversed(scored), key=lambda finished: finished.rows, default=None)


def _score(finished: Round) -> float:
    return finished.estimate or 0.0


def _standard_error(finished: Round) -> float:
    return Estimate(_score(finished), finished.low or 0.0, finished.high or 0.0).standard_error


def _mask_missing(settings: Sequence[Settings], name: str) -> np.ma.MaskedArray[Any, Any]:
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for index, one in enumerate(settings):
        if name in one:
            values[index] = one[name]
    return values


def _describe_end(contender: Contender, last: Round | None) -> str:
    if contender.failure is not None:
        return f"failed: {contender.failure}"
    if last is None:
        return "not tried: the time was up"
    was_cut_short = contender.last is not None and contender.last.was_cut_short
    return "stopped early, and behind others" if was_cut_short else "behind others"
