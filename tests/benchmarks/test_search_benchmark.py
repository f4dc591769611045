"""Search benchmark: pairs, resumable runs, parts and summary."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from fitwithin.backends._early_stopping.registry import find_inner_learner
from fitwithin.teachers._search.ready_spaces import DataShape, find_ready_space
from fitwithin_paper.study.raw_dataset import RawDataset
from fitwithin_paper.study.study_run import TrainTestRows

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
search, deadline, findings, jobs, learners, lists, logs, memory, methods, pairs, parts, race, recorders, sk, spaces = (
    map(
        import_module,
        (
            "search",
            "_search_deadline",
            "_search_findings",
            "_search_jobs",
            "_search_learners",
            "_search_list",
            "_search_log",
            "_search_memory",
            "_search_methods",
            "_search_pairs",
            "_search_part",
            "_search_race",
            "_search_recorder",
            "_search_sklearn",
            "_search_spaces",
        ),
    )
)
flaml, plans, rivals = map(import_module, ("_accuracy_flaml", "_accuracy_plan", "_accuracy_rivals"))
RunKey, RunLog, Outcome, RivalTask = logs.RunKey, logs.RunLog, rivals.Outcome, rivals.RivalTask

PAIR = plans.Pair("tuning", "made up", "lightgbm", 2000, 4.0)
KEY = RunKey("race", "made up", "lightgbm", "search", 1.0, 0)


class FakeMethod:
    """A method with a fixed result."""

    def __init__(self, accuracy=0.8, seconds=10.0, only=None, **figures):
        self.outcome = Outcome(seconds, accuracy, seconds, **figures)
        self.only = only
        self.tasks = []

    def applies(self, learner):
        return self.only is None or learner in self.only

    def run(self, task):
        self.tasks.append(task)
        return self.outcome


@pytest.fixture
def rows():
    X, y = make_classification(3000, n_classes=3, n_informative=6, random_state=0)
    return TrainTestRows(X.astype(np.float32), y, 2000)


@pytest.fixture
def data():
    X, y = make_classification(3000, n_classes=3, n_informative=6, random_state=0)
    return pairs.SearchData(lambda name: RawDataset(name, pd.DataFrame(X), pd.Series(y), "a test"))


@pytest.fixture
def log(tmp_path):
    return RunLog(tmp_path / "search-tuning.csv")


@pytest.fixture
def bench(log, data):
    return parts.Bench(recorders.LogRecorder(log, "tuning"), data)


def make_run(method, accuracy, *, part="race", dataset="a", learner="lightgbm", factor=1.0, seed=0, **figures):
    found = {
        "limit": None if method == "full" else 10.0 * factor,
        "seconds": 9.0,
        "test_rows": 10_000,
        "train_rows": 99,
    }
    key = RunKey(part, dataset, learner, method, factor, seed)
    return logs.merge(key, accuracy=accuracy, **{**found, **figures})


def goal_of(part, runs, start):
    """Return the only goal whose text begins like this."""
    (goal,) = (goal for goal in part.make_goals(runs) if goal.text.startswith(start))
    return goal


# Pairs


def select(part, list_name):
    return pairs.select_search_pairs(pairs.read_search_pairs(), part, list_name)


def test_half_of_at_least_sixteen_pairs_are_final():
    tuning, final = (select("jobs", name) for name in search.LISTS)

    assert len(tuning) == len(final) >= 8
    assert not {pair.name for pair in tuning} & {pair.name for pair in final}
    assert {pair.learner for pair in tuning + final} == set(learners.LEARNERS)


@pytest.mark.parametrize("list_name", search.LISTS)
def test_every_list_has_boosters_a_forest_and_a_linear_learner(list_name):
    names = {pair.learner for pair in select("jobs", list_name)}

    assert len(names & {"lightgbm", "xgboost", "catboost", "hist-gradient-boosting"}) >= 3
    assert names & {"random-forest", "extra-trees"}
    assert names & {"logistic-regression", "linear-svm"}


@pytest.mark.parametrize("list_name", search.LISTS)
def test_full_trainings_take_the_seconds_that_the_figures_ask_for(list_name):
    assert all(3 <= pair.seconds <= 8 for pair in select("jobs", list_name))
    assert {pair.seconds for pair in select("race", list_name)} == {20}
    assert all(pair.seconds <= 1.5 for pair in select("sklearn", list_name))
    assert (len(select("sklearn", list_name)), len(select("list", list_name))) == (6, 5)


@pytest.mark.parametrize("list_name", search.LISTS)
def test_every_pair_for_scikit_learn_has_a_space_of_the_learners_parameters(list_name):
    for pair in select("sklearn", list_name):
        assert set(spaces.make_space(pair.learner)) <= set(learners.LEARNERS[pair.learner]().get_params())


@pytest.mark.parametrize("name", learners.LEARNERS)
def test_every_learner_has_a_ready_space(name):
    learner = learners.LEARNERS[name]()

    assert find_ready_space(learner, DataShape(10_000, 10, 2), find_inner_learner(learner)) is not None


def test_covtype_is_in_both_lists():
    assert select("covtype", "tuning") == select("covtype", "final") != ()


def test_names_joined_by_a_plus_are_a_list_of_learners():
    names = [type(learner).__name__ for learner in learners.make_learners("random-forest+linear-svm")]

    assert names == ["RandomForestClassifier", "LinearSVC"]
    assert type(learners.make_learners("linear-svm")).__name__ == "LinearSVC"
    assert [each.learner for each in pairs.list_single_learners(replace(PAIR, learner="a+b"))] == ["a", "b"]


def test_a_data_set_is_read_once_for_pairs_that_follow_each_other(rows):
    read = []

    def find(name):
        read.append(name)
        return RawDataset(name, pd.DataFrame(rows.X), pd.Series(rows.y), "a test")

    data = pairs.SearchData(find)

    assert data.select_rows(PAIR).n_train == 2000
    assert data.select_rows(replace(PAIR, rows=500)).n_train == 500
    assert read == ["made up"]


# Log and recorders

numbers = st.none() | st.floats(allow_nan=False)
counts = st.none() | st.integers(0, 10**15)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)


@given(limit=numbers, rows=counts, error=st.none() | texts, command=texts, seed=st.integers(0, 99))
def test_a_run_is_read_as_it_was_written(tmp_path_factory, limit, rows, error, command, seed):
    file = tmp_path_factory.mktemp("log") / "runs.csv"
    run = logs.merge(replace(KEY, seed=seed), limit=limit, rows=rows, error=error, command=command)

    RunLog(file).append(run)

    assert RunLog(file).runs == [run]


def test_of_two_lines_about_a_run_the_later_one_counts(log):
    for accuracy in (0.1, 0.9):
        log.append(logs.merge(KEY, accuracy=accuracy))

    assert [run.accuracy for run in RunLog(log.file).runs] == [0.9]


def test_a_line_that_a_kill_cut_off_is_run_again(log):
    log.append(logs.merge(KEY, accuracy=0.5))
    log.append(logs.merge(replace(KEY, seed=1), accuracy=0.5))
    log.file.write_text(log.file.read_text()[:-40])

    again = RunLog(log.file)
    assert [run.seed for run in again.runs] == [0]
    again.append(logs.merge(replace(KEY, seed=2), accuracy=0.7))

    assert [run.seed for run in RunLog(log.file).runs] == [0, 2]


def test_a_finished_run_is_not_repeated(bench, log, data):
    method = FakeMethod(0.75, memory=5)
    for _ in range(2):
        bench.run_method(KEY, PAIR, method, 3.0)
    parts.Bench(recorders.LogRecorder(RunLog(log.file), "tuning"), data).run_method(KEY, PAIR, method, 3.0)

    (run,) = RunLog(log.file).runs
    assert len(method.tasks) == 1
    assert (run.limit, run.accuracy, run.memory, run.train_rows) == (3.0, 0.75, 5, 2000)
    assert run.command.startswith("python benchmarks/")
    assert run.machine
    assert run.date.endswith("UTC")


def test_an_exception_is_a_result(bench):
    class Raising(FakeMethod):
        def run(self, task):
            raise RuntimeError("no luck")

    assert bench.run_method(KEY, PAIR, Raising(), 3.0).error == "RuntimeError: no luck"


@pytest.mark.parametrize(("error", "repeated"), [("TypeError: odd", True), ("NoModelInTime: late", False)])
def test_failed_runs_are_repeated_on_request(log, data, error, repeated):
    log.append(logs.merge(KEY, error=error))
    method = FakeMethod(0.75)

    parts.Bench(recorders.LogRecorder(log, "tuning", retry=True), data).run_method(KEY, PAIR, method, 3.0)

    assert len(method.tasks) == repeated


def test_a_dry_run_adds_up_seconds_and_runs_nothing():
    dry, method = recorders.DryRecorder(), FakeMethod()
    bench = parts.Bench(dry, None, seeds=(0,), factors=(1.0, 3.0))

    for _ in range(2):
        race.RacePart({"search": method, "flaml": method}).run(bench, [PAIR])

    assert dry.seconds == {("race", "made up", "lightgbm"): (4 + 12) * (1 + 1.25) + 2 * 2 + 2 * 6}
    assert not method.tasks


# Race


def test_limits_are_multiples_of_the_pairs_seconds(bench):
    ours = FakeMethod()

    race.RacePart({"search": ours}).run(bench, [PAIR])

    assert [(task.limit, task.seed) for task in ours.tasks] == [(4.0, 0), (12.0, 0), (4.0, 1), (12.0, 1)]


def test_a_search_gets_the_time_that_flaml_took(bench):
    ours, other = FakeMethod(), FakeMethod(seconds=5.5)

    race.RacePart({"search, as long as flaml": ours, "flaml": other}).run(replace(bench, seeds=(0,)), [PAIR])

    assert [task.limit for task in ours.tasks] == [5.5, 5.5]


def test_a_flaml_that_fails_has_no_search_beside_it(bench):
    class Raising(FakeMethod):
        def run(self, task):
            raise RuntimeError("no luck")

    ours = FakeMethod()

    race.RacePart({"search, as long as flaml": ours, "flaml": Raising()}).run(bench, [PAIR])

    assert not ours.tasks


def test_vote_and_autogluon_have_the_longer_limit_only(bench):
    vote, other = FakeMethod(), FakeMethod()

    race.RacePart({"vote": vote, "autogluon": other}).run(replace(bench, seeds=(0,)), [PAIR])

    assert [task.limit for task in vote.tasks + other.tasks] == [12.0, 12.0]


def test_flaml_is_left_out_for_a_learner_that_it_lacks(bench):
    other = FakeMethod(only=["catboost"])

    race.RacePart({"search": FakeMethod(), "flaml": other}).run(bench, [PAIR])

    assert not other.tasks


def test_flaml_has_every_learner_of_the_race():
    assert set(learners.LEARNERS) <= set(flaml.ESTIMATORS)


def test_no_pair_of_the_race_is_known_to_the_portfolio_or_was_tuned_on():
    tuned = {pair.dataset.split("-dense")[0] for pair in select("race", "tuning")}
    final = {pair.dataset for pair in select("race", "final")}

    assert len(select("race", "final")) == 10
    assert not final & (tuned | {"covtype", "adult", "poker_hand", "bank-marketing"})


@pytest.mark.parametrize(("ours", "met"), [(0.9, True), (0.801, False), (0.7, False)])
def test_wins_and_losses_against_auto_are_a_goal(ours, met):
    runs = [make_run("search", ours), make_run("auto", 0.8)]

    assert goal_of(race.RacePart({}), runs, "against auto, T: ").met is met


@pytest.mark.parametrize(("vote", "met"), [(0.83, True), (0.801, False)])
def test_a_vote_is_to_be_ahead_of_one_model(vote, met):
    runs = [make_run("search", 0.8, factor=3.0), make_run("vote", vote, factor=3.0)]

    assert goal_of(race.RacePart({}), runs, "vote against search, 3 T: ").met is met


def test_only_seeds_that_both_methods_have_are_compared():
    runs = [make_run("search", 0.8), make_run("search", 0.2, seed=1), make_run("auto", 0.8)]

    assert findings.compare_methods(runs, "search", "auto").difference == 0


def test_a_search_without_a_model_loses():
    broken = make_run("search", None, error="TypeError: odd")

    assert findings.compare_methods([broken, make_run("flaml", 0.5)], "search", "flaml").tally.losses == 1


def test_the_tables_of_the_race_show_time_and_memory_of_both():
    runs = [make_run("auto", 0.8), make_run("search, as long as flaml", 0.9, memory=2_000_000, settings=4)]
    runs += [make_run("search", 0.9), make_run("flaml", 0.85, seconds=15.0, memory=70_000_000, settings=9)]

    contests, by_pair, costs = race.RacePart({}).make_tables(runs)

    assert [row[:5] for row in contests.rows] == [
        ["search", "auto", "T", "1", "1"],
        ["search, as long as flaml", "flaml", "T", "1", "1"],
    ]
    assert list(by_pair.rows[0]) == ["a", "lightgbm", "99", "80.00", "90.00", "85.00", "90.00"]
    assert [row[3:7] for row in costs.rows][-1] == ["1.50", "1.50", "5.0, 5.0", "70"]


# Scikit-learn's searches


def test_our_limit_is_the_time_that_the_other_search_took(bench):
    ours, quick, slow = FakeMethod(), FakeMethod(seconds=2.0), FakeMethod(seconds=7.0)

    sk.SklearnPart(ours, {sk.HALVING: quick, sk.RANDOMIZED: slow}).run(replace(bench, seeds=(0,)), [PAIR])

    assert [task.limit for task in ours.tasks] == [2.0, 7.0]


def test_each_search_is_compared_with_ours_in_its_own_time():
    runs = [make_run(sk.HALVING, 0.8, part="sklearn"), make_run(sk.RANDOMIZED, 0.9, part="sklearn")]
    runs += [make_run(sk.name_own_run(name), 0.85, part="sklearn") for name in (sk.HALVING, sk.RANDOMIZED)]
    part = sk.SklearnPart(None, {})

    assert goal_of(part, runs, "against HalvingRandomSearchCV").met
    assert not goal_of(part, runs, "against RandomizedSearchCV").met
    assert [row[8] for row in part.make_tables(runs)[0].rows] == ["win", "loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [sk.HALVING, sk.RANDOMIZED])
def test_scikit_learns_searches_try_twenty_settings(rows, name):
    found = sk.SklearnMethod(name).run(RivalTask("logistic-regression", rows, 0.0, 0))

    assert found.accuracy > 0.4
    assert found.settings >= 20
    assert "'C'" in found.params


# The other parts


def test_a_list_runs_each_learner_alone_at_the_same_limit(bench):
    ours = FakeMethod()

    lists.ListPart(ours).run(replace(bench, seeds=(0,)), [replace(PAIR, learner="a+b")])

    assert [(task.learner, task.limit) for task in ours.tasks] == [("a+b", 4.0), ("a", 4.0), ("b", 4.0)]


@pytest.mark.parametrize(("together", "met"), [(0.898, True), (0.896, False), (None, False)])
def test_a_list_is_to_be_close_to_its_best_learner(together, met):
    accuracies = {"a+b": together, "a": 0.9, "b": 0.7}
    runs = [make_run("search", found, part="list", learner=name) for name, found in accuracies.items()]

    assert goal_of(lists.ListPart(None), runs, "list of learners").met is met
    assert lists.ListPart(None).make_tables(runs)[0].rows[0][3] == "a 90.00, b 70.00"


def test_two_of_six_candidates_misbehave():
    troubles = [deadline.name_faults(number) for number in range(30)]

    assert len(set(troubles[:25])) == 25
    for number, names in enumerate(troubles):
        six = deadline.make_candidates(names, number)
        bad = [one for one in six if type(one).__name__ in ("AwkwardClassifier", "MemoryHog")]
        assert (len(six), len(bad)) == (6, 2)


@pytest.mark.parametrize(("seconds", "accuracy", "met"), [(10.09, 0.9, True), (10.2, 0.9, False), (9.0, None, False)])
def test_one_late_run_or_one_without_a_model_misses_the_deadline_goal(seconds, accuracy, met):
    runs = [make_run("search", 0.9, part="deadline", seed=seed) for seed in range(29)]
    runs.append(make_run("search", accuracy, part="deadline", seed=29, seconds=seconds))

    assert goal_of(deadline.DeadlinePart(), runs, "deadline, 30 runs").met is met


@pytest.mark.parametrize(("taken", "met"), [(140, True), (160, False), (None, False)])
def test_memory_is_a_multiple_of_the_rows_used(taken, met):
    run = make_run("search", 0.9, part="memory", learner=memory._TRIVIAL, memory=taken, used_bytes=100)

    assert goal_of(memory.MemoryPart(), [run], "peak memory").met is met


def test_limits_of_the_jobs_part_are_multiples_of_a_full_training(bench):
    full = FakeMethod(seconds=3.0)
    own = {name: FakeMethod() for name in (jobs.ONE_JOB, jobs.TWO_JOBS, jobs.AUTO_TWO_JOBS)}

    jobs.JobsPart(full, own).run(bench, [PAIR])

    assert len(full.tasks) == 2
    assert [task.limit for task in own[jobs.TWO_JOBS].tasks] == [6.0, 6.0]
    assert [task.limit for task in own[jobs.AUTO_TWO_JOBS].tasks] == [3.0, 3.0]


@pytest.mark.parametrize(("tried", "met"), [(34, True), (30, False)])
def test_two_jobs_are_to_try_more_settings(tried, met):
    counts = {jobs.ONE_JOB: 20, jobs.TWO_JOBS: tried}
    runs = [make_run(name, 0.9, part="jobs", factor=2.0, settings=count) for name, count in counts.items()]

    assert goal_of(jobs.JobsPart(None, {}), runs, "n_jobs=2 tries").met is met


@pytest.mark.parametrize(("accuracy", "met"), [(0.9, True), (0.7, False)])
def test_auto_with_two_jobs_is_not_to_lose_against_every_row(accuracy, met):
    runs = [make_run(jobs.AUTO_TWO_JOBS, accuracy, part="jobs"), make_run("full", 0.9, part="jobs")]

    assert goal_of(jobs.JobsPart(None, {}), runs, "auto, n_jobs=2 against full").met is met


# Methods of this package


@pytest.mark.slow
def test_a_search_reports_its_settings_and_memory(rows):
    task = RivalTask("logistic-regression", rows, 3.0, 0)

    found = methods.make_race_methods()["search"].run(task)

    assert found.accuracy > 0.4
    assert found.seconds < 3.5
    assert found.settings >= 1
    assert found.params is not None
    assert found.memory is not None
    assert 0 < found.used_bytes <= rows.X.nbytes


def test_the_bytes_of_a_row_include_its_label(rows):
    X, y = rows.X[:10], rows.y[:10]

    assert methods.measure_row_bytes(X, y) == 4 * X.shape[1] + y.itemsize


# The command


def test_a_dry_run_ends_within_four_hours_and_needs_no_data(capsys):
    assert search.main(["--dry-run", "--list", "final"]) == 0

    said = capsys.readouterr().out
    assert "poker_hand, lightgbm" in said
    assert float(said.split("\nall: ")[1].split(" s")[0]) <= 4 * 3600


def test_a_part_and_its_limits_can_be_chosen(capsys):
    search.main(["--dry-run", "--part", "race", "--methods", "search", "--limit-factor", "2", "--seeds", "1"])

    said = capsys.readouterr().out
    assert "covtype, lightgbm" in said
    assert "1 runs" in said
    assert "sklearn" not in said


@pytest.mark.parametrize("wrong", [["--limit-factor", "0"], ["--list", "both"], ["--part", "nothing"]])
def test_wrong_arguments_are_rejected(wrong, capsys):
    with pytest.raises(SystemExit):
        search.main(["--dry-run", *wrong])

    assert "error" in capsys.readouterr().err


def test_an_unknown_method_is_rejected():
    with pytest.raises(SystemExit, match="unknown methods nothing"):
        search.main(["--dry-run", "--methods", "nothing"])


def test_the_summary_reads_both_lists(tmp_path, capsys):
    for name in search.LISTS:
        runs = [make_run("search", 0.9, dataset=name), make_run("auto", 0.8, dataset=name)]
        for run in runs:
            RunLog(tmp_path / f"search-{name}.csv").append(run)

    assert search.main(["--summary", "--list", "both", "--results", str(tmp_path)]) == 0

    text = (tmp_path / "search-both.md").read_text()
    assert "100% wins and 0% losses of 2 pairs" in text
    assert "## Conditions" in text


def test_tables_mark_the_data_sets_that_the_portfolio_was_mined_on(tmp_path):
    for dataset in ("covtype", "letter"):
        for run in (make_run("search", 0.9, dataset=dataset), make_run("auto", 0.8, dataset=dataset)):
            RunLog(tmp_path / "search-final.csv").append(run)

    search.main(["--summary", "--list", "final", "--results", str(tmp_path)])

    text = (tmp_path / "search-final.md").read_text()
    assert "| covtype* | " in text
    assert "| letter | " in text
    assert "*: FLAML's portfolio was mined on it" in text
