"""Each of several learners has cores of its own; a single one has all of them."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from fitwithin.backends import Process
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner, save_and_load

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")


class Surveyor(RecordingClassifier):
    """Notes the cores and threads that it may use."""

    def fit(self, X, y):
        super().fit(X, y)
        self.cores_ = os.sched_getaffinity(0)
        self.variable_ = os.environ.get("OMP_NUM_THREADS")
        self.threads_ = max(library["num_threads"] for library in threadpool_info())
        return self


def survey(runner):
    runner.fit(np.arange(9))
    return save_and_load(runner)


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_learners_share_the_cores_without_overlap(start):
    with (
        open_runner(Process(start=start), Surveyor(), make_pool(), n_jobs=2) as runner,
        runner.open_sibling() as sibling,
    ):
        first, second = survey(runner), survey(sibling)

    assert first.cores_ | second.cores_ == os.sched_getaffinity(0)
    assert not first.cores_ & second.cores_
    for model in (first, second):
        assert int(model.variable_) == model.threads_ == max(1, len(model.cores_))


def test_a_single_learner_has_all_cores_and_the_programs_variables(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")

    with open_runner(Process(), Surveyor(), make_pool()) as runner:
        model = survey(runner)

    assert model.cores_ == os.sched_getaffinity(0)
    assert model.variable_ == "7"


def test_a_smaller_number_of_threads_in_the_environment_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    with open_runner(Process(), Surveyor(), make_pool(), n_jobs=2) as runner:
        assert survey(runner).variable_ == "1"


def test_no_more_siblings_are_opened_than_were_announced():
    with open_runner(Process(), RecordingClassifier(), make_pool(), n_jobs=2) as runner:
        runner.open_sibling()
        with pytest.raises(RuntimeError, match="n_jobs=2"):
            runner.open_sibling()
