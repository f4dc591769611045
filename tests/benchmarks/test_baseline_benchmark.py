"""Benchmarks of README.md and of the page on five million rows, on few rows."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
baseline = import_module("baseline")
covtype = import_module("covtype")
five_million_rows = import_module("five_million_rows")
synthetic_data = import_module("_synthetic_data")


@pytest.fixture
def split():
    X, y = make_classification(6_000, n_informative=6, random_state=0)
    return covtype.CovtypeSplit(X[:5_000], y[:5_000], X[5_000:], y[5_000:])


@pytest.fixture
def learner():
    return LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbosity=-1)


def a_result(way, accuracy, seconds=19.0):
    return baseline.BaselineResult(way, seconds, 1_000, accuracy, (baseline.Step(2.0, 1_000, accuracy),))


@pytest.mark.parametrize("way", ["fitwithin", "random rows, doubling"])
def test_the_steps_of_a_limited_fit_have_test_accuracies_in_order_of_time(way, split, learner):
    found = baseline.fit_within_limit(way, learner, split, 60.0, seed=0)

    times = [step.seconds for step in found.steps]
    assert times == sorted(times)
    assert times[-1] <= found.seconds <= 60
    assert found.steps[-1].accuracy == pytest.approx(found.accuracy)
    assert found.accuracy > 0.7


def test_a_plain_fit_has_one_step_with_every_row(split, learner):
    found = baseline.fit_plainly(learner, split)

    assert found.rows == 5_000
    assert [step.rows for step in found.steps] == [5_000]


def test_being_late_or_less_accurate_than_random_rows_misses_a_goal():
    ways = "fitwithin", "random rows, doubling"
    good = [a_result(ways[0], 0.9), a_result(ways[1], 0.8)]
    bad = [a_result(ways[0], 0.7), a_result(ways[1], 0.8, seconds=20.2)]

    assert [goal.met for goal in baseline.make_goals(good, 20.0)] == [True, True]
    assert [goal.met for goal in baseline.make_goals(bad, 20.0)] == [False, False]


def test_a_fit_on_a_file_is_within_its_limit_and_its_plain_fit_has_every_row(tmp_path, capsys):
    X, y = synthetic_data.make_pool(6_000, 8, file=tmp_path / "rows.npy")
    learner = five_million_rows.make_learner(5, 7)

    within = five_million_rows.fit_within_limit(learner, X, y, 5_000, 60.0, None)
    plain = five_million_rows.fit_plainly(learner, X, y, 5_000)

    assert within.seconds <= 60
    assert within.rows <= plain.rows == 5_000
    assert " rows" in capsys.readouterr().out
    assert [row[0] for row in five_million_rows.make_table([within, plain]).rows] == [within.way, plain.way]
