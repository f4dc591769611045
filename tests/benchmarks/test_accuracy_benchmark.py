"""Accuracy benchmark: plan, rivals, resumable runs and summary."""

import importlib.util
import itertools
import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from fitwithin._core.environment import Environment
from fitwithin._research.study.raw_dataset import RawDataset
from fitwithin._research.study.result_log import ResultLog
from fitwithin._research.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
accuracy, flaml, plans, rivals, runs, summary, tables = map(
    import_module,
    (
        "accuracy",
        "_accuracy_flaml",
        "_accuracy_plan",
        "_accuracy_rivals",
        "_accuracy_runs",
        "_accuracy_summary",
        "_accuracy_tables",
    ),
)
Findings, FlamlRival, Outcome, Plan, RivalTask = (
    summary.Findings,
    flaml.FlamlRival,
    rivals.Outcome,
    plans.Plan,
    rivals.RivalTask,
)
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="a command that Windows does not have")

PAIR = plans.Pair("tune", "made up", "decision-tree", 2000, 1.0)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(3000, n_classes=3, n_informative=6, random_state=0)
    return TrainTestRows(X.astype(np.float32), y, 2000)


@pytest.fixture
def find():
    X, y = make_classification(3000, n_classes=3, n_informative=6, random_state=0)
    return lambda name: RawDataset(name, pd.DataFrame(X), pd.Series(y), "a test")


class FakeRival:
    """A rival with a fixed result."""

    def __init__(self, accuracy=0.8, fit_seconds=10.0, error=None):
        self.outcome = Outcome(fit_seconds, accuracy, fit_seconds, error=error)
        self.tasks = []

    def applies(self, learner):
        return True

    def run(self, task):
        self.tasks.append(task)
        return self.outcome


# The plan


def test_the_list_has_forty_to_fifty_distinct_pairs_with_known_learners():
    pairs = plans.read_pairs()

    assert 40 <= len(pairs) <= 50
    assert {pair.learner for pair in pairs} == set(rivals.LEARNERS)
    assert len({pair.name for pair in pairs}) == len(pairs)
    assert all(3 <= pair.seconds <= 60 for pair in pairs)


def test_a_data_set_is_in_one_half_only_and_is_read_once():
    pairs = plans.read_pairs()
    homes = {(pair.dataset, pair.half) for pair in pairs}
    datasets = {pair.dataset for pair in pairs}

    assert {half for _, half in homes} == set(plans.HALVES)
    assert len(homes) == len(datasets) == len(list(Plan(pairs).group_by_dataset()))


def test_the_short_plan_avoids_the_final_half():
    plan = plans.make_short_plan(plans.read_pairs())

    assert len(plan.pairs) == 8
    assert {pair.half for pair in plan.pairs} == {"tune"}
    assert plan.rivals == plans.SHORT_RIVALS
    assert all(
        short.rows <= pair.rows for short in plan.pairs for pair in plans.read_pairs() if short.name == pair.name
    )


def test_pairs_are_selected_by_half_and_text():
    pairs = plans.read_pairs()

    assert plans.select_pairs(pairs, "both") == pairs
    assert len(plans.select_pairs(pairs, "tune")) + len(plans.select_pairs(pairs, "final")) == len(pairs)
    assert {pair.dataset for pair in plans.select_pairs(pairs, "both", "covtype")} == {"covtype"}


@pytest.mark.parametrize(("full", "shares"), [(5.0, [1.0]), (8.0, [1.0, 0.25]), (30.0, [1.0, 0.25, 0.1])])
def test_limits_below_two_seconds_are_skipped(full, shares):
    assert Plan((PAIR,)).find_shares(full) == shares


def test_the_order_of_the_rivals_rotates():
    plan = Plan((PAIR,))

    first = [plan.rotate_rivals(seed, 1.0) for seed in (0, 1)]

    assert first[0] != first[1]
    assert set(first[0]) == set(first[1]) == set(plans.RIVALS) - {"full"}


def test_the_full_plan_takes_about_three_hours_and_the_short_plan_ten_minutes():
    every = {**rivals.make_local_rivals(), "flaml": FlamlRival("")}
    applies = {key: every[key[0]].applies(key[1]) for key in itertools.product(plans.RIVALS, rivals.LEARNERS)}

    def minutes(plan):
        return sum(plans.predict_seconds(plan, applies).values()) / 60

    assert 120 < minutes(Plan(plans.read_pairs())) < 200
    assert minutes(plans.make_short_plan(plans.read_pairs())) < 10


# The rivals


