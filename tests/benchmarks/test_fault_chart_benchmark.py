"""Chart of faults: the booster that goes wrong, tools, outcomes and tables."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
sys.path.append(str(Path(__file__).parents[2] / "docs" / "pictures"))
booster, chart, runs, ways = map(
    import_module, ("_fault_booster", "fault_chart", "_fault_chart_run", "_fault_chart_ways")
)


@pytest.fixture
def rows():
    return make_classification(2_000, n_informative=6, random_state=0)


def a_run(tool="fitwithin", job="hangs", **changes):
    run = runs.FaultRun(tool, job, 20.0, 20.0, "returned", accuracy=0.9, rows=1_000, since=12.0)
    return replace(run, **changes)


def test_the_booster_is_sound_up_to_its_number_of_rows(rows):
    X, y = rows

    model = booster.FaultyBooster("crashes", above=2_000, n_estimators=20).fit(X, y)

    assert model.score(X, y) > 0.9


def test_the_slow_step_comes_once_and_only_with_more_rows(rows, monkeypatch):
    X, y = rows
    waits = []
    monkeypatch.setattr(booster.time, "sleep", waits.append)
    learner = booster.FaultyBooster("one slow step", above=1_000, seconds=7.0, n_estimators=20)

    learner.fit(X[:1_000], y[:1_000])
    assert waits == []
    learner.fit(X, y)
    assert waits == [7.0]


def test_a_callback_ends_the_fit_after_the_tree_at_the_limit(rows):
    X, y = rows
    task = ways.FaultTask(X, y, 0.0, booster.FaultyBooster(booster.JOBS[-1], above=2_000), 10**9)

    fitted, _, error = ways.call_tool("LightGBM, callback", task)

    assert error == ""
    assert fitted.model.model_.booster_.current_iteration() == 1


def test_an_error_of_a_tool_is_a_result(rows):
    X, _ = rows
    task = ways.FaultTask(X, np.zeros(3), 1.0, booster.FaultyBooster("hangs"), 10**9)

    fitted, _, error = ways.call_tool("timeout(1)", task)

    assert (fitted.model, error) == (None, "ValueError")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "+0.00 s, model, 90.0 %"),
        ({"ended": "hard stop", "accuracy": None, "seconds": 60.1}, "**over 3 x**, no model"),
        ({"ended": "died", "accuracy": None, "seconds": 3.0}, "-17 s, **program died**, no model"),
        ({"accuracy": None, "error": "TimeoutError"}, "+0.00 s, no model (TimeoutError)"),
        ({"left": ("process: a", "process: b")}, "+0.00 s, model, 90.0 %; left: 2 processes"),
        ({"left_after_exit": ("/dev/shm: a",)}, "+0.00 s, model, 90.0 %; left: 1 /dev/shm"),
    ],
)
def test_a_cell_says_when_it_ended_with_which_model_and_what_it_left(changes, text):
    assert chart.describe_run(a_run(**changes)) == text


def test_goals_are_about_this_package_alone():
    others = [a_run("FLAML", seconds=60.0, ended="hard stop", accuracy=None)]

    assert [goal.met for goal in chart.make_goals([a_run(), *others])] == [True, True, True]
    assert [goal.met for goal in chart.make_goals([a_run(seconds=20.2, left=("process: a",))])] == [False, True, False]


def test_the_tables_have_a_line_for_each_tool_and_a_column_for_each_job():
    every = [a_run(tool, job) for job in booster.JOBS for tool in ("fitwithin", "FLAML")]

    for table in chart.make_tables(every):
        assert table.columns == ("tool", *booster.JOBS)
        assert [line[0] for line in table.rows] == ["fitwithin", "FLAML"]


@pytest.mark.slow
def test_a_job_that_hangs_is_ended_and_a_program_that_crashes_has_died(tmp_path):
    chart.write_rows(tmp_path, 4_000)
    settings = {"limit": 2.0, "trees": 20, "above": 2_000, "max_bytes": 10**10, "folder": str(tmp_path)}

    hung = runs.run_job(sys.executable, "LightGBM, callback", {"job": "hangs", **settings})
    crashed = runs.run_job(sys.executable, "LightGBM, callback", {"job": "crashes", **settings})

    assert (hung.ended, hung.accuracy) == ("hard stop", None)
    assert (crashed.ended, crashed.accuracy) == ("died", None)
