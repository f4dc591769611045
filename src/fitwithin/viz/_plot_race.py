"""The picture of a search: the score of each candidate over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from fitwithin.viz._axes import finish_score_axes, get_axes, show_message
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
# A score further below the median than this many times the way from the median to the best is below the picture.
_MAX_DEPTH = 3.0


def plot_race(search: FittedSearch, ax: Axes | None = None) -> Axes:
    """Draw the score of each candidate of a search at the end of each of its fits.

    A candidate is a learner with its settings. A point is a fit; the larger it is, the more training rows it had. A
    line joins the fits of one candidate on several subsets. A hollow point is the last fit of a candidate that was
    dropped. The green line is the returned candidate, and the diamond is `score_estimate_`. Very
    low scores are below the picture, and counted in the legend.

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
    colours = _choose_colours(fits)
    others = [one for one in fits if one.candidate != search.best_index_]
    for learner, colour in colours.items():
        _draw_fits(ax, [one for one in others if one.learner == learner], fits, colour)
    returned = [one for one in fits if one.candidate == search.best_index_]
    _draw_fits(ax, returned, fits, GREEN, is_returned=True)
    _label(ax, search, fits, colours)
    _hide_very_low_scores(ax, [one.score for one in fits])
    finish_score_axes(ax, search, "score_estimate_", INK)
    return ax


def _choose_colours(fits: Sequence[ScoredFit]) -> dict[str, str]:
    names = list(dict.fromkeys(one.learner for one in fits))
    return {name: _LEARNER_COLOURS[index % len(_LEARNER_COLOURS)] for index, name in enumerate(names)}


def _find_marker_size(rows: int, fits: Sequence[ScoredFit]) -> float:
    low, high = (float(np.log(pick(one.rows for one in fits))) for pick in (min, max))
    share = (float(np.log(rows)) - low) / (high - low) if high > low else 0.5
    return _MIN_MARKER + share * (_MAX_MARKER - _MIN_MARKER)


def _draw_fits(
    ax: Axes, own: Sequence[ScoredFit], fits: Sequence[ScoredFit], colour: str, *, is_returned: bool = False
) -> None:
    """Draw fits in one colour, and lines that join those of each candidate."""
    last = {one.candidate: one for one in own}
    above = 1 if is_returned else 0
    ax.plot(*_join(own), "-", color=colour, linewidth=1 + above, alpha=0.8, zorder=2 + above)
    dropped = [] if is_returned else list(last.values())
    others = [one for one in own if is_returned or last[one.candidate] is not one]
    for face, group in (("none", dropped), (colour, others)):
        # One collection instead of a point per fit: a long search has thousands.
        ax.scatter(
            [one.seconds for one in group],
            [one.score for one in group],
            [_find_marker_size(one.rows, fits) ** 2 for one in group],
            facecolors=face,
            edgecolors=colour,
            zorder=2.5 + above,
        )


def _join(own: Sequence[ScoredFit]) -> tuple[list[float], list[float]]:
    """Return one line through the fits of each candidate, with gaps between the candidates."""
    times, scores = [], []
    for _, group in groupby(sorted(own, key=attrgetter("candidate")), key=attrgetter("candidate")):
        candidate_fits = list(group)
        times += [*(one.seconds for one in candidate_fits), math.nan]
        scores += [*(one.score for one in candidate_fits), math.nan]
    return times, scores


def _label(ax: Axes, search: FittedSearch, fits: Sequence[ScoredFit], colours: dict[str, str]) -> None:
    """Add the entries of the legend."""
    for learner, colour in colours.items():
        ax.plot([], [], "o", color=colour, label=learner)
    returned = search.cv_results_["estimator"][search.best_index_]
    ax.plot([], [], "-o", color=GREEN, linewidth=2, label=f"returned: {returned}")
    ax.plot([], [], "o", color=GREY, markerfacecolor="none", label="hollow: dropped after this fit")
    for rows in _choose_sizes(fits):
        ax.plot([], [], "o", color=GREY, markersize=_find_marker_size(rows, fits), label=f"{rows:,} rows")
    failed = len(list_failed(search))
    if failed:
        ax.plot([], [], " ", label=f"{failed:,} candidates failed" if failed > 1 else "1 candidate failed")


def _hide_very_low_scores(ax: Axes, scores: Sequence[float]) -> None:
    """Raise the lower end of the axis if a few very low scores would flatten the picture, and count them."""
    median, best = float(np.median(scores)), max(scores)
    bottom = median - _MAX_DEPTH * (best - median)
    n_below = sum(score < bottom for score in scores)
    if n_below and best > median:
        ax.set_ylim(bottom=bottom)
        ax.plot([], [], " ", label=f"{n_below:,} below the picture")


def _choose_sizes(fits: Sequence[ScoredFit]) -> list[int]:
    """Return sizes of subsets for the legend, from the smallest to the largest."""
    sizes = sorted({one.rows for one in fits})
    places = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), _MAX_SIZES)).round().astype(int))
    return [sizes[place] for place in places]
