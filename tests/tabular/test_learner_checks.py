"""Learners, teachers, metrics and columns that do not go together are refused before the clock starts."""

import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.learner_checks import validate_learner, validate_scoring
from fitwithin._tabular.target_column import read_target_column

TARGET = read_target_column("y", [pa.chunked_array([["no", "yes"]])])


@pytest.mark.parametrize(
    ("learner", "teacher", "why"),
    [
        (DecisionTreeRegressor(), "auto", "is a regressor"),
        (DecisionTreeClassifier(), "sgd", "partial_fit"),
        (HistGradientBoostingClassifier(), "auto", "sparse"),
    ],
)
def test_a_learner_that_can_not_be_trained_is_refused(learner, teacher, why):
    with pytest.raises(UserInputError, match=why):
        validate_learner(learner, teacher, sparse.eye(2, format="csr"), TARGET)


def test_a_metric_that_is_not_defined_for_the_target_is_refused():
    validate_scoring("balanced_accuracy", LogisticRegression(), TARGET)

    with pytest.raises(UserInputError, match="f1_macro"):
        validate_scoring("f1", LogisticRegression(), TARGET)


@pytest.mark.parametrize(
    ("scoring", "learner"), [("neg_log_loss", LinearSVC()), ("neg_log_loss", SGDClassifier(loss="hinge"))]
)
def test_a_metric_that_needs_a_missing_method_is_refused(scoring, learner):
    two = read_target_column("y", [pa.chunked_array([["a", "b"]])])

    with pytest.raises(UserInputError, match=f"--scoring {scoring} can't be used"):
        validate_scoring(scoring, learner, two)


@pytest.mark.parametrize(("scoring", "learner"), [("roc_auc", LinearSVC()), ("neg_log_loss", LogisticRegression())])
def test_a_metric_that_the_learner_supports_is_accepted(scoring, learner):
    validate_scoring(scoring, learner, TARGET)
