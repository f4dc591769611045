"""The paper's results, as its tables print them."""

import pytest

from fitwithin_paper.study.paper_results import (
    ALPHA_TEACHERS,
    LEARNER_NAMES,
    PaperResults,
    read_paper_alphas,
    read_paper_sizes,
    read_paper_tally,
    read_paper_training_share,
)
from fitwithin_paper.study.significance import Tally, compare_by_dataset

MAIN, SGD, AL = (PaperResults.read(experiment) for experiment in ("main", "sgd", "al"))


def counted(paper, learner, against):
    return Tally.count(compare_by_dataset(paper, learner, "tct", against).values())


def test_every_accuracy_is_read():
    assert [len(paper.accuracies) for paper in (MAIN, SGD, AL)] == [68 * 4, 26 * 2, 58 * 2]


@pytest.mark.parametrize("against", ["double", "full"])
def test_the_numbers_of_data_sets_are_those_of_the_accuracy_tables(against):
    for learner in LEARNER_NAMES:
        assert read_paper_tally(against, learner).pairs == len(MAIN.datasets(learner))


def test_the_overall_row_of_the_wins_is_the_sum_of_the_others():
    assert read_paper_tally("double") == Tally(33, 68 - 33 - 9, 9)
    assert read_paper_tally("full") == Tally(18, 68 - 18 - 28, 28)


@pytest.mark.parametrize("learner", LEARNER_NAMES)
def test_the_test_on_printed_accuracies_reproduces_the_printed_wins_over_double(learner):
    assert counted(MAIN, learner, "double") == read_paper_tally("double", learner)


@pytest.mark.parametrize("learner", ["linear-svm", "logistic-regression"])
def test_the_test_on_printed_accuracies_reproduces_the_printed_wins_over_sgd(learner):
    assert counted(SGD, learner, "sgd") == read_paper_tally("sgd", learner)


@pytest.mark.parametrize(
    ("paper", "learner", "against", "by_the_test"),
    [
        (MAIN, "lightgbm", "full", Tally(5, 3, 7)),
        (MAIN, "logistic-regression", "full", Tally(1, 5, 7)),
        (AL, "lightgbm", "tct_al", Tally(7, 5, 3)),
        (AL, "logistic-regression", "tct_al", Tally(1, 10, 4)),
    ],
)
def test_rounding_to_one_decimal_changes_one_direction_in_four_of_the_rows(paper, learner, against, by_the_test):
    printed = read_paper_tally(against, learner)

    assert counted(paper, learner, against) == by_the_test
    assert abs(printed.wins - by_the_test.wins) + abs(printed.losses - by_the_test.losses) == 1


def test_the_row_for_an_alpha_of_a_fifth_is_the_overall_row_of_the_wins():
    assert read_paper_alphas()[0.2].tally == read_paper_tally("double")
    assert read_paper_alphas().keys() == ALPHA_TEACHERS.keys()


def test_tct_used_15_per_cent_fewer_rows_than_double_as_the_text_says():
    assert read_paper_training_share("tct") / read_paper_training_share("double") == pytest.approx(0.85, abs=0.005)


def test_every_data_set_has_its_sizes():
    datasets = {dataset for paper in (MAIN, SGD, AL) for _, dataset in paper.limits}

    assert datasets == read_paper_sizes().keys()


def test_test_sets_are_three_tenths_except_for_two_published_splits():
    other = {
        dataset
        for dataset, (train, test) in read_paper_sizes().items()
        if test / (train + test) != pytest.approx(0.3, abs=1e-4)
    }

    assert other == {"mnist", "poker_hand"}


def test_tct_was_run_again_for_active_learning():
    """Its accuracies there are not those of the main experiment, so the two must not be mixed."""
    assert MAIN.accuracy("lightgbm", "GTSRB-HueHist", "tct") == 0.389
    assert AL.accuracy("lightgbm", "GTSRB-HueHist", "tct") == 0.34


def test_missing_results_of_the_paper_are_none():
    assert MAIN.accuracy("lightgbm", "covtype", "osct") is None
    assert MAIN.limit_seconds("decision-tree", "covtype") is None
    assert MAIN.test_rows("kddcup99_10pct") is None
    assert read_paper_tally("osct-best") == Tally()
    assert read_paper_training_share("tct", "naive-bayes") is None
