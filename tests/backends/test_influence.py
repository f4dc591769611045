"""What each row adds to the error of a score, and paired comparisons of two models by it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import get_scorer, r2_score, roc_auc_score

from fitwithin._core.records import difference_error
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._exam_predictions import ExamPredictions, predict_exam
from fitwithin.backends._scoring import Scoring


class Told:
    """A model that was told its answers: the row number is the only feature."""

    def __init__(self, predicted, probabilities=None):
        self.predicted = np.asarray(predicted)
        self.classes_ = np.array([0, 1])
        if probabilities is not None:
            self.predict_proba = lambda X: np.column_stack([1 - probabilities, probabilities])[X[:, 0]]

    def predict(self, X):
        return self.predicted[X[:, 0]]


def score(model, y, name="accuracy", weights=None, *, rows_before=0):
    """Return the score and its influence over all rows, after an exam on the first few that does not count."""
    scoring = Scoring(get_scorer(name), regression=name == "r2" or "error" in name, seed=0)
    X, y = np.arange(len(y))[:, None], np.asarray(y)
    params = {} if weights is None else {"sample_weight": weights}
    rows = LabeledRows(X, y, params)
    parts = [next(rows.split(rows_before)), rows] if rows_before else [rows]
    exams = [predict_exam(model, part, scoring) for part in parts]
    measured = scoring.measure(ExamPredictions.join(exams).take(rows_before + np.arange(len(y))))
    return measured.estimate, measured.influence


def from_mistakes(wrong):
    """Return a model that is wrong on these rows, all of which are of class 0."""
    return Told(np.asarray(wrong, dtype=int))


mistakes = arrays(np.bool_, st.integers(2, 60))
pairs_of_mistakes = st.integers(2, 60).flatmap(lambda n: st.tuples(arrays(np.bool_, n), arrays(np.bool_, n)))


@given(mistakes)
def test_the_norm_of_the_influence_is_the_standard_error_of_accuracy(wrong):
    estimate, influence = score(from_mistakes(wrong), np.zeros(len(wrong), int))

    share = wrong.mean()
    assert influence.dtype == np.float32
    assert np.linalg.norm(influence) == pytest.approx(math.sqrt(share * (1 - share) / len(wrong)), abs=1e-6)
    if 0 < share < 1:
        assert np.linalg.norm(influence) == pytest.approx(estimate.standard_error, rel=1e-5)


@given(mistakes, st.data())
def test_the_norm_of_the_influence_is_the_standard_error_of_weighted_accuracy(wrong, data):
    weights = data.draw(arrays(np.float64, len(wrong), elements=st.floats(0.5, 8)))
    estimate, influence = score(from_mistakes(wrong), np.zeros(len(wrong), int), weights=weights)

    assert (weights * ~wrong).sum() / weights.sum() == pytest.approx(estimate.value)
    if 0 < wrong.mean() < 1:
        assert np.linalg.norm(influence) == pytest.approx(estimate.standard_error, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score", "neg_mean_absolute_error"])
def test_the_norm_of_the_influence_is_the_standard_error_of_every_mean_over_rows(name, weighted):
    rng = np.random.default_rng(0)
    y, weights = rng.integers(2, size=500), rng.random(500) if weighted else None
    chance = np.clip(0.2 + 0.5 * y + 0.1 * rng.normal(size=500), 0.01, 0.99)

    estimate, influence = score(Told(chance, chance), y, name, weights)

    assert len(influence) == 500
    assert np.linalg.norm(influence) == pytest.approx(estimate.standard_error, rel=1e-5)


@given(pairs_of_mistakes)
def test_the_error_of_a_difference_in_accuracy_is_mcnemars(pair):
    y, n = np.zeros(len(pair[0]), int), len(pair[0])
    first, second = (score(from_mistakes(wrong), y)[1] for wrong in pair)

    only_first, only_second = int((~pair[0] & pair[1]).sum()), int((pair[0] & ~pair[1]).sum())
    expected = math.sqrt(only_first + only_second - (only_first - only_second) ** 2 / n) / n
    assert difference_error(first, second) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=25, deadline=None)  # a metric that needs resamples takes 0.1 s
@given(mistakes, st.sampled_from(["accuracy", "neg_mean_absolute_error", "r2", "f1_macro"]))
def test_two_equal_models_differ_by_nothing(wrong, name):
    y = np.arange(len(wrong)) % 2
    model = Told(np.where(wrong, 1 - y, y))

    first, second = (score(model, y, name)[1] for _ in range(2))

    assert difference_error(first, second) == 0


def test_models_with_many_mistakes_in_common_are_told_apart_better_than_by_two_intervals():
    rng = np.random.default_rng(0)
    common = rng.random(2000) < 0.2
    pair = [common ^ (rng.random(2000) < 0.02) for _ in range(2)]
    (one, first), (other, second) = (score(from_mistakes(wrong), np.zeros(2000, int)) for wrong in pair)

    assert difference_error(first, second) < 0.5 * math.hypot(one.standard_error, other.standard_error)


def test_a_paired_comparison_separates_models_whose_intervals_overlap():
    # The second model is better by one point, on rows of which one in five is hard for both.
    rng, separated, overlapping = np.random.default_rng(0), 0, 0
    for _ in range(100):
        hard = rng.random(4000) < 0.2
        pair = [hard | (rng.random(4000) < share) for share in (0.025, 0.0125)]
        (worse, first), (better, second) = (score(from_mistakes(wrong), np.zeros(4000, int)) for wrong in pair)
        separated += better.value - worse.value > 1.96 * difference_error(first, second)
        overlapping += better.low < worse.high

    assert separated >= 90
    assert overlapping >= 95


def test_the_error_of_a_difference_is_that_of_differences_on_other_rows():
    # 95 of 100 differences lie within 1.96 standard errors of the true one.
    rng, hits = np.random.default_rng(0), 0
    for _ in range(300):
        hard = rng.random(1000) < 0.2
        pair = [hard ^ (rng.random(1000) < share) for share in (0.1, 0.05)]
        (one, first), (other, second) = (score(from_mistakes(wrong), np.zeros(1000, int)) for wrong in pair)
        # Each share turns 80 % of its rows into mistakes, and 20 % into correct ones.
        hits += abs(other.value - one.value - 0.05 * 0.6) < 1.96 * difference_error(first, second)

    assert 0.91 <= hits / 300 <= 0.985


def two_rankings(n_rows, rng):
    y = rng.integers(2, size=n_rows)
    common = y + rng.normal(size=n_rows)
    return y, [1 / (1 + np.exp(-(common + 0.4 * rng.normal(size=n_rows)))) for _ in range(2)]


@pytest.fixture(scope="module")
def rankings():
    """Return labels, two rankings of their rows, and the spread of the difference of their scores over resamples."""
    rng = np.random.default_rng(0)
    y, (first, second) = two_rankings(600, rng)
    differences = []
    for _ in range(400):
        rows = rng.integers(600, size=600)
        differences.append(roc_auc_score(y[rows], first[rows]) - roc_auc_score(y[rows], second[rows]))
    return y, first, second, np.std(differences)


@pytest.mark.parametrize("rows_before", [0, 100])
def test_resamples_of_two_models_are_paired(rows_before, rankings):
    y, first, second, expected = rankings
    (one, paired_first), (other, paired_second) = (
        score(Told(chance > 0.5, chance), y, "roc_auc", rows_before=rows)
        for chance, rows in ((first, 0), (second, rows_before))
    )

    error = difference_error(paired_first, paired_second)
    # 60 resamples give it within 10 %, twice of that is allowed.
    assert error == pytest.approx(expected, rel=0.25)
    assert error < 0.7 * math.hypot(one.standard_error, other.standard_error)
    assert np.linalg.norm(paired_first) == pytest.approx(one.standard_error, rel=1e-5)


def test_the_errors_of_r2_and_of_its_difference_agree_with_resamples():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2000)
    noise = 0.5 * rng.normal(size=2000)
    pair = [y + noise + 0.2 * rng.normal(size=2000) for _ in range(2)]
    (one, first), (_, second) = (score(Told(predicted), y, "r2") for predicted in pair)
    scores = []
    for _ in range(400):
        rows = rng.integers(2000, size=2000)
        scores.append([r2_score(y[rows], predicted[rows]) for predicted in pair])
    scores = np.array(scores)

    assert len(first) == 2000
    assert np.linalg.norm(first) == pytest.approx(scores[:, 0].std(), rel=0.15)
    assert np.linalg.norm(first) == pytest.approx(one.standard_error, rel=0.3)
    assert difference_error(first, second) == pytest.approx((scores[:, 0] - scores[:, 1]).std(), rel=0.15)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_an_area_under_the_curve_with_one_row_of_a_class_has_no_interval_and_no_influence():
    y = np.zeros(30, int)
    y[0] = 1
    chance = np.linspace(0, 1, 30)

    estimate, influence = score(Told(y, chance), y, "roc_auc")

    assert estimate.value == roc_auc_score(y, chance)
    assert math.isinf(estimate.low)
    assert influence is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_metric_that_is_not_defined_on_the_rows_has_an_interval_without_ends_and_no_influence():
    estimate, influence = score(Told(np.zeros(9), np.zeros(9)), np.zeros(9, int), "roc_auc")

    assert math.isnan(estimate.value)
    assert (estimate.low, estimate.high) == (-math.inf, math.inf)
    assert influence is None


def test_r2_of_a_constant_has_no_influence():
    _, influence = score(Told(np.arange(5.0)), np.ones(5), "r2")

    assert influence is None


def test_no_rows_have_no_score_and_no_influence():
    exams = predict_exam(from_mistakes([True]), LabeledRows(np.zeros((1, 1), int), np.zeros(1, int)), Scoring())

    measured = Scoring().measure(exams.take(np.zeros(0, int)))

    assert measured.influence is None
    assert measured.estimate is None
