"""The results of a search as `cv_results_`, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate
from fitwithin._core.rounds import Round
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.space import Settings


@dataclass(frozen=True, eq=False)
class SearchEntry:
    """Hyperparameters of a search, and their results.

    Parameters
    ----------
    estimator : str
        The learner's name.
    settings : dict
        The settings, as far as they are not the learner's own.
    last : Round or None
        The fit on the most rows that has a score.
    seconds : float
        Seconds of all fits and exams.
    ended : str
        Why there is no other fit.
    is_returned : bool
        Whether its model is the one that is returned.
    has_failed : bool
        Whether it is out because of an error.
    """

    estimator: str
    settings: Settings
    last: Round | None
    seconds: float
    ended: str
    is_returned: bool = False
    has_failed: bool = False

    @property
    def rank_key(self) -> tuple[bool, bool, int, float]:
        """Sorts the returned one first, then by rows and score, and those that failed last."""
        if self.last is None or self.last.estimate is None:
            return not self.is_returned, True, 0, 0.0
        return not self.is_returned, self.has_failed, -self.last.rows, -self.last.estimate


def list_entries(
    contenders: Sequence[Contender], names: Sequence[str], history: Sequence[Round], best: int | None
) -> list[SearchEntry]:
    """Return an entry for each of the settings that were tried.

    Parameters
    ----------
    contenders : sequence of Contender
        All settings, by their numbers.
    names : sequence of str
        The learners' names.
    history : sequence of Round
        Every fit of this call.
    best : int or None
        Number of the settings whose model is returned.
    """
    entries = []
    for number, contender in enumerate(contenders):
        fits = [finished for finished in history if finished.candidate == number]
        scored = [finished for finished in fits if finished.estimate is not None]
        # Of several with as many rows, the last one.
        last = max(reversed(scored), key=lambda finished: finished.rows, default=None)
        entries.append(
            SearchEntry(
                names[contender.learner],
                dict(contender.settings),
                last,
                sum(finished.seconds_fit + finished.seconds_exam for finished in fits),
                _describe_end(contender, last, is_returned=number == best),
                is_returned=number == best,
                has_failed=contender.failure is not None,
            )
        )
    return entries


def make_cv_results(entries: Sequence[SearchEntry]) -> dict[str, Any]:
    """Return the settings of a search as a table of columns."""
    last = [entry.last for entry in entries]
    parameters = sorted({name for entry in entries for name in entry.settings})
    return {
        "estimator": np.array([entry.estimator for entry in entries], dtype=object),
        "params": [entry.settings for entry in entries],
        **{f"param_{name}": _mask_missing([entry.settings for entry in entries], name) for name in parameters},
        "mean_test_score": np.array([np.nan if fit is None else fit.estimate for fit in last], dtype=np.float64),
        "std_test_score": np.array([np.nan if fit is None else _standard_error(fit) for fit in last]),
        "rank_test_score": _rank(entries),
        "n_rows": np.array([0 if fit is None else fit.rows for fit in last]),
        "mean_fit_time": np.array([np.nan if fit is None else fit.seconds_fit for fit in last]),
        "seconds": np.array([entry.seconds for entry in entries]),
        "ended": np.array([entry.ended for entry in entries], dtype=object),
    }


def _standard_error(finished: Round) -> float:
    return Estimate(finished.estimate or 0.0, finished.low or 0.0, finished.high or 0.0).standard_error


def _mask_missing(settings: Sequence[Settings], name: str) -> np.ma.MaskedArray[Any, Any]:
    values = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for index, one in enumerate(settings):
        if name in one:
            values[index] = one[name]
    return values


def _rank(entries: Sequence[SearchEntry]) -> Any:
    order = sorted(range(len(entries)), key=lambda number: entries[number].rank_key)
    ranks = np.empty(len(entries), dtype=np.int32)
    ranks[order] = np.arange(1, len(entries) + 1)
    return ranks


def _describe_end(contender: Contender, last: Round | None, *, is_returned: bool) -> str:
    if is_returned:
        return "returned"
    if contender.failure is not None:
        return f"failed: {contender.failure}"
    if last is None:
        return "not tried: the time was up"
    was_cut_short = contender.last is not None and contender.last.was_cut_short
    return "stopped early, and behind others" if was_cut_short else "behind others"