@pytest.mark.parametrize(
    "name", ["double", *(pytest.param(name, marks=pytest.mark.slow) for name in ("full", "auto", "tct", "tct_al"))]
)
def test_a_teacher_returns_a_model_and_its_times(rows, name):
    outcome = rivals.make_local_rivals()[name].run(RivalTask("decision-tree", rows, 10.0, 0))

    assert outcome.accuracy > 0.5
    assert outcome.error is None
    assert 0 < outcome.fit_seconds + outcome.overhead <= outcome.seconds < 10.0
    assert outcome.rounds >= 1
    assert outcome.rows <= 2000


@pytest.mark.slow
def test_sgd_supports_only_linear_learners(rows):
    sgd = rivals.make_local_rivals()["sgd"]

    outcome = sgd.run(RivalTask("logistic-regression", rows, 1.0, 0))

    assert [learner for learner in rivals.LEARNERS if sgd.applies(learner)] == ["linear-svm", "logistic-regression"]
    assert outcome.stop == "time"
    assert outcome.seconds < 1.1


def test_active_teaching_needs_a_learner_with_probabilities():
    active = rivals.make_local_rivals()["tct_al"]

    assert {learner for learner in rivals.LEARNERS if not active.applies(learner)} == {"linear-svm"}


@pytest.mark.parametrize(("limit", "stop"), [(0.001, "time"), (60.0, "all trees")])
def test_lightgbm_is_stopped_by_its_callback(rows, limit, stop):
    rival = rivals.make_local_rivals()["lightgbm-callback"]

    outcome = rival.run(RivalTask("lightgbm", rows, limit, 0))

    assert outcome.stop == stop
    assert outcome.accuracy > 0.4
    assert not rival.applies("xgboost")


@pytest.mark.slow
def test_every_learner_can_be_fitted(rows):
    for learner in rivals.LEARNERS:
        assert rivals.make_local_rivals()["full"].run(RivalTask(learner, rows, 0.0, 0)).accuracy > 0.5, learner


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("flaml") is None, reason="FLAML is not installed")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_flaml_runs_in_a_separate_process(rows, kind):
    table = TrainTestRows(kind(rows.X), rows.y, rows.n_train)

    outcome = FlamlRival(sys.executable).run(RivalTask("lightgbm", table, 1.0, 0))

    assert outcome.error is None
    assert outcome.accuracy > 0.4
    assert outcome.seconds > 0


def test_flaml_has_a_name_for_every_learner_except_the_tree():
    assert set(rivals.LEARNERS) - set(flaml.ESTIMATORS) == {"decision-tree"}


@posix_only
def test_an_interpreter_without_flaml_is_recognised():
    assert flaml.find_flaml_version("/bin/false") is None


@posix_only
def test_a_failing_worker_is_recorded_as_a_result(rows):
    outcome = FlamlRival("/bin/false").run(RivalTask("lightgbm", rows, 1.0, 0))

    assert outcome.accuracy is None
    assert outcome.error == "exit code 1"


# The runs


def test_t_is_measured_first_and_each_rival_gets_a_share_of_it(find, tmp_path):
    all_rivals = {"full": FakeRival(fit_seconds=10.0), "auto": FakeRival(), "double": FakeRival()}
    results = ResultLog(tmp_path / "lines.jsonl")

    runs.AccuracyBenchmark(Plan((PAIR,), ("full", "auto", "double"), seeds=(0,)), all_rivals, find, results).run()

    fits = results.find_lines("fit")
    assert [fit["rival"] for fit in fits] == ["full", "auto", "double", "double", "auto"]
    assert [fit["limit"] for fit in fits] == [None, 10.0, 10.0, 2.5, 2.5]
    assert results.find_lines("pair")[0]["test_rows"] == 900


def test_every_seed_has_the_shares_of_the_first_seed(find, tmp_path):
    class Faster(FakeRival):
        def run(self, task):
            return replace(super().run(task), fit_seconds=10.0 - 3 * task.seed)

    auto = FakeRival()
    plan = Plan((PAIR,), ("full", "auto"), seeds=(0, 1))

    runs.AccuracyBenchmark(plan, {"full": Faster(), "auto": auto}, find, ResultLog(tmp_path / "lines.jsonl")).run()

    assert [task.limit for task in auto.tasks] == [10.0, 2.5, 7.0, 1.75]


def test_finished_runs_are_not_repeated(find, tmp_path):
    plan = Plan((PAIR,), ("full", "auto"), seeds=(0,))
    all_rivals = {"full": FakeRival(), "auto": FakeRival()}
    for _ in range(2):
        runs.AccuracyBenchmark(plan, all_rivals, find, ResultLog(tmp_path / "lines.jsonl")).run()

    assert len(all_rivals["full"].tasks) == 1
    assert len(all_rivals["auto"].tasks) == 2


