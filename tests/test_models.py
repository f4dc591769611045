"""A model in a shared file comes back as it was."""

import os

import numpy as np
import psutil
import pytest
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends import _models
from fitwithin.backends._files import SharedFile
from fitwithin.backends._models import StoredModel, expected_load, load, store


@pytest.mark.parametrize("large", [False, True])
def test_arrays_come_back_writable_private_and_equal(large, monkeypatch):
    monkeypatch.setattr(_models, "_LARGE", 0 if large else 1 << 30)
    model = {"weights": np.arange(10.0), "empty": np.zeros((0, 3)), "fortran": np.ones((3, 2), order="F"), "name": "x"}
    file = SharedFile()
    store(model, file.fd)

    first, second = load(file.fd), load(file.fd)
    file.close()
    first["weights"][:] = -1

    np.testing.assert_array_equal(second["weights"], model["weights"])
    assert second["empty"].shape == (0, 3)
    np.testing.assert_array_equal(second["fortran"], model["fortran"])
    assert second["name"] == "x"


def test_a_forest_predicts_the_same_after_its_file_is_gone():
    X = np.random.default_rng(0).random((200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    file = SharedFile()
    store(forest, file.fd)
    kept = StoredModel(file, store=0.0, load=0.0, warnings=[])

    model = kept.bring()
    kept.discard()

    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_arrays_lie_beside_the_pickle_and_not_twice():
    file = SharedFile()
    store(np.ones(1_000_000), file.fd)
    size = os.fstat(file.fd).st_size
    file.close()

    assert 8_000_000 <= size < 8_010_000


def test_more_to_load_is_expected_to_take_longer():
    assert expected_load(1.0, 10) > expected_load(0.1, 10) > 0
    assert expected_load(0.1, 10**10) > expected_load(0.1, 10)


def test_a_small_model_holds_no_descriptor():
    file = SharedFile()
    store(np.arange(10), file.fd)
    before = psutil.Process().num_fds()

    models = [load(file.fd) for _ in range(3)]

    assert psutil.Process().num_fds() == before
    assert len(models) == 3
    file.close()
