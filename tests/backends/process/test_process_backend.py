"""The process backend saves models to shared files."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends._process.backend import ProcessModel, predict_load_seconds
from fitwithin.backends._process.shared_memory import SharedFile, dump_pickle


def test_a_loaded_forest_predicts_the_same_after_its_file_is_closed():
    X = np.random.default_rng(0).random((200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    file = SharedFile.create()
    dump_pickle(forest, file.fd)
    saved = ProcessModel(file, save_seconds=0.0, load_seconds=0.0, warnings=[], runner=None)

    model = saved.load()
    saved.discard()

    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_a_model_is_expected_to_load_a_little_slower_than_in_a_clean_process():
    assert predict_load_seconds(1.0) > 1.0
    assert predict_load_seconds(0.0) > 0.0