def test_t_is_measured_again_after_an_interruption(find, tmp_path):
    full, auto, late = FakeRival(fit_seconds=4.0), FakeRival(), FakeRival()
    file = tmp_path / "lines.jsonl"
    runs.AccuracyBenchmark(
        Plan((PAIR,), ("full", "auto"), (0,)), {"full": full, "auto": auto}, find, ResultLog(file)
    ).run()
    full.outcome = replace(full.outcome, fit_seconds=6.0)
    all_rivals = {"full": full, "auto": auto, "double": late}

    runs.AccuracyBenchmark(Plan((PAIR,), ("full", "auto", "double"), (0,)), all_rivals, find, ResultLog(file)).run()

    assert len(full.tasks) == 2
    assert len(auto.tasks) == 1
    assert [task.limit for task in late.tasks] == [6.0]


def test_an_exception_of_a_rival_is_recorded(rows):
    class Raising(FakeRival):
        def run(self, task):
            raise RuntimeError("no\nluck")

    assert runs.run_rival(Raising(), RivalTask("decision-tree", rows, 3.0, 0)).error == "RuntimeError: no"


def test_the_hash_of_the_source_is_stable():
    assert runs.hash_source() == runs.hash_source()


# The summary


def make_fit_line(rival, accuracy, dataset="a", *, share=1.0, seed=0, **fields):
    found = {"limit": 10.0 * share, "seconds": 10.0 * share, "fit_seconds": 10.0, "stop": "time", "error": None}
    named = {"kind": "fit", "dataset": dataset, "learner": "lightgbm", "rival": rival, "share": share, "seed": seed}
    return {**named, "accuracy": accuracy, **found, "overhead": 0.2, "load": 0.5, "session": 1, **fields}


def make_pair_line(dataset="a", half="tune", test_rows=10_000):
    sizes = {"rows": 1000, "of": 5000, "test_rows": test_rows, "columns": 4, "classes": 3, "source": "a test"}
    return {"kind": "pair", "half": half, "dataset": dataset, "learner": "lightgbm", **sizes}


NO_MODEL = {"accuracy": None, "error": "NoModelInTime: no", "overhead": None}


def test_means_over_the_seeds_are_compared_by_the_papers_test():
    lines = [
        make_pair_line(),
        make_fit_line("auto", 0.84),
        make_fit_line("auto", 0.86, seed=1),
        make_fit_line("double", 0.80),
    ]

    contest = Findings(lines).contest("auto", "double")

    assert (contest.tally.wins, contest.tally.pairs) == (1, 1)
    assert contest.difference == pytest.approx(0.05)


def test_a_small_difference_is_a_tie():
    contest = Findings(
        [make_pair_line(test_rows=100), make_fit_line("auto", 0.84), make_fit_line("double", 0.80)]
    ).contest("auto", "double")

    assert contest.tally.ties == 1


def test_of_two_lines_about_a_run_the_later_one_counts():
    lines = [make_pair_line(), make_fit_line("auto", 0.1), make_fit_line("auto", 0.9)]

    assert Findings(lines).accuracy(("a", "lightgbm"), "auto") == 0.9


def test_full_has_no_limit_and_is_compared_at_every_share():
    lines = [make_pair_line(), make_fit_line("full", 0.9), make_fit_line("auto", 0.8, share=0.25)]

    assert Findings(lines).contest("auto", "full", 0.25).tally.losses == 1


@pytest.mark.parametrize(("silent", "result"), [("auto", "loss"), ("double", "win")])
def test_a_rival_without_a_model_in_time_loses(silent, result):
    other = "double" if silent == "auto" else "auto"
    lines = [
        make_pair_line(),
        make_fit_line(silent, 0.9),
        make_fit_line(silent, seed=1, **NO_MODEL),
        make_fit_line(other, 0.5),
    ]

    duel = Findings(lines).contest("auto", "double").duels[0]

    assert duel.result == result
    assert duel.difference is None


def test_a_failed_rival_does_not_count_and_a_failed_auto_is_a_loss():
    broken = {"accuracy": None, "error": "TypeError: odd", "overhead": None}

    assert (
        not Findings([make_pair_line(), make_fit_line("auto", 0.9), make_fit_line("flaml", **broken)])
        .contest("auto", "flaml")
        .duels
    )
    assert (
        Findings([make_pair_line(), make_fit_line("auto", **broken), make_fit_line("flaml", 0.1)])
        .contest("auto", "flaml")
        .tally.losses
        == 1
    )


