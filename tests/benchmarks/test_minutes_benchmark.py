"""Benchmark with limits of minutes: plan, ways, resumable runs and summary, on few rows."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from fitwithin_paper.study.result_log import ResultLog
from fitwithin_paper.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
minutes, pairs, summary, ways = map(import_module, ("minutes", "_minutes_pairs", "_minutes_summary", "_minutes_ways"))


@pytest.fixture
def rows():
    X, y = make_classification(6_000, n_informative=6, random_state=0)
    return TrainTestRows(X, y, 5_000)


def a_run(way, accuracy, *, ratio=0.5, seconds=10.0, pair="forest"):
    limit = None if ratio is None else 20 * ratio
    return summary.MinutesRun(pair, way, ratio, limit, seconds, 1_000, accuracy)


def test_the_plan_begins_each_pair_with_the_fit_that_sets_its_limits():
    planned = list(minutes.plan_runs(["SVC", "booster"], [0.1, 0.5], 0, 1.0))

    assert [run.pair.name for run in planned if run.way == ways.PLAIN] == ["booster", "SVC"]
    assert planned[0].way == ways.PLAIN
    assert {run.way for run in planned if run.pair.name == "SVC"} == set(ways.WAYS) - {ways.CALLBACK}
    assert {run.way for run in planned if run.pair.name == "booster"} == set(ways.WAYS)


@pytest.mark.parametrize("way", [ways.PLAIN, ways.SIZED, ways.CALLBACK])
def test_a_way_returns_the_accuracy_and_the_rows_of_its_model(way, rows):
    learner = LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbosity=-1)

    found = ways.run_way(way, ways.FitTask(learner, rows, 60.0, 0))

    assert found["accuracy"] > 0.7
    assert found["rows"] == 5_000
    assert found["seconds"] < 60


def test_a_sized_sample_has_fewer_rows_with_a_limit_that_a_part_of_the_rows_takes(rows):
    class Clock:
        seconds = 0.0

    class OneSecondARow(GaussianNB):
        def fit(self, X, y):
            Clock.seconds += len(X)
            return super().fit(X, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ways.time, "perf_counter", lambda: Clock.seconds)
        fitted = ways.fit_sized_sample(ways.FitTask(OneSecondARow(), rows, 1_050.0, 0))

    assert fitted.rows == 900
    assert fitted.seconds == 950


def test_a_run_that_is_in_the_log_is_not_made_again(tmp_path, monkeypatch):
    made = []

    def note_run(run, data, full_seconds):
        made.append((run.way, run.ratio, full_seconds))
        limit = None if run.ratio is None else run.ratio * full_seconds
        seconds = limit or 8.0
        return {**run.key, "limit": limit, "load": 0.0, "accuracy": 0.9, "rows": 10, "seconds": seconds, "stop": ""}

    monkeypatch.setattr(minutes, "run_in_fresh_process", note_run)
    arguments = ["--data", str(tmp_path), "--pairs", "SVC", "--results", str(tmp_path), "--ratios"]
    assert minutes.main([*arguments, "0.5"]) == 0
    assert made == [(ways.PLAIN, None, None), *((way, 0.5, 8.0) for way in (ways.FITWITHIN, ways.SIZED, ways.DOUBLING))]

    made.clear()
    minutes.main([*arguments, "0.5", "0.25"])

    assert {ratio for _, ratio, _ in made} == {0.25}
    assert len(ResultLog(tmp_path / "minutes.jsonl").find_lines("fit")) == 7


def test_a_model_that_came_too_late_is_no_model_in_time():
    runs = [a_run("fitwithin", 0.8), a_run("sized sample", 0.9, seconds=15.0), a_run("doubling", 0.79)]
    runs.append(a_run("plain fit", 0.9, ratio=None, seconds=20.0))

    lines = {line[0]: line[1] for line in summary.make_comparison(runs).rows}

    assert lines == {
        "sized sample": "1 / 0 / 0",
        "doubling": "1 / 0 / 0, +1.00",
        "callback": "",
        "plain fit": "0 / 0 / 1, -10.00",
    }


def test_the_table_says_how_late_a_rival_was():
    runs = [a_run("plain fit", 0.9, ratio=None), a_run("fitwithin", 0.8), a_run("sized sample", 0.9, seconds=15.0)]

    (line,) = summary.make_pair_table(runs, {"forest": "a forest"}).rows

    assert line[:5] == ["a forest", "10", "0.5", "80.00 %, 1,000", "90.00 %, 1,000, **5.0 s late**"]


def test_goals_are_missed_by_a_late_fit_and_by_a_worse_model_with_enough_time():
    plain = a_run("plain fit", 0.9, ratio=None)

    in_time = summary.make_goals([plain, a_run("fitwithin", 0.898, ratio=1.2)])
    late = summary.make_goals([plain, a_run("fitwithin", 0.8, ratio=1.2, seconds=24.2)])

    assert [goal.met for goal in in_time] == [True, True, True]
    assert [goal.met for goal in late] == [False, True, False]


def test_a_scale_takes_fewer_rows_of_a_learner_whose_time_grows_with_their_square(monkeypatch):
    X, y = make_classification(2_000, random_state=0)

    class Dataset:
        n_rows = 1_600

        def select_rows(self, n_rows, n_test):
            return TrainTestRows(X, y, n_rows)

    class Opened:
        def __enter__(self):
            return Dataset()

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(pairs, "open_dataset", lambda name, load: Opened())
    (svc,) = (pair for pair in pairs.PAIRS if pair.name == "SVC")

    assert svc.read_rows(None, 0.25).n_train == 800
    assert svc.read_rows(None, 0.25).n_test == 400
