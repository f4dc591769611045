"""scikit-learn's own checks of estimators, without expected failures.

Each learner and each backend is checked once, not every pair: a check costs up to twenty fits.
"""

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch


@parametrize_with_checks(
    [
        TimeConstrainedClassifier(DecisionTreeClassifier(), backend="process", time_limit=60),
        TimeConstrainedClassifier(LogisticRegression(), backend="inline", time_limit=60),
    ]
)
def test_the_classifier_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        TimeConstrainedRegressor(DecisionTreeRegressor(), backend="inline", time_limit=60),
        TimeConstrainedRegressor(Ridge(), backend="inline", time_limit=60),
    ]
)
def test_the_regressor_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        TimeConstrainedSearch(learner, {"max_depth": [3, None]}, backend="inline", time_limit=60)
        for learner in (DecisionTreeClassifier(), DecisionTreeRegressor())
    ]
)
def test_the_search_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)
