"""Learners, teachers and columns that do not go together are refused before the clock starts."""

import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fitwithin._cli.train_inputs import validate_learner
from fitwithin._core.exceptions import UserInputError
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
