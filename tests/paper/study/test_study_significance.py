"""The results of a study, and the paper's significance test."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from fitwithin_paper.study.significance import Z_95, Tally, compare_accuracies, compare_by_dataset
from fitwithin_paper.study.study_results import Omission, StudyResults

shares = st.floats(0.001, 0.999)
PAIR = {"dataset": "covtype", "learner": "lightgbm"}


def a_run(teacher="tct", seed=0, **fields):
    found = {"limit": 10.0, "accuracy": 0.8, "rows": 1000, "used": 9.0, "error": None}
    return {"v": 1, "kind": "run", **PAIR, "teacher": teacher, "seed": seed, **found, **fields}


def a_round(number, elapsed=1.0, accuracy=0.5, teacher="tct", seed=0):
    found = {"number": number, "elapsed": elapsed, "accuracy": accuracy, "best": True}
    return {"v": 1, "kind": "round", **PAIR, "teacher": teacher, "seed": seed, **found}


def the_data(test_rows=10_000):
    sizes = {"train_rows": 4000, "test_rows": test_rows, "columns": 54, "classes": 7}
    return {"v": 1, "kind": "data", "dataset": "covtype", **sizes, "source": "a file"}


def statistic_of_scipy(a, b, rows):
    """Welch's statistic for two samples of zeros and ones: the difference over its unpooled standard error."""
    spread_a, spread_b = math.sqrt(a * (1 - a)), math.sqrt(b * (1 - b))
    return float(stats.ttest_ind_from_stats(a, spread_a, rows, b, spread_b, rows, equal_var=False).statistic)


def test_the_quantile_belongs_to_a_one_sided_test_at_95_per_cent():
    assert pytest.approx(stats.norm.ppf(0.95), abs=5e-4) == Z_95


@given(shares, shares, st.integers(2, 10**6))
def test_a_difference_counts_when_scipys_statistic_is_beyond_the_quantile(a, b, rows):
    z = statistic_of_scipy(a, b, rows)
    assume(abs(abs(z) - Z_95) > 1e-6)

    expected = "tie" if abs(z) < Z_95 else "win" if z > 0 else "loss"

    assert compare_accuracies(a, b, rows) == expected


@given(shares, shares, st.integers(2, 10**6))
def test_a_difference_counts_when_its_p_value_is_below_5_per_cent(a, b, rows):
    chance = stats.norm.sf(abs(statistic_of_scipy(a, b, rows)))
    assume(abs(chance - 0.05) > 1e-4)

    assert (compare_accuracies(a, b, rows) != "tie") == (chance < 0.05)


@given(shares, shares, st.integers(1, 10**6))
def test_a_win_of_one_is_a_loss_of_the_other(a, b, rows):
    mirrored = {"win": "loss", "loss": "win", "tie": "tie"}

    assert compare_accuracies(b, a, rows) == mirrored[compare_accuracies(a, b, rows)]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_same_accuracy_is_a_tie(share):
    assert compare_accuracies(share, share, 10) == "tie"


def test_a_perfect_model_beats_a_perfectly_wrong_one():
    assert compare_accuracies(1.0, 0.0, 1) == "win"


@pytest.mark.parametrize(("wins", "losses", "net"), [(2, 1, "win"), (1, 1, "tie"), (0, 1, "loss")])
def test_the_direction_of_a_tally_is_the_larger_of_wins_and_losses(wins, losses, net):
    assert Tally(wins, 5, losses).net == net


def test_an_accuracy_is_the_mean_over_the_seeds():
    study = StudyResults.from_lines([a_run(seed=0, accuracy=0.7), a_run(seed=1, accuracy=0.8)])

    assert study.accuracy("lightgbm", "covtype", "tct") == pytest.approx(0.75)
    assert study.accuracy("lightgbm", "covtype", "double") is None


def test_a_run_without_a_model_is_listed_as_an_omission():
    study = StudyResults.from_lines(
        [a_run(seed=0), a_run(seed=1, accuracy=None, rows=0, used=None, error="NoModelInTime: no")]
    )

    assert study.accuracy("lightgbm", "covtype", "tct") == 0.8
    assert study.omissions == (Omission("covtype", "lightgbm", "tct", "seed 1: NoModelInTime: no"),)


def test_a_repeated_run_counts_once():
    study = StudyResults.from_lines([a_run(accuracy=0.1), a_run(accuracy=0.8)])

    assert len(study.runs) == 1
    assert study.accuracy("lightgbm", "covtype", "tct") == 0.8


def test_rounds_of_an_interrupted_attempt_are_not_mixed_with_those_of_the_next():
    lines = [a_round(1), a_round(2), a_round(3), a_round(1, elapsed=2.0), a_round(2, elapsed=3.0), a_run()]

    (run,) = StudyResults.from_lines(lines).runs

    assert [(one.number, one.elapsed_seconds) for one in run.rounds] == [(1, 2.0), (2, 3.0)]


def test_a_round_without_an_accuracy_is_skipped():
    (run,) = StudyResults.from_lines([a_round(1), a_round(2, accuracy=None), a_run()]).runs

    assert [one.number for one in run.rounds] == [1]


def test_the_limit_is_the_mean_time_of_the_full_trainings():
    study = StudyResults.from_lines(
        [a_run("full", s, limit=None, used=u) for s, u in enumerate((8.0, 10.0))] + [a_run()]
    )

    assert study.limit_seconds("lightgbm", "covtype") == 9.0


def test_without_a_full_training_the_limit_is_that_of_the_runs():
    assert StudyResults.from_lines([a_run()]).limit_seconds("lightgbm", "covtype") == 10.0


