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
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.environment import Environment
from fitwithin_paper.study.raw_dataset import RawDataset
from fitwithin_paper.study.result_log import ResultLog
from fitwithin_paper.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
accuracy, flaml, datasets, goals, plans, rivals, runs, summary, tables = map(
    import_module,
    (
        "accuracy",
        "_accuracy_flaml",
        "_accuracy_datasets",
        "_accuracy_goals",
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

PAIR = plans.Pair("tuning", "made up", "decision-tree", 2000, 1.0)


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


def select(list_name, only="", **options):
    return plans.select_pairs(plans.read_pairs(), list_name, only, **options)


def test_the_pairs_are_distinct_and_have_known_learners():
    pairs = plans.read_pairs()

    assert {pair.learner for pair in pairs} == set(rivals.LEARNERS)
    assert len({pair.name for pair in pairs}) == len(pairs)
    assert all(3 <= pair.seconds <= 60 for pair in pairs)
    assert {pair.list_name for pair in pairs} == set(plans.LISTS)


def test_the_final_list_has_other_learners_and_encodings_than_the_tuning_list():
    tuning, final = map(select, plans.LISTS)

    assert 40 <= len(tuning) <= 50
    assert len(final) >= 16
    assert {"catboost", "extra-trees", "mlp", "sgd-log", "knn"} <= {pair.learner for pair in final}
    assert not {pair.name for pair in tuning} & {pair.name for pair in final}


@pytest.mark.parametrize("list_name", plans.LISTS)
def test_each_data_set_is_read_once(list_name):
    pairs = select(list_name)

    assert len({pair.dataset for pair in pairs}) == len(list(Plan(pairs).group_by_dataset()))


def test_the_short_plan_avoids_the_final_list():
    plan = plans.make_short_plan(plans.read_pairs())

    assert len(plan.pairs) == 8
    assert {pair.list_name for pair in plan.pairs} == {"tuning"}
    assert plan.rivals == plans.FEW_RIVALS
    assert all(
        short.rows <= pair.rows for short in plan.pairs for pair in plans.read_pairs() if short.name == pair.name
    )


def test_pairs_are_selected_by_list_and_text():
    assert {pair.dataset for pair in select("tuning", "covtype")} == {"covtype"}
    assert {pair.learner for pair in select("final", "knn")} == {"knn"}


def test_the_parts_of_a_list_have_every_pair_once_and_no_data_set_in_two():
    first, second = (select("tuning", part=(number, 2)) for number in (1, 2))

    assert sorted([*first, *second], key=str) == sorted(select("tuning"), key=str)
    assert not {pair.dataset for pair in first} & {pair.dataset for pair in second}


@pytest.mark.parametrize(("full", "shares"), [(5.0, [1.0]), (8.0, [1.0, 0.25]), (30.0, [1.0, 0.25, 0.1])])
def test_limits_below_two_seconds_are_skipped(full, shares):
    assert plans.LIMITS["tuning"].select_shares(full) == shares


def test_t_has_a_least_value_on_the_final_list():
    limits = plans.LIMITS["final"]

    assert [limits.find_full_seconds(measured) for measured in (0.01, 5.0)] == [3.0, 5.0]
    assert limits.select_shares(3.0) == [1.0, 0.25, 4.0]


def test_only_auto_and_its_variants_get_four_times_the_time():
    plan = Plan((PAIR,), ("full", "auto", "auto-last", "double"), limits=plans.LIMITS["final"])

    assert {rival for rival, share in plan.list_runs(8.0, 0) if share == 4} == {"auto", "auto-last"}
    assert {share for rival, share in plan.list_runs(8.0, 0) if rival == "double"} == {1.0, 0.25}


def test_the_order_of_the_rivals_rotates():
    plan = Plan((PAIR,))

    first = [[rival for rival, _ in plan.list_runs(1.0, seed)] for seed in (0, 1)]

    assert first[0] != first[1]
    assert set(first[0]) == set(first[1]) == set(plans.RIVALS) - {"full"}


def test_the_lists_take_the_time_that_they_are_meant_to():
    every = {**rivals.make_local_rivals(), "flaml": FlamlRival("")}
    applies = {key: every[key[0]].applies(key[1]) for key in itertools.product(plans.RIVALS, rivals.LEARNERS)}

    def minutes(plan):
        return sum(plans.predict_seconds(plan, applies).values()) / 60

    assert 120 < minutes(Plan(select("tuning"))) < 200
    assert minutes(Plan(select("final"), plans.FEW_RIVALS, limits=plans.LIMITS["final"])) < 45
    assert minutes(plans.make_short_plan(plans.read_pairs())) < 10


# The data sets


@pytest.fixture
def find_mixed():
    """Find a data set with a column of text and one of numbers."""
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue"], 600)
    X = pd.DataFrame({"colour": colours, "port": rng.integers(0, 40, 600)})
    return lambda name: RawDataset(name, X, pd.Series(colours == "red"), "a test")


@pytest.mark.parametrize(
    ("ending", "columns", "kind"),
    [
        ("", 4, np.ndarray),
        ("-nominal", 43, sparse.csr_matrix),
        ("-dense", 4, np.ndarray),
        ("-frame", 2, pd.DataFrame),
    ],
)
def test_the_ending_of_a_name_chooses_the_encoding(find_mixed, ending, columns, kind):
    with datasets.open_dataset(f"mixed{ending}", find_mixed) as dataset:
        rows = dataset.select_rows(100, 50)

    assert (dataset.n_rows, dataset.n_columns, dataset.n_classes) == (420, columns, 2)
    assert isinstance(rows.X, kind)
    assert (rows.n_train, rows.n_test) == (100, 50)


def test_text_in_a_frame_is_categorical(find_mixed):
    with datasets.open_dataset("mixed-frame", find_mixed) as dataset:
        assert dataset.select_rows(100, 50).X["colour"].dtype == "category"


def test_a_made_up_data_set_is_a_memory_mapped_file_with_all_its_rows(tmp_path):
    dataset = datasets.make_up_dataset(tmp_path / "X.npy", 3000, 500)

    rows = dataset.select_rows(1000, 200)

    assert isinstance(rows.X, np.memmap)
    assert (rows.n_train, rows.n_test) == (3000, 200)
    assert set(rows.y) == {0, 1, 2}
    assert np.array_equal(np.load(tmp_path / "X.npy")[:3200], rows.X)


def test_made_up_classes_can_be_learned(tmp_path):
    rows = datasets.make_up_dataset(tmp_path / "X.npy", 5000, 2000).select_rows(5000, 2000)

    tree = DecisionTreeClassifier(max_depth=6).fit(rows.X[:5000], rows.y[:5000])

    most_common = np.bincount(rows.y[5000:]).max() / 2000
    assert most_common + 0.05 < tree.score(rows.X[5000:], rows.y[5000:]) < 0.9


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
    frame = replace(rows, X=pd.DataFrame(rows.X, columns=[f"x{column}" for column in range(20)]).assign(kind="a"))
    for learner in rivals.LEARNERS:
        table = frame if learner.startswith("one-hot") else rows
        assert rivals.make_local_rivals()["full"].run(RivalTask(learner, table, 0.0, 0)).accuracy > 0.5, learner


def test_the_full_fit_takes_some_rows_where_all_would_take_too_long(rows):
    outcome = rivals.make_local_rivals()["full"].run(RivalTask("decision-tree", rows, 0.0, 0, full_rows=500))

    assert outcome.rows == 500
    assert outcome.lost == 0


def test_a_run_without_a_model_in_time_tells_its_seconds(rows):
    outcome = rivals.make_local_rivals()["double"].run(RivalTask("random-forest", rows, 0.02, 0))

    assert outcome.accuracy is None
    assert outcome.error.startswith("NoModelInTime: ")
    assert outcome.seconds < 0.5


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("flaml") is None, reason="FLAML is not installed")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_flaml_runs_in_a_separate_process(rows, kind):
    table = TrainTestRows(kind(rows.X), rows.y, rows.n_train)

    outcome = FlamlRival(sys.executable).run(RivalTask("lightgbm", table, 1.0, 0))

    assert outcome.error is None
    assert outcome.accuracy > 0.4
    assert outcome.seconds > 0


def test_flaml_has_a_name_for_every_learner_of_the_tuning_list_except_the_tree():
    assert {pair.learner for pair in select("tuning")} - set(flaml.ESTIMATORS) == {"decision-tree"}


@posix_only
def test_an_interpreter_without_flaml_is_recognised():
    assert flaml.find_version("/bin/false") is None


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


def test_limits_are_shares_of_the_least_t_where_a_fit_takes_no_time(find, tmp_path):
    auto = FakeRival()
    plan = Plan((PAIR,), ("full", "auto"), seeds=(0,), limits=plans.LIMITS["final"])
    results = ResultLog(tmp_path / "lines.jsonl")

    runs.AccuracyBenchmark(plan, {"full": FakeRival(fit_seconds=0.1), "auto": auto}, find, results).run()

    assert [task.limit for task in auto.tasks] == [3.0, 0.75, 12.0]
    assert Findings(results.lines).mean_limit(("made up", "decision-tree")) == 3.0


def test_a_data_set_that_is_not_there_is_left_out(tmp_path):
    def find_nothing(name):
        raise ValueError(f"unknown data set {name}")

    results = ResultLog(tmp_path / "lines.jsonl")

    runs.AccuracyBenchmark(Plan((PAIR,), ("full",)), {"full": FakeRival()}, find_nothing, results).run()

    assert [line["why"] for line in results.find_lines("missing")] == ["unknown data set made up"]


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
    found = {
        "limit": 10.0 * share,
        "seconds": 10.0 * share,
        "fit_seconds": 10.0,
        "stop": "time",
        "error": None,
        "rounds": 3,
    }
    named = {"kind": "fit", "dataset": dataset, "learner": "lightgbm", "rival": rival, "share": share, "seed": seed}
    return {
        **named,
        "accuracy": accuracy,
        **found,
        "overhead": 0.2,
        "lost": 0.1,
        "rows": 900,
        "load": 0.5,
        "session": 1,
        **fields,
    }


def make_pair_line(dataset="a", list_name="tuning", test_rows=10_000):
    sizes = {"rows": 1000, "of": 5000, "test_rows": test_rows, "columns": 4, "classes": 3, "source": "a test"}
    return {"kind": "pair", "list": list_name, "dataset": dataset, "learner": "lightgbm", **sizes}


NO_MODEL = {"accuracy": None, "error": "NoModelInTime: no", "overhead": None, "lost": None, "rows": None}


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


def find_goal(lines, start):
    """Return the only goal whose text begins like this."""
    (goal,) = (goal for goal in goals.make_goals(Findings([make_pair_line(), *lines])) if goal.text.startswith(start))
    return goal


@pytest.mark.parametrize(("auto", "met"), [(0.9, True), (0.795, False), (0.78, False)])
def test_the_goal_against_double_counts_wins_and_losses(auto, met):
    goal = find_goal([make_fit_line("auto", auto), make_fit_line("double", 0.8)], "against double, T: ")

    assert goal.met is met
    assert "at worst (a, lightgbm)" in goal.text


def test_a_single_loss_of_more_than_a_point_misses_the_goal():
    wins = [make_pair_line(str(number)) for number in range(40)]
    for number in range(40):
        wins += [make_fit_line("auto", 0.9, str(number)), make_fit_line("double", 0.8, str(number))]

    def evaluate(accuracy):
        return find_goal([*wins, make_fit_line("auto", accuracy), make_fit_line("double", 0.99)], "against double, T: ")

    assert evaluate(0.9805).met
    assert not evaluate(0.97).met
    assert "losses: a, lightgbm -2.00" in evaluate(0.97).text
    assert not evaluate(None).met


@pytest.mark.parametrize(("accuracy", "met"), [(0.906, True), (0.904, False)])
def test_the_goal_against_every_row_has_a_mean(accuracy, met):
    lines = [make_fit_line("auto", accuracy), make_fit_line("full", 0.9)]
    goal = goals.WinLossGoal("full", 0.0, 0.0, mean=0.005)

    assert goal.evaluate(Findings([make_pair_line(), *lines]).contest("auto", "full")).met is met


def test_at_four_trainings_no_loss_is_allowed():
    lines = [make_fit_line("full", 0.9), make_fit_line("auto", 0.91), make_fit_line("auto", 0.87, share=4.0)]

    goal = find_goal(lines, "against full, 4 T: no loss; ")

    assert not goal.met
    assert "losses: a, lightgbm -3.00" in goal.text


@pytest.mark.parametrize(("accuracies", "met"), [((0.8, 0.9, 0.95), True), ((0.8, 0.95, 0.9), False)])
def test_more_time_must_not_give_a_worse_model(accuracies, met):
    by_share = zip(accuracies, (0.25, 1.0, 4.0), strict=True)
    lines = [make_fit_line("auto", accuracy, share=share) for accuracy, share in by_share]

    assert find_goal(lines, "4 T gives no worse model than T; ").met is met
    assert find_goal(lines, "T gives no worse model than 0.25 T; ").met


@pytest.mark.parametrize(("quarter", "met", "share"), [(0.9, True, "100%"), (0.899, False, "0%"), (0.8, False, "0%")])
def test_at_a_quarter_of_t_auto_is_to_be_as_accurate_as_double_at_t(quarter, met, share):
    goal = find_goal([make_fit_line("auto", quarter, share=0.25), make_fit_line("double", 0.9)], "at a quarter of T")

    assert goal.met is met
    assert f"on {share} of 1, and no loss by the test on {'0%' if quarter == 0.8 else '100%'}" in goal.text


@pytest.mark.parametrize(("lost", "met"), [((0.0, 0.5), True), ((0.0, 0.8), False), ((0.0, 2.1), False)])
def test_time_in_fits_that_left_no_model_is_a_goal_of_mean_and_worst(lost, met):
    lines = [make_fit_line("auto", 0.9, seed=seed, lost=seconds) for seed, seconds in enumerate(lost)]

    goal = find_goal(lines, "in fits that left no model, T: ")

    assert goal.met is met
    assert "(a, lightgbm, T, seed 1)" in goal.text


def test_a_run_without_a_model_lost_its_whole_limit():
    assert Findings([make_pair_line(), make_fit_line("auto", **NO_MODEL)]).lost_shares(1.0).largest[1] == 1.0


@pytest.mark.parametrize(("rows", "met"), [((700, 800), True), ((600, 700), False), ((390, 1000), False)])
def test_rows_of_the_model_are_compared_with_the_full_fit(rows, met):
    lines = [make_fit_line("auto", 0.9, seed=seed, rows=count) for seed, count in enumerate(rows)]

    assert find_goal([*lines, make_fit_line("full", 0.9)], "rows of the model, T").met is met


def test_pairs_on_which_auto_beats_the_full_fit_do_not_count_for_its_rows():
    lines = [make_pair_line("b"), make_fit_line("auto", 0.9, "b"), make_fit_line("full", 0.9, "b")]
    lines += [make_fit_line("auto", 0.91, rows=10), make_fit_line("full", 0.9)]

    goal = find_goal(lines, "rows of the model, T")

    assert goal.met
    assert "without the 1 pairs" in goal.text


def test_overhead_has_a_goal_for_limits_of_ten_seconds_and_more_and_one_for_shorter_limits():
    lines = [make_fit_line("auto", 0.9, share=0.5, overhead=3.0), make_fit_line("auto", 0.9, overhead=0.3)]

    assert find_goal(lines, "overhead, limits of 10 s").met
    assert not find_goal([*lines, make_fit_line("auto", 0.9, seed=1, overhead=0.9)], "overhead, limits of 10 s").met
    assert not find_goal(lines, "overhead, limits below 10 s").met
    assert find_goal([make_fit_line("auto", 0.9, share=0.5, overhead=0.3)], "overhead, limits below 10 s").met


@pytest.mark.parametrize(("seconds", "met"), [(10.09, True), (10.2, False)])
def test_a_late_run_misses_the_goal(seconds, met):
    assert find_goal([make_fit_line("auto", 0.9, seconds=seconds)], "never late").met is met


def test_losses_and_failed_runs_are_listed():
    lines = [
        make_pair_line(),
        make_fit_line("auto", 0.80),
        make_fit_line("double", 0.85),
        make_fit_line("tct", **NO_MODEL),
        make_fit_line("full", 0.8),
    ]
    findings = Findings([*lines, make_pair_line("b"), make_fit_line("full", 0.8, "b", fit_seconds=1.0)])

    assert tables.make_loss_table(findings).rows == [["a", "lightgbm", "double", "T", "80.00", "85.00", "-5.00"]]
    assert [row[2:] for row in tables.make_problem_table(findings).rows] == [
        ["tct, T, seed 0", "NoModelInTime: no"],
        ["full", "T is 1.0 s, not between 3 and 60 s"],
    ]


def test_the_table_of_pairs_shows_every_rival_and_auto_at_other_limits():
    lines = [
        make_pair_line(),
        make_fit_line("full", 0.9),
        make_fit_line("auto", 0.8),
        make_fit_line("auto", 0.7, share=0.25),
        make_fit_line("auto", 0.95, share=4.0),
    ]

    table = tables.make_pair_table(Findings(lines))

    assert table.columns[-4:] == ("full", "auto", "auto, 4 T", "auto, 0.25 T")
    assert table.rows[0][2:] == ["1,000 of 5,000", "10.0", "90.00", "80.00", "95.00", "70.00"]


def test_the_table_of_runs_shows_what_auto_did_with_its_time():
    lines = [make_pair_line(), make_fit_line("auto", 0.9), make_fit_line("auto", 0.9, seed=1, lost=2.0, rows=500)]

    (row,) = tables.make_run_table(Findings(lines)).rows

    assert row[2:] == ["T", "10.0, 10.0", "10.0, 10.0", "3, 3", "0.90, 0.50", "1.0, 20.0", "2.0, 2.0", "+0.00, +0.00"]


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
    start = {"kind": "start", "machine": {"date": "today"}, "list": "tuning", "code": "abc"}
    lines = [
        start,
        make_pair_line(),
        make_fit_line("full", 0.9),
        make_fit_line("auto", 0.8),
        make_fit_line("double", 0.7),
    ]

    missed = accuracy.write_summary(lines, Environment.current(), tmp_path, "accuracy-tuning")

    assert missed == 1
    assert {file.name for file in tmp_path.iterdir()} == {
        "accuracy-tuning.md",
        "accuracy-tuning.json",
        "accuracy-tuning-100.png",
        "accuracy-tuning-100.svg",
    }
    assert json.loads((tmp_path / "accuracy-tuning.json").read_text())["contests"][0]["second"] == "full"
    link = "![auto against each rival, tuning list, 1 T](accuracy-tuning-100.png)"
    assert link in (tmp_path / "accuracy-tuning.md").read_text()
    assert "MISSED" in capsys.readouterr().out


def test_parts_that_ran_side_by_side_are_read_together(tmp_path):
    for number in (1, 2):
        lines = [{"kind": "start", "machine": {}}, make_fit_line("auto", 0.9, str(number))]
        ResultLog(tmp_path / f"accuracy-tuning-{number}of2.jsonl").append(lines)

    fits = [line for line in accuracy.read_lines(tmp_path, "accuracy-tuning") if line["kind"] == "fit"]

    assert [(fit["dataset"], fit["session"]) for fit in fits] == [("1", 1), ("2", 2)]


# The command


def test_a_dry_run_lists_the_pairs_and_needs_no_data(capsys):
    assert accuracy.main(["--dry-run", "--list", "final"]) == 0

    said = capsys.readouterr().out
    assert "covtype, knn" in said
    assert f"{len(select('final'))} pairs, 2 seeds; about" in said


def test_a_part_and_the_limits_can_be_chosen(capsys):
    accuracy.main(["--dry-run", "--only", "covtype, lightgbm", "--part", "1/2", "--shares", "1,4"])

    assert "limits about 18.0, 72.0, 4.5 s" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--part", "3/2"], ["--shares", "0"]])
def test_a_wrong_part_or_share_is_rejected(wrong, capsys):
    with pytest.raises(SystemExit):
        accuracy.main(["--dry-run", *wrong])

    assert "expected" in capsys.readouterr().err


def test_an_unknown_rival_is_rejected():
    with pytest.raises(SystemExit, match="unknown rivals nobody"):
        accuracy.main(["--dry-run", "--rivals", "nobody"])


def test_auto_is_a_variant():
    assert "auto" in rivals.VARIANTS
