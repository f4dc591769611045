"""The process backend saves models to shared files, and knows their size."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends import Process
from fitwithin.backends._process.saved_model import ProcessModel, predict_load_seconds
from fitwithin.backends._process.shared_memory import SharedFile, dump_pickle
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner


def test_a_loaded_forest_predicts_the_same_after_its_file_is_closed():
    X = np.random.default_rng(0).random((200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    file = SharedFile.create()
    dump_pickle(forest, file.fd)
    saved = ProcessModel(file, save_seconds=0.0, load_seconds=0.0, warnings=[], n_bytes=file.n_bytes, begin_dump=None)

    model = saved.load()
    saved.discard()

    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_a_model_is_expected_to_load_a_little_slower_than_in_a_clean_process():
    assert predict_load_seconds(1.0) > 1.0
    assert predict_load_seconds(0.0) > 0.0


def test_a_saved_model_knows_the_size_of_its_file():
    with open_runner(Process(), RecordingClassifier(), make_pool()) as runner:
        runner.fit(np.arange(9))
        saved = runner.save()
        size = saved.file.n_bytes
        saved.discard()

    assert saved.n_bytes == size > 0
