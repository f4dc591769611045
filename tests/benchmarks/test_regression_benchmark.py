"""Regression benchmark: data, runs, comparison and command."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.tree import DecisionTreeRegressor

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
names = "_regression_data", "_options", "_regression_pairs", "regression", "_regression_runs", "_regression_summary"
data, options, pairs, regression, runs, summary = map(import_module, names)
PAIR = pairs.RegressionPair("friedman1", "hist-gradient-boosting")
FITWITHIN, DOUBLING, PLAIN = runs.FITWITHIN, runs.DOUBLING, runs.PLAIN


@pytest.fixture
def split():
    X, y = make_friedman1(4_000, noise=1.0, random_state=0)
    return data.RegressionSplit.make(data.RegressionTable(X.astype(np.float32), y), seed=0)


def a_run(way, r2, *, dataset="friedman1", seed=0, share=0.25, seconds=5.0):
    """Return a run of a pair whose limits are 5 s and 10 s."""
    share = None if way == PLAIN else share
    limit = None if share is None else 20 * share
    return runs.RegressionRun(dataset, "mlp", seed, way, 1_000, 10, seconds, 1_000, r2, share, limit)


def all_runs(ours, doubling, plain=0.9, **settings):
    """Return the runs of one pair and seed, with the same scores at both limits."""
    limited = [a_run(way, r2, share=share, **settings) for share in runs.SHARES for way, r2 in (ours, doubling)]
    return [a_run(PLAIN, plain, **settings), *limited]


def findings_of(*differences):
    """Return findings with one data set for each difference between fitwithin and doubling."""
    found = []
    for dataset, difference in zip(data.DATASETS, differences, strict=False):
        ours = None if difference is None else 0.8 + difference
        found += all_runs((FITWITHIN, ours), (DOUBLING, 0.8), dataset=dataset)
    return summary.RegressionFindings(found)


# Data


def test_text_becomes_numbers_and_missing_values_stay_missing():
    frame = pd.DataFrame({"a": pd.Categorical(["x", None, "y"]), "b": ["p", "q", None], "c": [1, 2, 3]})

    np.testing.assert_array_equal(data.encode_columns(frame), [[0, 0, 1], [np.nan, 1, 2], [1, np.nan, 3]])


def test_a_column_of_a_file_is_predicted_by_the_others_and_rows_without_it_are_left_out(tmp_path):
    pd.DataFrame({"size": [1, 2, 3, 4], "cost": [0.0, 1.0, None, 3.0], "target": list("abab")}).to_parquet(
        tmp_path / "shop.parquet"
    )

    table = data.RegressionDataset("cost", "shop", "cost", log=True).read(tmp_path)

    np.testing.assert_array_equal(table.X, [[1, 0], [2, 1], [4, 1]])
    np.testing.assert_allclose(table.y, np.log([1, 2, 4]))


def test_training_and_test_rows_are_apart_and_change_with_the_seed():
    table = data.RegressionTable(np.arange(100, dtype=np.float32)[:, None], np.arange(100.0))

    first, second = (data.RegressionSplit.make(table, seed) for seed in (0, 1))
    few = data.RegressionSplit.make(table, 0, max_train=10)

    assert sorted([*first.y, *first.y_test]) == list(range(100))
    assert len(first.y_test) == 30
    assert set(first.y_test) != set(second.y_test)
    np.testing.assert_array_equal(few.y, first.y[:10])
    np.testing.assert_array_equal(few.y_test, first.y_test)


def test_the_pairs_are_grouped_by_data_set_and_have_no_name_twice():
    names = [pair.name for pair in pairs.PAIRS]
    groups = [pair.dataset for pair in pairs.PAIRS]

    assert len(set(names)) == len(names)
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)
    assert {pair.learner for pair in pairs.PAIRS} == set(pairs.LEARNERS)
    assert set(groups) == set(data.DATASETS)


# Runs


def test_a_plain_fit_has_every_row(split):
    found = runs.fit_plainly(PAIR, DecisionTreeRegressor(max_depth=6, random_state=0), split, seed=0)

    assert found.rows == found.train_rows == 2_800
    assert found.r2 > 0.5
    assert found.late_seconds is None


@pytest.mark.parametrize("way", [FITWITHIN, DOUBLING])
def test_a_limited_fit_is_scored_on_the_test_rows_and_timed(way, split):
    learner = DecisionTreeRegressor(max_depth=6, random_state=0)

    found = runs.fit_within_limit(way, PAIR, learner, split, 0, 0.5, 60.0)

    assert found.r2 > 0.5
    assert found.rows <= 2_800
    assert found.late_seconds == pytest.approx(found.seconds - 60)
    assert found.late_seconds < 0


def test_a_fit_without_a_model_is_a_result(split):
    found = runs.fit_within_limit(FITWITHIN, PAIR, DecisionTreeRegressor(), split, 0, 0.5, 1e-4)

    assert (found.r2, found.rows) == (None, None)
    assert "no model" in str(found)


def test_each_seed_begins_with_another_way(split, monkeypatch):
    monkeypatch.setattr(runs, "fit_within_limit", lambda way, *rest: (way, rest[4], rest[5]))
    monkeypatch.setattr(runs, "fit_plainly", lambda *_: a_run(PLAIN, 0.9, seconds=20.0))

    first, second = (list(runs.run_pair(PAIR, split, seed))[1:] for seed in (0, 1))

    assert first == [(FITWITHIN, 0.25, 5.0), (DOUBLING, 0.25, 5.0), (DOUBLING, 0.5, 10.0), (FITWITHIN, 0.5, 10.0)]
    assert second == [(DOUBLING, 0.25, 5.0), (FITWITHIN, 0.25, 5.0), (FITWITHIN, 0.5, 10.0), (DOUBLING, 0.5, 10.0)]


# Comparison


def test_only_differences_of_more_than_half_a_hundredth_are_wins_and_losses():
    found = findings_of(0.02, 0.004, -0.004, -0.02).compare(DOUBLING, 0.25)

    assert (found.tally.wins, found.tally.ties, found.tally.losses) == (1, 2, 1)
    assert found.differences.smallest == ("unsw_nb15, mlp", pytest.approx(-0.02))


def test_no_model_is_a_loss_without_a_difference_and_misses_a_goal():
    findings = findings_of(0.01, None)

    found = findings.compare(DOUBLING, 0.5)

    assert (found.tally.wins, found.tally.losses) == (1, 1)
    assert len(found.differences) == 1
    assert [goal.met for goal in summary.make_goals(findings)] == [True, False, True, True]


def test_a_pair_with_one_seed_without_a_model_has_no_mean():
    every = [a_run(FITWITHIN, 0.8, seed=0), a_run(FITWITHIN, None, seed=1)]

    assert summary.RegressionFindings(every).mean_r2("friedman1, mlp", FITWITHIN, 0.25) is None


@pytest.mark.parametrize(("difference", "met"), [(-0.006, False), (-0.004, True), (0.1, True)])
def test_being_worse_than_doubling_in_the_median_misses_both_goals(difference, met):
    goals = summary.make_goals(findings_of(-0.3, difference, 0.3))

    assert [goal.met for goal in goals] == [True, True, met, met]


@pytest.mark.parametrize(("seconds", "met"), [(5.09, True), (5.11, False)])
@pytest.mark.parametrize("way", [FITWITHIN, DOUBLING])
def test_one_late_fit_misses_a_goal(way, seconds, met):
    every = [*all_runs((FITWITHIN, 0.8), (DOUBLING, 0.8)), a_run(way, 0.8, seed=1, seconds=seconds)]

    goal = summary.make_goals(summary.RegressionFindings(every))[0]

    assert goal.met is met
    assert f"{way} at 1/4, seed 1" in goal.text


def test_the_tables_have_means_over_the_seeds():
    every = [
        *all_runs((FITWITHIN, 0.8), (DOUBLING, 0.7), plain=0.9, seed=0),
        *all_runs((FITWITHIN, 0.82), (DOUBLING, None), plain=0.91, seed=1),
    ]
    findings = summary.RegressionFindings(every)

    (line,) = summary.make_pair_table(findings).rows
    against_plain = summary.make_comparison_table(findings).rows[2]

    assert line[3:] == ["5.0", "0.9050", "0.0100", "0.8100", "no model", "0.8100", "no model"]
    assert against_plain[:5] == [PLAIN, "1/4", "0 / 0 / 1", "-0.0950", "-0.0950"]
    assert len(summary.make_run_table(findings).rows) == len(every)


# Command


@pytest.mark.slow
def test_the_command_runs_a_generated_pair_without_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FITWITHIN_DATA", raising=False)
    for variable in options.THREAD_VARIABLES:
        monkeypatch.setenv(variable, "1")
    arguments = ["--only", PAIR.name, "--seeds", "1", "--rows", "3000", "--results", str(tmp_path)]

    regression.main(arguments)

    found = json.loads((tmp_path / "regression.json").read_text())["runs"]
    assert [(run["way"], run["share"]) for run in found] == [
        (PLAIN, None),
        (FITWITHIN, 0.25),
        (DOUBLING, 0.25),
        (DOUBLING, 0.5),
        (FITWITHIN, 0.5),
    ]
    assert found[0]["r2"] > 0.8
    assert "## Difference in R2" in capsys.readouterr().out


def test_real_data_sets_need_a_folder(monkeypatch, capsys):
    monkeypatch.delenv("FITWITHIN_DATA", raising=False)

    with pytest.raises(SystemExit):
        regression.main([])

    assert "pass --data FOLDER" in capsys.readouterr().err


def test_a_text_that_no_pair_contains_is_answered_with_the_pairs(capsys):
    with pytest.raises(SystemExit):
        regression.main(["--only", "boston"])

    assert "friedman1, hist-gradient-boosting" in capsys.readouterr().err