def test_the_halves_are_counted_separately():
    lines = [make_pair_line("a"), make_pair_line("b", "final")]
    lines += [
        make_fit_line(rival, accuracy, dataset) for dataset in "ab" for rival, accuracy in (("auto", 0.9), ("tct", 0.8))
    ]

    assert [Findings(lines, half).contest("auto", "tct").tally.pairs for half in ("tune", "final", "both")] == [1, 1, 2]


def test_goals_are_met_or_missed_according_to_the_results():
    lines = [
        make_pair_line("a"),
        make_pair_line("b"),
        make_fit_line("auto", 0.85, share=0.25),
        make_fit_line("auto", 0.7, "b", share=0.25),
    ]
    for dataset in "ab":
        lines += [
            make_fit_line("auto", 0.9, dataset),
            make_fit_line("double", 0.8, dataset),
            make_fit_line("full", 0.91, dataset),
        ]

    found = {goal.text.split(";")[0]: goal.met for goal in tables.make_goals(Findings(lines, "tune"))}

    assert found == {
        "tune: against double at least 70% wins and at most 5% losses": True,
        "tune: against full at least 40% wins and at most 10% losses": False,
        "tune: mean accuracy not below full's (the moonshot: 1.0 point above)": False,
        "tune: at a quarter of T at least double's accuracy at T on 70% of the pairs": False,
        "tune: at most 5% of the limit as our own overhead": True,
    }


def test_losses_and_failed_runs_are_listed():
    lines = [
        make_pair_line(),
        make_fit_line("auto", 0.80),
        make_fit_line("double", 0.85),
        make_fit_line("tct", **NO_MODEL),
        make_fit_line("full", 0.8),
    ]
    findings = Findings([*lines, make_fit_line("full", 0.8, fit_seconds=1.0)])

    assert tables.make_loss_table(findings).rows == [
        ["tune", "a", "lightgbm", "double", "T", "80.00", "85.00", "-5.00"]
    ]
    assert [row[2:] for row in tables.make_problem_table(findings).rows] == [
        ["tct, T, seed 0", "NoModelInTime: no"],
        ["full", "T is 1.0 s, not between 3 and 60 s"],
    ]


def test_the_table_of_pairs_shows_every_rival_and_auto_below_t():
    lines = [
        make_pair_line(),
        make_fit_line("full", 0.9),
        make_fit_line("auto", 0.8),
        make_fit_line("auto", 0.7, share=0.25),
    ]

    table = tables.make_pair_table(Findings(lines))

    assert table.columns[-3:] == ("full", "auto", "auto, 0.25 T")
    assert table.rows[0][3:] == ["1,000 of 5,000", "10.0", "90.00", "80.00", "70.00"]


def test_variants_are_compared_with_auto():
    lines = [
        make_pair_line(),
        make_fit_line("auto", 0.9),
        make_fit_line("auto-without", 0.8),
        make_fit_line("double", 0.7),
    ]

    rows = tables.make_variant_table(Findings(lines), ["auto", "auto-without", "never run"]).rows

    assert rows == [["auto", "", "1-0-0 +20.00", "", ""], ["auto-without", "0-0-1 -10.00", "1-0-0 +10.00", "", ""]]


def test_the_summary_is_written_with_figures(tmp_path, capsys):
    start = {"kind": "start", "machine": {"date": "today"}, "halves": ["tune"], "code": "abc"}
    lines = [
        start,
        make_pair_line(),
        make_fit_line("full", 0.9),
        make_fit_line("auto", 0.8),
        make_fit_line("double", 0.7),
    ]

    missed = accuracy.write_summary(lines, Environment.current(), tmp_path, "accuracy")

    assert missed == 1
    assert {file.name for file in tmp_path.iterdir()} == {
        "accuracy.md",
        "accuracy.json",
        "accuracy-tune-100.png",
        "accuracy-tune-100.svg",
    }
    assert json.loads((tmp_path / "accuracy.json").read_text())["contests"][0]["second"] == "full"
    assert "![auto against each rival, tune, 1 T](accuracy-tune-100.png)" in (tmp_path / "accuracy.md").read_text()
    assert "MISSED" in capsys.readouterr().out


# The command


def test_a_dry_run_lists_the_pairs_and_needs_no_data(capsys):
    assert accuracy.main(["--dry-run", "--half", "both"]) == 0

    said = capsys.readouterr().out
    assert "covtype, lightgbm" in said
    assert f"{len(plans.read_pairs())} pairs, 2 seeds; about" in said


def test_an_unknown_rival_is_rejected():
    with pytest.raises(SystemExit, match="unknown rivals nobody"):
        accuracy.main(["--dry-run", "--rivals", "nobody"])


def test_auto_is_a_variant():
    assert "auto" in rivals.VARIANTS
