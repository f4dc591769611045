"""The picture of the settings that mattered in a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitwithin.viz._axes import add_legend_above, get_axes, show_message
from fitwithin.viz._fitted_estimator import score_name
from fitwithin.viz._fitted_search import FittedSearch, check_search
from fitwithin.viz._palette import BLUE, EDGE, GREY
from fitwithin.viz._setting_effects import MIN_CANDIDATES, SettingEffect, find_setting_effects

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# More bars would be too thin to read.
_MAX_BARS = 12


def plot_settings(search: FittedSearch, ax: Axes | None = None) -> Axes:
    """Draw how strongly each numeric parameter went together with the score.

    A bar is Spearman's rank correlation among n candidates with the same learner and the same subset: 1 means that
    higher values always had higher scores, -1 that they always had lower ones. A grey bar may be chance: without any
    effect, a bar of its length occurs in more than 5 % of cases. The search stays near good settings, so the bars
    describe what was tried, not the whole space.

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
    effects = find_setting_effects(search)[:_MAX_BARS]
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
