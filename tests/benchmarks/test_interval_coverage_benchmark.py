"""Coverage benchmark: intervals of the estimate against the accuracy on a large test set."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
coverage = import_module("interval_coverage")


def make_result(accuracy=0.8, low=0.79, high=0.82, learner="decision-tree"):
    estimate = None if low is None else (low + high) / 2
    return coverage.IntervalResult(learner, accuracy, estimate, low, high, 1000, 1.0)


@pytest.mark.parametrize(("accuracy", "held"), [(0.78, False), (0.79, True), (0.82, True), (0.83, False)])
def test_an_interval_holds_its_ends_and_what_is_between(accuracy, held):
    assert make_result(accuracy).is_held is held


def test_a_fit_without_an_estimate_holds_nothing_and_misses_a_goal():
    result = make_result(low=None, high=None)

    assert not result.is_held
    assert [goal.met for goal in coverage.make_goals([result])] == [False, False]


@pytest.mark.parametrize(("held", "met"), [(92, False), (93, True), (98, True), (99, False)])
def test_too_few_and_too_many_intervals_miss_the_goal(held, met):
    results = [make_result()] * held + [make_result(0.9)] * (100 - held)

    assert coverage.make_goals(results)[0].met is met


def test_the_table_tells_on_which_side_the_accuracy_was():
    results = [make_result(), make_result(0.9), make_result(0.7, learner="lightgbm"), make_result(low=None, high=None)]

    rows = coverage.make_table(results).rows

    assert [row[:6] for row in rows] == [
        ["decision-tree", "3", "33.3", "33.3", "0.0", "1"],
        ["lightgbm", "1", "0.0", "0.0", "100.0", "0"],
        ["all", "4", "25.0", "25.0", "25.0", "1"],
    ]


def test_a_fit_without_a_model_misses_a_goal():
    assert [goal.met for goal in coverage.make_goals([make_result()] * 19 + [make_result(0.9)], 1)] == [True, False]


@pytest.mark.slow
def test_the_command_fits_and_reports_without_a_folder(tmp_path, capsys):
    coverage.main(["--dataset", "made-up", "--fits", "4", "--rows", "5000", "--results", str(tmp_path)])

    fits = json.loads((tmp_path / "interval_coverage.json").read_text())["fits"]
    assert [fit["learner"] for fit in fits] == list(coverage.LEARNERS)
    assert all(fit["low"] < fit["estimate"] < fit["high"] for fit in fits)
    assert "of 4 (" in capsys.readouterr().out


def test_a_folder_is_needed_for_a_real_data_set(monkeypatch, capsys):
    monkeypatch.delenv("FITWITHIN_DATA", raising=False)

    with pytest.raises(SystemExit):
        coverage.main([])

    assert "pass --data FOLDER, or --dataset made-up" in capsys.readouterr().err
