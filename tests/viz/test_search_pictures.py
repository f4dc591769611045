"""Pictures of a search: the race, and the settings that mattered."""

import numpy as np
import pytest

from fitwithin import viz
from fitwithin.viz._search_pictures import MIN_CANDIDATES, find_setting_effects
from fitwithin.viz._style import BLUE, EDGE, GREEN, ORANGE
from picture_parts import axes, legend_of
from sample_fits import a_fit, a_round, a_search

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgba  # noqa: E402  # there is none without matplotlib


def points(ax, colour, *, filled):
    """Return the positions and sizes of the fits in one colour."""
    found = []
    for collection in ax.collections:
        offsets, edges = collection.get_offsets(), collection.get_edgecolors()
        if len(offsets) and len(edges) and tuple(edges[0]) == to_rgba(colour):
            is_filled = len(collection.get_facecolors()) > 0
            found += list(zip(offsets.tolist(), collection.get_sizes(), strict=True)) if is_filled is filled else []
    return found


def find_fits(search, candidate):
    return [finished for finished in search.history_ if finished.candidate == candidate]


def a_candidate(number, place, rows, score, **changes):
    return a_round(place, candidate=number, rows=rows, estimate=score, elapsed=float(place), **changes)


def test_each_fit_is_a_point_and_the_returned_candidate_is_green():
    search = a_search()

    ax = viz.plot_race(search, axes())

    green = [tuple(position) for position, _ in points(ax, GREEN, filled=True)]
    assert green == [(fit.elapsed, fit.estimate) for fit in find_fits(search, search.best_index_)]
    n_points = sum(len(points(ax, colour, filled=filled)) for colour in (BLUE, ORANGE) for filled in (True, False))
    assert n_points + len(green) == len(search.history_)


def test_a_candidate_that_was_dropped_ends_in_a_hollow_point():
    rounds = [a_candidate(0, 1, 100, 0.8), a_candidate(1, 2, 100, 0.7), a_candidate(0, 3, 400, 0.85)]
    search = a_search(6, n_failed=0, rounds=rounds, names=("tree",))
    search.best_index_ = 5

    ax = viz.plot_race(search, axes())

    assert [position for position, _ in points(ax, BLUE, filled=True)] == [[1.0, 0.8]]
    assert sorted(position for position, _ in points(ax, BLUE, filled=False)) == [[2.0, 0.7], [3.0, 0.85]]


def test_a_point_is_larger_with_more_training_rows():
    search = a_search()

    sizes = [size for _, size in points(viz.plot_race(search, axes()), GREEN, filled=True)]

    assert sizes == sorted(set(sizes))
    assert len(sizes) == 3


def test_scores_far_below_the_others_are_below_the_picture():
    rounds = [a_candidate(number, number + 1, 100, 0.9 + 0.01 * number) for number in range(5)]
    search = a_search(6, n_failed=0, rounds=[*rounds, a_candidate(5, 6, 100, -4.0)])

    ax = viz.plot_race(search, axes())

    assert "1 below the picture" in legend_of(ax)
    assert ax.get_ylim()[0] > 0.8


def test_the_score_estimate_is_in_the_picture_when_scores_are_below_it():
    rounds = [a_candidate(number, number + 1, 100, 0.7 + 0.01 * number) for number in range(5)]
    search = a_search(6, n_failed=0, rounds=[*rounds, a_candidate(5, 6, 100, 0.5)])

    ax = viz.plot_race(search, axes())

    _, low, high = search.score_estimate_
    assert "1 below the picture" in legend_of(ax)
    assert ax.get_ylim()[0] < low < high < ax.get_ylim()[1]


def test_the_legend_names_learners_sizes_failures_and_the_limit():
    legend = legend_of(viz.plot_race(a_search(), axes()))

    assert legend[:2] == ["lightgbm", "random-forest"]
    assert {"1,000 rows", "4,000 rows", "16,000 rows", "1 candidate failed", "time limit, 10 s"} <= set(legend)
    assert any(text.startswith("returned: ") for text in legend)


@pytest.mark.parametrize("picture", [viz.plot_race, viz.plot_settings])
def test_a_fit_that_is_no_search_is_refused(picture):
    with pytest.raises(TypeError, match="Got TimeConstrainedClassifier; expected a fitted TimeConstrainedSearch"):
        picture(a_fit(), axes())


def test_the_parameter_that_decides_the_score_has_the_strongest_correlation():
    effects = find_setting_effects(a_search(80, n_failed=0))

    assert {effect.parameter for effect in effects} == {"depth", "seed"}, "not the text"
    assert [effect.parameter for effect in effects[:2]] == ["depth", "depth"]
    for effect in effects:
        assert effect.is_clear == (effect.parameter == "depth")
        assert (effect.n_candidates, effect.n_rows) == (39, 1_000), "without the learner's own hyperparameters"


def test_candidates_are_compared_on_one_subset():
    """A parameter that only grew with the rows did not matter."""
    rounds = [a_candidate(number, number + 1, 100 * 4 ** (number // 10), 0.8) for number in range(20)]
    rng = np.random.default_rng(0)
    rounds = [
        a_candidate(one.candidate, one.number, one.rows, 0.7 + one.rows / 2000 + 0.01 * rng.random()) for one in rounds
    ]
    search = a_search(20, n_failed=0, rounds=rounds, names=("tree",))
    search.cv_results_["params"] = [{"growing": number // 10, "seed": number % 3} for number in range(20)]

    assert [effect.parameter for effect in find_setting_effects(search)] == ["seed"]


def test_few_candidates_have_no_correlation():
    search = a_search(MIN_CANDIDATES, n_failed=0, names=("tree",))

    assert find_setting_effects(search) == []
    assert "Fewer than 6 candidates" in viz.plot_settings(search, axes()).texts[0].get_text()


def test_clear_correlations_and_those_that_may_be_chance_differ_in_colour():
    ax = viz.plot_settings(a_search(80), axes())

    colours = {to_rgba(bar.get_facecolor()) for bar in ax.patches if bar.get_width()}
    assert colours == {to_rgba(BLUE), to_rgba(EDGE)}
    assert "depth\nlightgbm, n = 39" in [label.get_text() for label in ax.get_yticklabels()]
