"""Our classifier inside scikit-learn's pipelines, searches and ensembles, and around learners of every library."""

import os

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # the import enables it
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.teachers import TCT

pytestmark = pytest.mark.usefixtures("workers_of_its_own")
RNG = np.random.default_rng(0)
X = RNG.random((1200, 5))
Y = ((X[:, 0] + X[:, 1] + 0.2 * RNG.random(1200)) * 1.3).astype(int)
JOBS = [1, pytest.param(2, marks=pytest.mark.slow)]


def ours(learner=None, **settings):
    learner = DecisionTreeClassifier(max_depth=5) if learner is None else learner
    return TimeConstrainedClassifier(
        learner, **{"time_limit": 60, "teacher": TCT(first=100), "random_state": 0} | settings
    )


def good(classifier):
    return classifier.fit(X, Y).score(X, Y) > 0.75


@pytest.mark.parametrize("jobs", JOBS)
def test_grid_search(jobs):
    search = GridSearchCV(ours(), {"estimator__max_depth": [2, 6], "teacher__alpha": [0.1]}, cv=2, n_jobs=jobs)

    assert good(search)
    assert search.best_params_["estimator__max_depth"] == 6


@pytest.mark.parametrize("jobs", JOBS)
def test_randomized_and_halving_search(jobs):
    grid = {"estimator__max_depth": [2, 4, 6]}

    assert good(RandomizedSearchCV(ours(), grid, n_iter=2, cv=2, n_jobs=jobs, random_state=0))
    assert good(HalvingGridSearchCV(ours(), grid, cv=2, n_jobs=jobs, random_state=0, min_resources=300))


@pytest.mark.parametrize("jobs", JOBS)
def test_cross_validation_and_each_fit_keeps_its_own_limit(jobs):
    scores = cross_val_score(ours(time_limit=20), X, Y, cv=3, n_jobs=jobs)

    assert scores.mean() > 0.7


@pytest.mark.parametrize("jobs", JOBS)
def test_calibration_stacking_and_one_against_the_rest(jobs):
    assert good(CalibratedClassifierCV(ours(), cv=2, n_jobs=jobs))
    assert good(StackingClassifier([("a", ours()), ("b", ours(GaussianNB()))], cv=2, n_jobs=jobs))
    assert good(OneVsRestClassifier(ours(), n_jobs=jobs))


@pytest.mark.parametrize("jobs", JOBS)
def test_permutation_importance(jobs):
    importance = permutation_importance(ours().fit(X, Y), X, Y, n_repeats=3, n_jobs=jobs, random_state=0)

    assert set(np.argsort(importance.importances_mean)[-2:]) == {0, 1}


def test_in_a_pipeline_and_around_one():
    assert good(make_pipeline(StandardScaler(), ours()))
    assert good(ours(make_pipeline(StandardScaler(), LogisticRegression())))


LEARNERS = [
    LGBMClassifier(n_estimators=20, verbosity=-1),
    XGBClassifier(n_estimators=20),
    CatBoostClassifier(iterations=20, verbose=False),
    HistGradientBoostingClassifier(max_iter=20),
    RandomForestClassifier(20),
    LinearSVC(),
    LogisticRegression(),
    SGDClassifier(),
    MLPClassifier((20,), max_iter=400, learning_rate_init=0.02),
    KNeighborsClassifier(),
    GaussianNB(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=[type(learner).__name__ for learner in LEARNERS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# LightGBM invents names for columns without one, and scikit-learn before 1.7 then warns.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_learners_of_every_library(learner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    classifier = ours(learner).fit(X, Y)

    assert classifier.score(X, Y) > 0.7
    assert type(classifier.best_estimator_) is type(learner)
    assert os.listdir(tmp_path) == []


def test_a_torch_module_behind_skorch():
    torch = pytest.importorskip("torch", reason="torch's wheels are gigabytes, so CI does not install it")
    skorch = pytest.importorskip("skorch", reason="goes with torch")
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(torch.nn.Linear(5, 20), torch.nn.ReLU(), torch.nn.Linear(20, 4)),
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=30,
        lr=0.3,
        verbose=0,
    )

    assert ours(net).fit(X.astype(np.float32), Y.astype(np.int64)).score(X.astype(np.float32), Y) > 0.6
