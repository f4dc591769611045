"""Every public estimator can be cloned, pickled and cross-validated, whatever its backend."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dask_clusters import local_cluster
from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin.backends import Dask, Inline, Process

X = np.random.default_rng(0).random((400, 3))
Y = (X[:, 0] > 0.5).astype(int)

ESTIMATORS = {
    "classifier": (TimeConstrainedClassifier, DecisionTreeClassifier(max_depth=2)),
    "regressor": (TimeConstrainedRegressor, DecisionTreeRegressor(max_depth=2)),
    "search": (TimeConstrainedSearch, DecisionTreeClassifier(max_depth=2)),
}


def is_second(finished):
    return finished.number == 2


COPIES = {"clone": clone, "pickle": lambda given: pickle.loads(pickle.dumps(given)), "deepcopy": copy.deepcopy}


@pytest.fixture(scope="module")
def client():
    with local_cluster(1, processes=False) as client:
        yield client


@pytest.fixture(params=["inline", "process", "dask client", "dask address"])
def backend(request):
    if not request.param.startswith("dask"):
        return {"inline": Inline, "process": Process}[request.param]()
    client = request.getfixturevalue("client")
    return Dask(client if request.param == "dask client" else client.scheduler.address)


@pytest.fixture(params=ESTIMATORS)
def estimator(request, backend):
    kind, learner = ESTIMATORS[request.param]
    return kind(learner, backend=backend, time_limit=20, progress=False, on_round=is_second, random_state=0)


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_has_the_same_parameters(how, estimator, backend, request):
    same = COPIES[how](estimator)

    assert str(same.estimator) == str(estimator.estimator)
    assert type(same.backend) is type(backend)
    if isinstance(backend, Dask):
        assert same.backend.client == request.getfixturevalue("client").scheduler.address
        assert same.backend.clock is backend.clock


def test_copies_are_fitted_in_a_cross_validation_and_can_be_pickled(estimator):
    found = cross_validate(estimator, X, Y, cv=2, return_estimator=True)

    assert found["test_score"].min() > 0.8
    for fitted in found["estimator"]:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
