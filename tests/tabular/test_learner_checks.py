"""What does not go together is known before the clock starts."""

import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import Column
from fitwithin._tabular.files import open_data
from fitwithin._tabular.learner_checks import refuse_misfits, refuse_other_columns, refuse_unfit_score
from fitwithin._tabular.target_column import read_goal

GOAL = read_goal("y", pa.chunked_array([["no", "yes"]]))


@pytest.mark.parametrize(
    ("learner", "teacher", "why"),
    [
        (DecisionTreeRegressor(), "auto", "is a regressor"),
        (DecisionTreeClassifier(), "sgd", "partial_fit"),
        (HistGradientBoostingClassifier(), "auto", "sparse"),
    ],
)
def test_a_learner_that_can_not_be_taught_is_refused_before(learner, teacher, why):
    with pytest.raises(UserInputError, match=why):
        refuse_misfits(learner, teacher, sparse.eye(2, format="csr"), GOAL)


def test_a_score_that_says_nothing_is_refused_before():
    refuse_unfit_score("balanced_accuracy", LogisticRegression(), GOAL)

    with pytest.raises(UserInputError, match="f1_macro"):
        refuse_unfit_score("f1", LogisticRegression(), GOAL)


@pytest.mark.parametrize(
    ("scoring", "learner"), [("neg_log_loss", LinearSVC()), ("neg_log_loss", SGDClassifier(loss="hinge"))]
)
def test_a_score_that_asks_for_more_than_the_learner_tells_is_refused(scoring, learner):
    two = read_goal("y", pa.chunked_array([["a", "b"]]))

    with pytest.raises(UserInputError, match=f"--scoring {scoring} can't be used"):
        refuse_unfit_score(scoring, learner, two)


@pytest.mark.parametrize(("scoring", "learner"), [("roc_auc", LinearSVC()), ("neg_log_loss", LogisticRegression())])
def test_a_score_that_asks_for_what_the_learner_tells_is_taken(scoring, learner):
    refuse_unfit_score(scoring, learner, GOAL)


def test_a_file_without_a_column_is_refused_with_the_nearest(tmp_path):
    (tmp_path / "a.csv").write_text("heights,b\n1,2\n")

    with pytest.raises(UserInputError, match=r"no column 'height'.*Did you mean heights\?"):
        refuse_other_columns([Column("height", "number", "double")], open_data(tmp_path / "a.csv"))