def test_a_dropped_pair_is_in_no_table():
    dropped = {"v": 1, "kind": "dropped", **PAIR, "seconds": 1.234, "why": "below 3 s"}
    study = StudyResults.from_lines([a_run("full"), dropped])

    assert study.learners == frozenset()
    assert study.omissions == (Omission("covtype", "lightgbm", "", "below 3 s (training on all rows took 1.2 s)"),)


def test_a_pair_that_could_not_be_trained_is_dropped_without_a_time():
    dropped = {"v": 1, "kind": "dropped", **PAIR, "seconds": None, "why": "not to be trained"}

    assert StudyResults.from_lines([dropped]).omissions[0].why == "not to be trained"


def test_a_dropped_pair_that_was_run_later_is_not_dropped():
    dropped = {"v": 1, "kind": "dropped", **PAIR, "seconds": 1.2, "why": "below 3 s"}
    study = StudyResults.from_lines([dropped, a_run("full"), a_run()])

    assert study.omissions == ()
    assert study.datasets("lightgbm") == ("covtype",)


def test_a_missing_data_set_that_was_found_later_is_not_missing():
    missing = {"v": 1, "kind": "missing", "why": "no file"}
    lines = [{**missing, "dataset": name} for name in ("covtype", "aloi", "aloi")]
    study = StudyResults.from_lines([*lines, the_data()])

    assert study.omissions == (Omission("aloi", "", "", "no file"),)


def test_the_training_share_refers_to_the_rows_available_to_the_learner():
    fewer = {"v": 1, "kind": "size", **PAIR, "rows": 2000, "of": 4000}

    assert StudyResults.from_lines([the_data(), a_run()]).training_share("lightgbm", "covtype", "tct") == 0.25
    assert StudyResults.from_lines([the_data(), fewer, a_run()]).training_share("lightgbm", "covtype", "tct") == 0.5
    assert StudyResults.from_lines([a_run()]).training_share("lightgbm", "covtype", "tct") is None


def test_the_number_of_test_rows_decides_the_direction():
    runs = [a_run("tct", accuracy=0.80), a_run("double", accuracy=0.79)]

    found = [
        compare_by_dataset(StudyResults.from_lines([the_data(rows), *runs]), "lightgbm", "tct", "double")
        for rows in (1000, 100_000)
    ]

    assert found == [{"covtype": "tie"}, {"covtype": "win"}]


def test_without_the_number_of_test_rows_there_is_no_direction():
    runs = [a_run("tct", accuracy=0.9), a_run("double", accuracy=0.1)]

    assert compare_by_dataset(StudyResults.from_lines(runs), "lightgbm", "tct", "double") == {}


def test_an_unknown_kind_of_line_is_ignored():
    assert StudyResults.from_lines([{"v": 1, "kind": "weather"}, a_run()]).learners == {"lightgbm"}


EXIT_NO_MODEL = {"accuracy": None, "rows": 0, "used": None, "error": "NoModelInTime: no"}


def test_a_teacher_without_any_model_loses_against_one_that_has_a_model():
    lines = [the_data(), *(a_run(seed=s) for s in (0, 1)), *(a_run("double", s, **EXIT_NO_MODEL) for s in (0, 1))]
    study = StudyResults.from_lines(lines)

    assert compare_by_dataset(study, "lightgbm", "tct", "double") == {"covtype": "win"}
    assert compare_by_dataset(study, "lightgbm", "double", "tct") == {"covtype": "loss"}
    assert study.count_without_model("lightgbm", "covtype", "double") == (2, 2)


def test_there_is_no_direction_if_neither_has_a_model_or_one_was_not_run():
    both = StudyResults.from_lines([the_data(), a_run(**EXIT_NO_MODEL), a_run("double", **EXIT_NO_MODEL)])
    one = StudyResults.from_lines([the_data(), a_run()])

    assert (
        compare_by_dataset(both, "lightgbm", "tct", "double")
        == compare_by_dataset(one, "lightgbm", "tct", "double")
        == {}
    )


def test_if_some_seeds_have_no_model_the_others_count():
    lines = [the_data(), a_run(accuracy=0.9), a_run("double", 0, accuracy=0.8), a_run("double", 1, **EXIT_NO_MODEL)]
    study = StudyResults.from_lines(lines)

    assert study.accuracy("lightgbm", "covtype", "double") == 0.8
    assert compare_by_dataset(study, "lightgbm", "tct", "double") == {"covtype": "win"}
    assert study.count_without_model("lightgbm", "covtype", "double") == (1, 2)


def test_a_run_with_a_failed_learner_enters_no_mean_and_no_loss_and_is_listed_as_an_omission():
    failed = {"accuracy": 0.3, "error": "The learner failed in round 3"}
    lines = [the_data(), a_run(accuracy=0.9), a_run(seed=1, **failed), a_run("double", **failed)]
    study = StudyResults.from_lines(lines)

    assert study.accuracy("lightgbm", "covtype", "tct") == 0.9
    assert study.accuracy("lightgbm", "covtype", "double") is None
    assert compare_by_dataset(study, "lightgbm", "tct", "double") == {}
    assert [one.why for one in study.omissions] == [
        "seed 1: The learner failed in round 3",
        "seed 0: The learner failed in round 3",
    ]


def test_a_pair_whose_fewest_rows_take_too_long_has_no_size():
    size = {"v": 1, "kind": "size", **PAIR, "rows": None, "of": 4000}

    assert StudyResults.from_lines([the_data(), size]).reduced_rows == {}
