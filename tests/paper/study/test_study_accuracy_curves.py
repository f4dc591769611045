"""Accuracy over normalised time, by the paper's equation (1)."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin_paper.study.accuracy_curves import (
    TIME_SHARES,
    compare_teachers,
    compute_dataset_curve,
    compute_run_curve,
    describe_final_accuracies,
    spread_labels,
)
from fitwithin_paper.study.paper_results import PaperResults
from fitwithin_paper.study.study_results import StudyResults


def lines_of(dataset, teacher, seed, *rounds, limit=10.0, returned=None):
    """Rounds as (elapsed, accuracy, best), and their run."""
    who = {"dataset": dataset, "learner": "lightgbm", "teacher": teacher, "seed": seed}
    lines = [
        {"kind": "round", **who, "number": number, "elapsed": elapsed, "accuracy": accuracy, "best": best}
        for number, (elapsed, accuracy, best) in enumerate(rounds, 1)
    ]
    accuracy = [accuracy for _, accuracy, best in rounds if best][-1] if returned is None else returned
    run = {"kind": "run", **who, "limit": limit, "accuracy": accuracy, "rows": 9, "used": limit, "error": None}
    return [*lines, run]


def full(dataset, accuracy, seed=0):
    return lines_of(dataset, "full", seed, limit=None, returned=accuracy)


def at(curve, time):
    return curve.accuracies[np.flatnonzero(np.isclose(TIME_SHARES, time))[0]]


def test_a_curve_follows_the_latest_chosen_model():
    (run,) = StudyResults.from_lines(
        lines_of("a", "tct", 0, (2.0, 0.6, True), (4.0, 0.9, False), (6.0, 0.7, True), limit=8.0)
    ).runs

    found = compute_run_curve(run, np.array([0.0, 0.2499, 0.25, 0.6, 0.75, 1.0]))

    np.testing.assert_array_equal(found, [np.nan, np.nan, 0.6, 0.6, 0.7, 0.7])


def test_at_the_time_limit_the_accuracy_is_that_of_the_returned_model():
    """Also where its round was not evaluated, or ended within the deadline's last moment."""
    (run,) = StudyResults.from_lines(lines_of("a", "tct", 0, (2.0, 0.6, True), returned=0.8)).runs

    np.testing.assert_array_equal(compute_run_curve(run, np.array([0.5, 0.999, 1.0])), [0.6, 0.6, 0.8])


def test_a_run_without_a_limit_has_no_curve():
    (run,) = StudyResults.from_lines(full("a", 0.8)).runs

    assert np.isnan(compute_run_curve(run)).all()


def test_the_average_is_over_the_seeds_and_then_over_the_data_sets():
    """One data set with two seeds, one with one: each data set weighs the same."""
    lines = [
        *lines_of("a", "tct", 0, (1.0, 0.50, True), (5.0, 0.70, True)),
        *lines_of("a", "tct", 1, (1.0, 0.60, True), (8.0, 0.80, True)),
        *lines_of("b", "tct", 0, (10.0, 0.10, True), (50.0, 0.30, True), limit=100.0),
        *full("a", 0.9),
        *full("b", 0.5),
    ]

    found = compare_teachers(StudyResults.from_lines(lines), "lightgbm", ("tct", "full"))
    tct, whole = found.curves

    assert at(tct, 0.2) == pytest.approx(((0.5 + 0.6) / 2 + 0.1) / 2)
    assert at(tct, 0.6) == pytest.approx(((0.7 + 0.6) / 2 + 0.3) / 2)
    assert tct.final_accuracy == pytest.approx(((0.7 + 0.8) / 2 + 0.3) / 2)
    np.testing.assert_allclose(whole.accuracies, 0.7)
    assert found.seed_counts == (1, 2)


def test_an_average_begins_when_the_last_data_set_has_a_model():
    lines = [
        *lines_of("a", "tct", 0, (1.0, 0.5, True)),
        *lines_of("b", "tct", 0, (4.0, 0.5, True)),
        *full("a", 0.9),
        *full("b", 0.9),
    ]

    found = compare_teachers(StudyResults.from_lines(lines), "lightgbm", ("tct", "full"))

    assert found.curves[0].start_time == pytest.approx(0.4)
    assert "lines begin when every one has a model" in found.description


