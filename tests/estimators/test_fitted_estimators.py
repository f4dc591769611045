"""A fitted estimator can be copied, stored, loaded elsewhere, shown and exported."""

import copy
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin.teachers import TCT

RNG = np.random.default_rng(0)
X = RNG.random((1500, 3)).astype(np.float32)
Y = np.where(X[:, 0] + 0.2 * RNG.random(1500) > 0.6, "high", "low")


@pytest.fixture(scope="module")
def classifier():
    return TimeConstrainedClassifier(
        RandomForestClassifier(5), teacher=TCT(first=100), time_limit=60, random_state=0, on_round=None
    ).fit(X, Y)


def test_copies_predict_the_same(classifier, tmp_path):
    joblib.dump(classifier, tmp_path / "model.joblib")
    copies = [
        pickle.loads(pickle.dumps(classifier)),
        copy.deepcopy(classifier),
        joblib.load(tmp_path / "model.joblib"),
    ]

    for again in copies:
        np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
        assert again.history_ == classifier.history_
        assert again.score_estimate_ == classifier.score_estimate_


def test_skops_stores_it_without_pickle(classifier):
    stored = skops.io.dumps(classifier)

    needed = skops.io.get_untrusted_types(data=stored)
    again = skops.io.loads(stored, trusted=needed)

    own = [
        "fitwithin._classifier.TimeConstrainedClassifier",
        "fitwithin._core.rounds.Round",
        "fitwithin.teachers._tct.TCT",
        "fitwithin.viz._history.History",
    ]
    assert [name for name in needed if not name.startswith("sklearn.")] == own
    assert (again.history_, type(again.history_)) == (classifier.history_, type(classifier.history_))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))


@pytest.mark.slow
def test_another_process_can_load_it_and_predict(classifier, tmp_path):
    joblib.dump(classifier, tmp_path / "model.joblib")
    np.save(tmp_path / "rows.npy", X[:5])
    script = (
        "import joblib, numpy as np, sys; "
        "print(*joblib.load(sys.argv[1] + '/model.joblib').predict(np.load(sys.argv[1] + '/rows.npy')))"
    )

    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)

    assert done.stdout.split() == classifier.predict(X[:5]).tolist()


def test_a_clone_is_not_fitted(classifier):
    fresh = clone(classifier)

    check_is_fitted(classifier)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_its_html_in_a_notebook_shows_the_learner(classifier):
    for estimator in (classifier, clone(classifier), TimeConstrainedRegressor(Ridge())):
        page = estimator_html_repr(estimator)
        assert "TimeConstrained" in page
        assert ("RandomForestClassifier" in page) or ("Ridge" in page)


def test_the_best_model_exports_to_onnx(classifier):
    skl2onnx = pytest.importorskip("skl2onnx")

    exported = skl2onnx.to_onnx(classifier.best_estimator_, X[:1])

    assert len(exported.SerializeToString()) > 1000
