"""A model in a shared file comes back as it was."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends._process.backend import StoredModel, expected_load
from fitwithin.backends._process.shared_memory import SharedFile, store


def test_a_forest_predicts_the_same_after_its_file_is_gone():
    X = np.random.default_rng(0).random((200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    file = SharedFile()
    store(forest, file.fd)
    kept = StoredModel(file, save_seconds=0.0, load_seconds=0.0, warnings=[])

    model = kept.load()
    kept.discard()

    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_more_to_load_is_expected_to_take_longer():
    assert expected_load(1.0, 10) > expected_load(0.1, 10) > 0
    assert expected_load(0.1, 10**10) > expected_load(0.1, 10)
