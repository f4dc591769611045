"""Every metric, whatever comes of it, in a fit, in a search and on disk: a score, an error or a warning."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score, get_scorer, make_scorer, recall_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from disk_rows import write_blocks
from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import ScoringFailed
from fitwithin.backends import _scoring

N_ROWS = 4_000
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N_ROWS, 4)), columns=list("abcd"))
NOISY = X["a"] + 0.5 * RNG.normal(size=N_ROWS)
TARGETS = {
    "two classes": np.where(NOISY > 0, "yes", "no"),
    "truth values": (NOISY > 0).to_numpy(),
    "three classes": np.digitize(NOISY, [-0.5, 0.5]),
    "a class of three rows": (np.arange(N_ROWS) < 3).astype(int),
    "numbers": NOISY.to_numpy(),
}
WAYS = ["fit", "search", "disk"]


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """The width of an interval is no matter here; `tests/backends/test_scoring.py` looks at it."""
    monkeypatch.setattr(_scoring, "_N_RESAMPLES", 8)


def accuracy(model, X, y):
    return float((model.predict(X) == y).mean())


def area(model, X, y):
    return roc_auc_score(y, model.predict_proba(X)[:, 1])


def n_leaves(model, X, y):
    """A metric that looks at more than predictions."""
    return -float(model.get_n_leaves())


def divide_by_zero(model, X, y):
    return 1 / 0


def look_up_nothing(model, X, y):
    return {}["score"]


def return_nan(model, X, y):
    return float("nan")


def fit(way, scoring, target, tmp_path, backend="inline", **arguments):
    options = {"scoring": scoring, "time_limit": 30, "backend": backend, "progress": False, "random_state": 0}
    if target == "numbers":
        learner, make = DecisionTreeRegressor(max_depth=5), TimeConstrainedRegressor
    else:
        learner, make = DecisionTreeClassifier(max_depth=5), TimeConstrainedClassifier
    if way == "search":
        estimator = TimeConstrainedSearch(learner, {"max_depth": [3, 6]}, **options)
    else:
        estimator = make(learner, **options)
    if way != "disk":
        return estimator.fit(X, TARGETS[target], **arguments)
    rows = X.assign(label=TARGETS[target])
    if "sample_weight" in arguments:
        rows, arguments = rows.assign(weight=arguments["sample_weight"]), arguments | {"sample_weight": "weight"}
    return estimator.fit(write_blocks(rows, tmp_path / "rows.parquet"), "label", **arguments)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scoring", "target"),
    [
        (None, "three classes"),
        ("roc_auc", "two classes"),
        ("roc_auc_ovr", "three classes"),
        ("f1_macro", "three classes"),
        ("neg_log_loss", "three classes"),
        (make_scorer(recall_score, pos_label="yes"), "two classes"),
        (accuracy, "three classes"),
        (area, "two classes"),
        (n_leaves, "two classes"),
        (None, "numbers"),
        ("neg_mean_absolute_error", "numbers"),
        ("neg_mean_squared_error", "truth values"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_metric_that_works_chooses_and_estimates_without_a_warning(way, scoring, target, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(way, scoring, target, tmp_path)

    estimate, low, high = model.score_estimate_
    assert low <= estimate <= high
    assert np.isfinite([low, high]).all()
    assert max(finished.rows for finished in model.history_) >= 0.8 * N_ROWS
    assert (model.stop_reason_ == "all rows") == (model.n_rows_trained_ >= 0.8 * N_ROWS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scoring", "target", "words"),
    [
        ("f1", "three classes", r"scoring='f1' cannot score this target, which has 3 classes: .*such as 'f1_macro'"),
        ("roc_auc", "three classes", r"scoring='roc_auc' cannot .* 3 classes: .*such as 'roc_auc_ov"),
        ("f1", "two classes", r"cannot score this target, which has 2 classes: .*pos_label=1 is not a valid label"),
        (get_scorer("f1"), "three classes", "such as 'balanced_accuracy'"),
        ("neg_mean_squared_log_error", "numbers", "scoring.*: ValueError: Mean Squared Logarithmic Error cannot"),
        ("r2", "two classes", "scoring='r2' cannot score this target, which has 2 .*such as 'balanced_accuracy'"),
        (
            "top_k_accuracy",
            "two classes",
            "which has 2 classes: 'k' .* result in a perfect score and is .* meaningless",
        ),
        ("accuracy", "numbers", "which holds numbers: .*such as 'r2'"),
        (divide_by_zero, "two classes", "scoring failed for .*: ZeroDivisionError: division by zero. Pass a metric"),
        (look_up_nothing, "two classes", "scoring failed for .*: KeyError"),
        (return_nan, "two classes", "scoring failed for .*: it returned nan"),
        (return_nan, "numbers", "scoring failed for .*: it returned nan"),
    ],
)
def test_a_metric_that_cannot_work_is_an_error(way, scoring, target, words, tmp_path):
    with pytest.raises(ScoringFailed, match=words):
        fit(way, scoring, target, tmp_path)


def test_a_metric_that_cannot_work_is_found_before_any_fit():
    class Unfitted(DecisionTreeClassifier):
        def fit(self, X, y):
            raise AssertionError("fitted")

    for estimator in (TimeConstrainedClassifier(Unfitted()), TimeConstrainedSearch(Unfitted(), {"max_depth": [2, 3]})):
        with pytest.raises(ScoringFailed):
            estimator.set_params(scoring="f1", backend="inline").fit(X, TARGETS["three classes"])


@pytest.mark.parametrize("way", WAYS)
def test_a_metric_that_is_no_scorer_is_told_by_its_name(way, tmp_path):
    with pytest.raises(ValueError, match=r"metric f1_score, which takes labels, not a model\. .*make_scorer"):
        fit(way, f1_score, "two classes", tmp_path)


def test_a_method_that_the_learner_lacks_is_missed_by_its_own_name():
    clf = TimeConstrainedClassifier(RidgeClassifier(), scoring="neg_log_loss", backend="inline", time_limit=60)

    with pytest.raises(AttributeError, match="needs predict_proba, which RidgeClassifier does not have; pass another"):
        clf.fit(X, TARGETS["two classes"])


def test_a_metric_that_takes_no_weights_is_an_error_if_there_are_some():
    def ignore_weights(y_true, y_pred):
        return float((y_true == y_pred).mean())

    with pytest.raises(ScoringFailed, match="3 classes, with weights: TypeError"):
        fit("fit", make_scorer(ignore_weights), "three classes", None, sample_weight=np.ones(N_ROWS))


ONE_CLASS = TARGETS["two classes"] == "yes"
UNDEFINED = [
    pytest.param("fit", {"X_val": X[ONE_CLASS][:300], "y_val": ["yes"] * 300}, id="fit"),
    pytest.param("search", {"X_val": X[ONE_CLASS][:300], "y_val": ["yes"] * 300}, id="search"),
    pytest.param("disk", {"X_val": X[ONE_CLASS][:300].assign(label="yes"), "y_val": "label"}, id="disk"),
]


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("scoring", ["roc_auc", area], ids=["scorer", "callable"])
@pytest.mark.parametrize(("way", "arguments"), UNDEFINED)
def test_a_metric_that_is_undefined_on_the_validation_rows_returns_the_model_with_the_most_rows(
    way, arguments, scoring, backend, tmp_path
):
    with pytest.warns(UndefinedMetricWarning, match=r"undefined on the rows .* most rows is returned. Choose"):
        model = fit(way, scoring, "two classes", tmp_path, backend, **arguments)

    assert model.score_estimate_ is None
    assert model.n_rows_trained_ == N_ROWS
    assert model.stop_reason_ == "all rows"


@pytest.mark.parametrize("scoring", ["f1_macro", "balanced_accuracy", "matthews_corrcoef", "average_precision", "r2"])
@pytest.mark.parametrize("way", WAYS)
def test_a_metric_that_is_the_same_for_every_model_on_the_validation_rows_is_undefined_there(way, scoring, tmp_path):
    """It would be 0 for all of them, or 1 for one that always predicts their class."""
    target = "numbers" if scoring == "r2" else "a class of three rows"
    with pytest.warns(UndefinedMetricWarning, match=r"undefined on the rows .*same label or value|No positive"):
        model = fit(way, scoring, target, tmp_path, X_val=X[:300], y_val=np.zeros(300, type(TARGETS[target][0])))

    assert model.n_rows_trained_ == N_ROWS
    assert model.stop_reason_ == "all rows"


@pytest.mark.parametrize("scoring", [None, "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("way", ["fit", "search"])
def test_validation_rows_without_a_weight_are_told_about(way, scoring):
    """Of a class with two rows that count, both are for training."""
    weights = np.zeros(N_ROWS)
    for label in ("no", "yes"):
        weights[np.flatnonzero(TARGETS["two classes"] == label)[:2]] = 1
    with (
        pytest.warns(UndefinedMetricWarning, match=r"sample_weight of 0\. .* Leave out the rows with a sample_weight"),
        pytest.warns(UserWarning, match="2 of 1,974 rows of the class no, 2 of 2,026"),
    ):
        fit(way, scoring, "two classes", None, sample_weight=weights)


@pytest.mark.parametrize("scoring", [None, "f1_macro", "roc_auc", "balanced_accuracy"])
@pytest.mark.parametrize("way", WAYS)
def test_a_class_with_hardly_any_weight_is_told_about(way, scoring, tmp_path):
    y = TARGETS["two classes"]
    weights = (y == "yes").astype(float)
    weights[np.flatnonzero(y == "no")[:3]] = 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(way, scoring, "two classes", tmp_path, sample_weight=weights)

    told = [str(warning.message) for warning in caught]
    assert re.match(r"Few rows have a sample_weight other than 0: 3 of [\d,]+ rows of the class no\. ", told[0])
    if scoring is None:
        assert model.score_estimate_ is not None
    elif way == "disk":
        # Its validation and holdout rows are random ones, which may lack the class.
        assert len(told) == 2
    else:
        assert model.score_estimate_ is None
        assert "score_estimate_ is None: too few rows of the class no for an interval (1)." in told[1]


def test_weights_of_rows_on_disk_are_counted_beside_those_of_x_val(tmp_path):
    """Rows of X_val have the weight 1, whatever those of X have."""
    y = TARGETS["two classes"]
    weights = (y == "yes").astype(float)
    weights[np.flatnonzero(y == "no")[:3]] = 1
    given = {"X_val": X[:400].assign(label=y[:400], weight=1.0), "y_val": "label"}
    with pytest.warns(UserWarning, match=r"3 of 1,974 rows of the class no\."):
        fit("disk", None, "two classes", tmp_path, sample_weight=weights, **given)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scoring", [None, "f1_macro", "neg_log_loss"])
def test_predictions_of_another_type_than_the_labels_are_an_error(way, scoring, tmp_path, monkeypatch):
    """Each of them would count as wrong, and the score would be 0 without a word."""
    predict = DecisionTreeClassifier.predict
    monkeypatch.setattr(DecisionTreeClassifier, "predict", lambda self, X: predict(self, X).astype(str))

    with pytest.raises(ValueError, match=r"returned text, such as '\d', where the labels are numbers, such as \d"):
        fit(way, scoring, "three classes", tmp_path)


@pytest.mark.parametrize("teacher", ["auto", "tct", "double", "full"])
def test_every_teacher_says_that_the_last_rows_are_of_one_class(teacher):
    y = np.where(np.arange(N_ROWS) < N_ROWS // 2, TARGETS["two classes"], "yes")
    model = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=5), scoring="roc_auc", teacher=teacher, validation="last", backend="inline"
    )
    with pytest.warns(UndefinedMetricWarning, match="undefined on the rows"):
        model.fit(X, y)

    assert model.n_rows_trained_ == max(finished.rows for finished in model.history_)


@pytest.mark.parametrize("way", ["fit", "search"])
def test_a_rare_class_is_among_the_validation_rows(way):
    with pytest.warns(UndefinedMetricWarning, match="score_estimate_ is None: too few rows of the class 1"):
        model = fit(way, "roc_auc", "a class of three rows", None)

    assert all(np.isfinite(finished.estimate) for finished in model.history_ if finished.estimate is not None)
    assert model.n_rows_trained_ >= 0.8 * N_ROWS


def test_a_rare_class_on_disk_is_told_about(tmp_path):
    with pytest.warns(UndefinedMetricWarning):
        model = fit("disk", "roc_auc", "a class of three rows", tmp_path)

    assert model.n_rows_trained_ >= 0.8 * N_ROWS


def test_a_metric_that_fails_for_some_models_is_told_about():
    def refuse_large_trees(model, X, y):
        if getattr(model, "tree_", None) is not None and model.tree_.node_count > 800:
            raise ValueError("the tree is too large")
        return -float(np.abs(model.predict(X) - y).mean())

    model = TimeConstrainedRegressor(DecisionTreeRegressor(), scoring=refuse_large_trees, backend="inline")
    with pytest.warns(UndefinedMetricWarning, match="could not become the best: ValueError: the tree is too large"):
        model.fit(X, TARGETS["numbers"])

    assert model.best_estimator_.tree_.node_count <= 800
    assert model.stop_reason_ == "no gain"
