"""Which settings of a search mattered: rank correlations of parameters with the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from fitwithin.viz._fitted_search import FittedSearch, ScoredFit, list_scored_fits

MIN_CANDIDATES = 6
"""Candidates that a rank correlation needs; with fewer, any order of them is likely by chance."""

_MAX_CHANCE = 0.05
"""A correlation is called clear if chance gives one as strong less often than this."""


@dataclass(frozen=True)
class SettingEffect:
    """How a parameter and the score went together, among candidates with one learner on one subset.

    Parameters
    ----------
    learner : str
        Name of the learner.
    parameter : str
        Name of the parameter.
    correlation : float
        Spearman's rank correlation of the parameter with the score: 1 if higher values always had higher scores.
    n_candidates : int
        Candidates that it is computed from.
    n_rows : int
        Rows of the subset.
    is_clear : bool
        Whether chance alone gives a correlation as strong in less than 5 % of cases.
    """

    learner: str
    parameter: str
    correlation: float
    n_candidates: int
    n_rows: int
    is_clear: bool


def find_setting_effects(search: FittedSearch) -> list[SettingEffect]:
    """Return the numeric parameters whose values differed, the strongest correlation first.

    Each learner is looked at on one subset, since scores grow with the rows: on the one on which most of its candidates
    were tried.
    """
    fits = list_scored_fits(search)
    effects = []
    for learner in dict.fromkeys(one.learner for one in fits):
        own = _select_subset([one for one in fits if one.learner == learner])
        settings = [search.cv_results_["params"][one.candidate] for one in own]
        for parameter in sorted({name for one in settings for name in one}):
            effect = _measure(learner, parameter, own, [one.get(parameter) for one in settings])
            effects += [] if effect is None else [effect]
    return sorted(effects, key=lambda effect: -abs(effect.correlation))


def _select_subset(fits: Sequence[ScoredFit]) -> list[ScoredFit]:
    """Return the last fit of each candidate on the subset on which most candidates were tried."""
    counts = Counter(rows for rows, _ in {(one.rows, one.candidate) for one in fits})
    n_rows = max(counts, key=lambda rows: (counts[rows], rows))
    return list({one.candidate: one for one in fits if one.rows == n_rows}.values())


def _measure(learner: str, parameter: str, fits: Sequence[ScoredFit], values: Sequence[Any]) -> SettingEffect | None:
    pairs = [(value, one.score) for value, one in zip(values, fits, strict=True) if _is_number(value)]
    numbers, scores = np.array(pairs, dtype=float).reshape(-1, 2).T
    if len(pairs) < MIN_CANDIDATES or len(np.unique(numbers)) < 2 or len(np.unique(scores)) < 2:
        return None
    found = spearmanr(numbers, scores)
    is_clear = bool(found.pvalue < _MAX_CHANCE)
    return SettingEffect(learner, parameter, float(found.statistic), len(pairs), fits[0].rows, is_clear)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
