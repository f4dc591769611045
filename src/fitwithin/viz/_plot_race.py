"""The picture of a search: the score of each candidate over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from fitwithin.viz._axes import add_legend_above, get_axes, show_message, visible_time_limit
from fitwithin.viz._fitted_estimator import score_name
from fitwithin.viz._fitted_search import FittedSearch, ScoredFit, check_search, list_failed, list_scored_fits
from fitwithin.viz._palette import BLUE, BROWN, GREEN, GREY, INK, ORANGE, PINK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Green is the returned model's.
_LEARNER_COLOURS = (BLUE, ORANGE, PINK, BROWN, GREY)
# Size of the points, in points: of the smallest and of the largest subset.
_MIN_MARKER, _MAX_MARKER = 3.0, 9.0
# Subsets in the legend.
_MAX_SIZES = 4
# A score further below the median than this many times the way from the median to the best is not drawn to scale.
_MAX_DEPTH = 3.0


def plot_race(search: FittedSearch, ax: Axes | None = None) -> Axes:
    """Draw the score of each candidate of a search at the end of each of its fits.

    A candidate is a learner with its settings. A point is a fit; the larger it is, the more training rows it had. A
    line joins the fits of one candidate on several subsets. A hollow point is the last fit of a candidate that was
    dropped. The green line is the returned candidate, and the diamond is `score_estimate_`. Triangles at the bottom are
    scores below the picture.

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
    fits = list_scored_fits(search)
    if not fits:
        return show_message(ax, "No fit has a score,\nso there is nothing to draw.")
    bottom = _find_bottom([one.score for one in fits])
    colours = _choose_colours(fits)
    others = [one for one in fits if one.candidate != search.best_index_]
    for learner, colour in colours.items():
        _draw_fits(ax, [one for one in others if one.learner == learner], fits, colour, bottom)
    returned = [one for one in fits if one.candidate == search.best_index_]
    _draw_fits(ax, returned, fits, GREEN, bottom, is_returned=True)
    _label(ax, search, fits, colours, bottom)
    return ax


def _find_bottom(scores: Sequence[float]) -> float:
    """Return the lowest score that is drawn to scale, so that a few very low ones do not flatten the picture."""
    lowest, median, best = min(scores), float(np.median(scores)), max(scores)
    return max(lowest, median - _MAX_DEPTH * (best - median)) if best > median else lowest


def _choose_colours(fits: Sequence[ScoredFit]) -> dict[str, str]:
    names = list(dict.fromkeys(one.learner for one in fits))
    return {name: _LEARNER_COLOURS[index % len(_LEARNER_COLOURS)] for index, name in enumerate(names)}


def _find_marker_size(rows: int, fits: Sequence[ScoredFit]) -> float:
    low, high = (float(np.log(pick(one.rows for one in fits))) for pick in (min, max))
    share = (float(np.log(rows)) - low) / (high - low) if high > low else 0.5
    return _MIN_MARKER + share * (_MAX_MARKER - _MIN_MARKER)


def _draw_fits(
    ax: Axes,
    own: Sequence[ScoredFit],
    fits: Sequence[ScoredFit],
    colour: str,
    bottom: float,
    *,
    is_returned: bool = False,
) -> None:
    """Draw fits in one colour, and lines that join those of each candidate."""
    last = {one.candidate: one for one in own}
    above = 1 if is_returned else 0
    times, heights = _join(own, bottom)
    ax.plot(times, heights, "-", color=colour, linewidth=2 if is_returned else 1, alpha=0.8, zorder=2 + above)
    groups = {
        ("v", colour): [one for one in own if one.score < bottom],
        ("o", colour): [one for one in own if one.score >= bottom and (is_returned or last[one.candidate] is not one)],
        ("o", "none"): [one for one in own if one.score >= bottom and not is_returned and last[one.candidate] is one],
    }
    for (marker, face), group in groups.items():
        # One collection instead of a point per fit: a long search has thousands.
        ax.scatter(
            [one.seconds for one in group],
            [max(one.score, bottom) for one in group],
            [_find_marker_size(one.rows, fits) ** 2 for one in group],
            marker=marker,
            facecolors=face,
            edgecolors=colour,
            zorder=2.5 + above,
        )


def _join(own: Sequence[ScoredFit], bottom: float) -> tuple[list[float], list[float]]:
    """Return one line through the fits of each candidate, with gaps between the candidates."""
    times, heights = [], []
    for _, group in groupby(sorted(own, key=attrgetter("candidate")), key=attrgetter("candidate")):
        candidate_fits = list(group)
        times += [*(one.seconds for one in candidate_fits), math.nan]
        heights += [*(max(one.score, bottom) for one in candidate_fits), math.nan]
    return times, heights


def _mark_estimate(ax: Axes, search: FittedSearch, fits: Sequence[ScoredFit]) -> None:
    """Draw `score_estimate_` at the time of the returned model."""
    last = next((one for one in reversed(fits) if one.best), None)
    if last is not None and search.score_estimate_ is not None:
        score, low, high = search.score_estimate_
        ax.vlines(last.seconds, low, high, color=INK, linewidth=1.5, zorder=4)
        ax.plot(last.seconds, score, "D", color=INK, markersize=5, zorder=4, label=f"score_estimate_: {score:.4f}")


def _label(ax: Axes, search: FittedSearch, fits: Sequence[ScoredFit], colours: dict[str, str], bottom: float) -> None:
    """Add the axes' names, the time limit, and a legend."""
    for learner, colour in colours.items():
        ax.plot([], [], "o", color=colour, label=learner)
    ax.plot(
        [], [], "-o", color=GREEN, linewidth=2, label=f"returned: {search.cv_results_['estimator'][search.best_index_]}"
    )
    _mark_estimate(ax, search, fits)
    ax.plot([], [], "o", color=GREY, markerfacecolor="none", label="hollow: dropped after this fit")
    n_below = sum(one.score < bottom for one in fits)
    if n_below:
        ax.plot([], [], "v", color=GREY, label=f"{n_below:,} below the picture")
    for rows in _choose_sizes(fits):
        ax.plot([], [], "o", color=GREY, markersize=_find_marker_size(rows, fits), label=f"{rows:,} rows")
    failed = len(list_failed(search))
    if failed:
        ax.plot([], [], " ", label=f"{failed:,} candidates failed" if failed > 1 else "1 candidate failed")
    limit = visible_time_limit(search)
    if limit is not None:
        ax.axvline(limit, color=GREY, linestyle="--", linewidth=1, label=f"time limit, {limit:g} s")
    ax.set(xlabel="seconds since the start of fit", xlim=(0, None))
    ax.set_ylabel(score_name(search), parse_math=False)
    add_legend_above(ax)


def _choose_sizes(fits: Sequence[ScoredFit]) -> list[int]:
    """Return sizes of subsets for the legend, from the smallest to the largest."""
    sizes = sorted({one.rows for one in fits})
    places = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), _MAX_SIZES)).round().astype(int))
    return [sizes[place] for place in places]