def test_teachers_are_compared_on_the_data_sets_that_all_of_them_finished():
    lines = [
        *lines_of("a", "tct", 0, (1.0, 0.5, True)),
        *lines_of("b", "tct", 0, (1.0, 0.9, True)),
        *lines_of("b", "double", 0, (1.0, 0.8, True)),
    ]

    found = compare_teachers(StudyResults.from_lines(lines), "lightgbm", ("tct", "double", "full"))

    assert found.datasets == ("b",)
    assert [(curve.teacher, curve.final_accuracy) for curve in found.curves] == [("tct", 0.9), ("double", 0.8)]
    assert found.description.startswith("1 data set, 1 seed;")


@pytest.mark.parametrize(
    "lines",
    [
        [],
        lines_of("a", "tct", 0, (1.0, 0.5, True)),
        [*lines_of("a", "tct", 0, (1.0, 0.5, True)), *lines_of("b", "double", 0, (1.0, 0.5, True))],
    ],
)
def test_with_nothing_to_compare_there_is_no_comparison(lines):
    assert compare_teachers(StudyResults.from_lines(lines), "lightgbm", ("tct", "double")) is None


def test_seed_counts_ignore_full_trainings():
    lines = [*lines_of("a", "tct", 0, (1.0, 0.5, True)), *(line for seed in range(4) for line in full("a", 0.9, seed))]

    assert compare_teachers(StudyResults.from_lines(lines), "lightgbm", ("tct", "full")).seed_counts == (1, 1)


def test_a_data_set_without_runs_has_no_curve():
    assert compute_dataset_curve(StudyResults.from_lines([]), "lightgbm", "a", "tct") is None


def test_the_papers_final_accuracies_are_averaged_over_the_same_data_sets_or_omitted():
    known = [
        line
        for dataset in ("covtype", "mnist")
        for line in [*lines_of(dataset, "tct", 0, (1.0, 0.5, True)), *full(dataset, 0.9)]
    ]
    other = [*lines_of("unsw", "tct", 0, (1.0, 0.5, True)), *full("unsw", 0.9)]
    paper = PaperResults.read("main")

    same = compare_teachers(StudyResults.from_lines(known), "lightgbm", ("tct", "full"))
    more = compare_teachers(StudyResults.from_lines(known + other), "lightgbm", ("tct", "full"))

    assert same.average_final_accuracies(paper) == pytest.approx(
        {"tct": (0.866 + 0.974) / 2, "full": (0.853 + 0.977) / 2}
    )
    assert more.average_final_accuracies(paper) == {}
    assert (
        "Final accuracy on the 2 data sets that the paper has too: TCT 50.0 here, 92.0 in the paper"
        in describe_final_accuracies(StudyResults.from_lines(known + other), paper, more)
    )


def test_without_a_data_set_of_the_paper_its_final_accuracies_are_omitted():
    lines = [*lines_of("unsw", "tct", 0, (1.0, 0.5, True)), *full("unsw", 0.9)]
    study = StudyResults.from_lines(lines)

    said = describe_final_accuracies(
        study, PaperResults.read("main"), compare_teachers(study, "lightgbm", ("tct", "full"))
    )

    assert said == "The paper has none of these data sets for this learner."


@given(st.lists(st.floats(0, 1), max_size=6), st.floats(0.001, 0.5))
def test_labels_are_moved_apart_and_keep_their_order(heights, gap):
    placed = spread_labels(heights, gap)
    ranked = [placed[i] for i in sorted(range(len(heights)), key=lambda i: heights[i])]

    assert all(upper - lower >= gap - 1e-9 for lower, upper in pairwise(ranked))
    assert sum(placed) == pytest.approx(sum(heights), abs=1e-6)


def test_labels_that_are_apart_stay_where_they_are():
    assert spread_labels([0.9, 0.1, 0.5], gap=0.2) == [0.9, 0.1, 0.5]
