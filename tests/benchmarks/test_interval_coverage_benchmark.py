"""Coverage benchmark: intervals of the estimate against the accuracy on a large test set."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from fitwithin_paper.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
coverage = import_module("interval_coverage")


def make_result(score=0.8, low=0.79, high=0.82, **names):
    estimate = None if low is None else (low + high) / 2
    return coverage.IntervalResult("decision-tree", score, estimate, low, high, 1000, 1.0, **names)


@pytest.mark.parametrize(("score", "held"), [(0.78, False), (0.79, True), (0.82, True), (0.83, False)])
def test_an_interval_holds_its_ends_and_what_is_between(score, held):
    assert make_result(score).is_held is held


def test_a_fit_without_an_estimate_holds_nothing_and_misses_a_goal():
    result = make_result(low=None, high=None)

    assert not result.is_held
    assert [goal.met for goal in coverage.make_goals([result])] == [False, True, False]


@pytest.mark.parametrize(("held", "met"), [(92, False), (93, True), (98, True), (99, False)])
def test_too_few_and_too_many_intervals_miss_the_goal(held, met):
    results = [make_result()] * held + [make_result(0.9)] * (100 - held)

    assert coverage.make_goals(results)[0].met is met


def test_the_table_tells_on_which_side_the_score_was():
    results = [make_result(), make_result(0.9), make_result(0.7, case="F1"), make_result(low=None, high=None)]

    rows = coverage.make_table(results).rows

    assert [row[:6] for row in rows] == [
        ["accuracy", "3", "50.0", "50.0", "0.0", "1"],
        ["F1", "1", "0.0", "0.0", "100.0", "0"],
        ["all", "4", "33.3", "33.3", "33.3", "1"],
    ]


def test_an_interval_outside_of_the_range_misses_a_goal_and_a_rare_class_needs_no_estimate():
    rare = make_result(low=None, high=None, case="AUC, rare class")

    assert not coverage.make_goals([make_result(high=1.01)])[1].met
    assert not coverage.make_goals([make_result(low=0.0, high=1.01)])[1].met
    assert not coverage.make_goals([make_result(low=-0.1)])[1].met
    assert coverage.make_goals([make_result(low=-0.1, case="R2")])[1].met
    assert coverage.make_goals([make_result(), rare])[-1].met


@pytest.mark.parametrize("case", coverage.CASES, ids=lambda case: case.name)
def test_a_case_has_rows_for_training_and_others_for_the_test(case):
    rng = np.random.default_rng(0)
    rows = coverage.CoverageRows.make(TrainTestRows(rng.random((3_000, 4)), rng.integers(5, size=3_000), 2_000), case)

    sample, test = rows.draw(0, 500)

    assert len(sample) == 500
    assert sample.max() < rows.n_train <= test.min()
    assert (rows.groups is not None) is case.grouped
    if rows.groups is not None:
        assert not set(rows.groups[sample]) & set(rows.groups[test])
    if case.positive is not None:
        assert abs(rows.y.mean() - case.positive) < 0.02


def test_a_fit_without_a_model_misses_a_goal():
    assert [goal.met for goal in coverage.make_goals([make_result()] * 19 + [make_result(0.9)], 1)] == [
        True,
        True,
        False,
    ]


@pytest.mark.slow
def test_the_command_fits_and_reports_without_a_folder(tmp_path, capsys):
    cases = ["--cases", "accuracy", "F1", "--fits", "2"]
    coverage.main(["--datasets", "synthetic", *cases, "--rows", "5000", "--seconds", "4", "--results", str(tmp_path)])

    fits = json.loads((tmp_path / "interval_coverage.json").read_text())["fits"]
    assert [fit["case"] for fit in fits] == ["accuracy", "accuracy", "F1", "F1"]
    assert all(fit["low"] < fit["estimate"] < fit["high"] for fit in fits)
    assert "of 2 (" in capsys.readouterr().out


def test_a_folder_is_needed_for_a_real_data_set(monkeypatch, capsys):
    monkeypatch.delenv("FITWITHIN_DATA", raising=False)

    with pytest.raises(SystemExit):
        coverage.main([])

    assert "pass --data FOLDER, or --datasets synthetic" in capsys.readouterr().err
