"""The pictures of a search: the race of the candidates, and the parameters that mattered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from fitwithin._core.rounds import Round
from fitwithin.teachers._search.space import is_number
from fitwithin.viz._axes import add_legend_above, draw_estimate_and_limit, get_axes, show_message
from fitwithin.viz._fitted import FittedSearch, check_search, group_scored_rounds, list_failed, score_name
from fitwithin.viz._style import BLUE, BROWN, EDGE, GREEN, GREY, INK, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Green is the returned model's.
_LEARNER_COLOURS = (BLUE, ORANGE, PINK, BROWN, GREY)
# Diameter of the points, in points: of the smallest and of the largest subset.
_DIAMETERS = (3.0, 9.0)
# Subsets in the legend.
_MAX_SIZES = 4
# A score further below the median than this many times the way from the median to the best is below the picture.
_MAX_DEPTH = 3.0
# More bars of a picture would be too thin to read.
_MAX_EFFECTS = 12

MIN_CANDIDATES = 6
"""Candidates that a rank correlation needs; with fewer, any order of them is likely by chance."""

_MAX_CHANCE = 0.05
"""A correlation is called clear if chance gives one as strong less often than this."""


def plot_race(search: FittedSearch, ax: Axes | None = None) -> Axes:
    """Draw the score of each candidate of a search at the end of each of its fits.

    A candidate is a learner with its hyperparameters. A point is a fit; the larger it is, the more training rows it
    had. A line joins the fits of one candidate on several subsets. A hollow point is the last fit of a candidate that
    was dropped. The green line is the returned candidate, and the diamond is `score_estimate_`. Very low scores are
    below the picture, and counted in the legend.

    Parameters
    ----------
    search : TimeConstrainedSearch
        The fitted search.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fitwithin import TimeConstrainedSearch, viz
    >>> space = {"max_depth": [2, 4, 8], "min_samples_leaf": [1, 20]}
    >>> search = TimeConstrainedSearch(DecisionTreeClassifier(), space, backend="inline", random_state=0)
    >>> ax = viz.plot_race(search.fit(*make_classification(3_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('seconds since the start of fit', 'accuracy')
    """
    check_search(search)
    ax = get_axes(search, ax, (6.4, 4.6))
    rounds = group_scored_rounds(search)
    if not rounds:
        return show_message(ax, "No fit has a score,\nso there is nothing to draw.")
    sizes = sorted({one.rows for own in rounds.values() for one in own})
    for index, (learner, own) in enumerate(rounds.items()):
        colour = _LEARNER_COLOURS[index % len(_LEARNER_COLOURS)]
        _draw_rounds(ax, [one for one in own if one.candidate != search.best_index_], sizes, colour)
        _draw_rounds(ax, [one for one in own if one.candidate == search.best_index_], sizes, GREEN, is_returned=True)
        ax.plot([], [], "o", color=colour, label=learner)
    returned = search.cv_results_["estimator"][search.best_index_]
    ax.plot([], [], "-o", color=GREEN, linewidth=2, label=f"returned: {returned}")
    ax.plot([], [], "o", color=GREY, markerfacecolor="none", label="hollow: dropped after this fit")
    for place in np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), _MAX_SIZES)).round().astype(int)):
        diameter = float(_find_diameters(sizes[place], sizes))
        ax.plot([], [], "o", color=GREY, markersize=diameter, label=f"{sizes[place]:,} rows")
    failed = len(list_failed(search))
    if failed:
        ax.plot([], [], " ", label=f"{failed:,} candidates failed" if failed > 1 else "1 candidate failed")
    draw_estimate_and_limit(ax, search, "score_estimate_", INK)
    _hide_very_low_scores(ax, np.array([one.estimate for own in rounds.values() for one in own], float))
    add_legend_above(ax)
    return ax


def _draw_rounds(
    ax: Axes, rounds: Sequence[Round], sizes: Sequence[int], colour: str, *, is_returned: bool = False
) -> None:
    """Draw rounds in one colour, and lines that join those of each candidate."""
    ordered = sorted(rounds, key=attrgetter("candidate"))
    columns = np.array([(one.elapsed, one.estimate, one.rows, one.candidate) for one in ordered], float)
    times, scores, rows, candidates = columns.reshape(-1, 4).T
    last = np.flatnonzero(np.diff(candidates, append=-1))
    above = 1 if is_returned else 0
    # One line with gaps between the candidates, and two collections: a long search has thousands of rounds.
    gapped = (np.insert(values, last + 1, np.nan) for values in (times, scores))
    ax.plot(*gapped, "-", color=colour, linewidth=1 + above, alpha=0.8, zorder=2 + above)
    is_dropped = np.zeros(len(ordered), bool)
    is_dropped[last] = not is_returned
    for face, chosen in (("none", is_dropped), (colour, ~is_dropped)):
        areas = _find_diameters(rows[chosen], sizes) ** 2
        ax.scatter(times[chosen], scores[chosen], areas, facecolors=face, edgecolors=colour, zorder=2.5 + above)


def _find_diameters(rows: npt.ArrayLike, sizes: Sequence[int]) -> npt.NDArray[np.float64]:
    # Limits a little beyond the sizes put a single size in the middle.
    return np.interp(np.log(rows), np.log([0.999 * sizes[0], 1.001 * sizes[-1]]), _DIAMETERS)


def _hide_very_low_scores(ax: Axes, scores: npt.NDArray[np.float64]) -> None:
    """Raise the lower end of the axis if a few very low scores would flatten the picture, and count them."""
    median, best = np.median(scores), scores.max()
    bottom = median - _MAX_DEPTH * (best - median)
    n_below = np.count_nonzero(scores < bottom)
    if n_below and best > median:
        ax.set_ylim(bottom=bottom)
        ax.plot([], [], " ", label=f"{n_below:,} below the picture")


def plot_settings(search: FittedSearch, ax: Axes | None = None) -> Axes:
    """Draw how strongly each numeric parameter went together with the score.

    A bar is Spearman's rank correlation among n candidates with the same learner and the same subset: 1 means that
    higher values always had higher scores, -1 that they always had lower ones. A grey bar may be chance: without any
    effect, a bar of its length occurs in more than 5 % of cases. The search stays near good hyperparameters, so the
    bars describe what was tried, not the whole space.

    Parameters
    ----------
    search : TimeConstrainedSearch
        The fitted search.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fitwithin import TimeConstrainedSearch, viz
    >>> space = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 5, 20, 100]}
    >>> search = TimeConstrainedSearch(DecisionTreeClassifier(), space, backend="inline", random_state=0)
    >>> ax = viz.plot_settings(search.fit(*make_classification(3_000, random_state=0)), Figure().subplots())
    >>> ax.get_xlabel()
    'rank correlation with accuracy'
    """
    check_search(search)
    ax = get_axes(search, ax, (6.4, 3.6))
    effects = find_setting_effects(search)
    if not effects:
        return show_message(
            ax, f"Fewer than {MIN_CANDIDATES} candidates with different numbers\nwere tried on one subset."
        )
    has_one_learner = len({effect.learner for effect in effects}) == 1
    for place, effect in enumerate(effects):
        ax.barh(place, effect.correlation, height=0.65, color=BLUE if effect.is_clear else EDGE)
    for colour, label in ((BLUE, "clear"), (EDGE, "may be chance")):
        ax.barh([0], [0], color=colour, label=label)
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set_yticks(range(len(effects)), [_name(effect, has_one_learner) for effect in effects], parse_math=False)
    ax.set(xticks=(-1, -0.5, 0, 0.5, 1), xlim=(-1, 1), ylim=(len(effects) - 0.5, -0.5))
    ax.set_xlabel(f"rank correlation with {score_name(search)}", parse_math=False)
    ax.grid(False, axis="y")
    add_legend_above(ax)
    return ax


def _name(effect: SettingEffect, has_one_learner: bool) -> str:
    learner = "" if has_one_learner else f"{effect.learner}, "
    return f"{effect.parameter}\n{learner}n = {effect.n_candidates}"


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
    """Return the numeric parameters whose values differed, the strongest correlations first.

    Each learner is looked at on one subset, since scores grow with the rows: on the one on which most of its candidates
    were tried.
    """
    effects = []
    for learner, rounds in group_scored_rounds(search).items():
        counts = Counter(rows for rows, _ in {(one.rows, one.candidate) for one in rounds})
        n_rows = max(counts, key=lambda rows: (counts[rows], rows))
        # The last score of each candidate counts.
        scores = {one.candidate: one.estimate for one in rounds if one.rows == n_rows}
        settings = {number: search.cv_results_["params"][number] for number in scores}
        for parameter in sorted({name for one in settings.values() for name in one}):
            values = {number: one.get(parameter) for number, one in settings.items()}
            pairs = [(value, scores[number]) for number, value in values.items() if is_number(value)]
            if len(pairs) >= MIN_CANDIDATES and all(len(set(column)) > 1 for column in zip(*pairs, strict=True)):
                found = spearmanr(pairs)
                is_clear = bool(found.pvalue < _MAX_CHANCE)
                effects.append(SettingEffect(learner, parameter, float(found.statistic), len(pairs), n_rows, is_clear))
    return sorted(effects, key=lambda effect: -abs(effect.correlation))[:_MAX_EFFECTS]
