"""scikit-learn's own checks of estimators, without expected failures."""

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor


@parametrize_with_checks(
    [
        TimeConstrainedClassifier(learner, backend=backend, time_limit=60)
        for learner in (DecisionTreeClassifier(), LogisticRegression())
        for backend in ("inline", "process")
    ]
)
def test_the_classifier_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        TimeConstrainedRegressor(learner, backend=backend, time_limit=60)
        for learner in (DecisionTreeRegressor(), Ridge())
        for backend in ("inline", "process")
    ]
)
def test_the_regressor_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)
