"""The Dask backend passes the contract of all backends that can stop a learner."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin.backends import Dask
from fitwithin.teachers import Exam
from fitwithin.testing import KillableBackendContract
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner

home_worker = pytest.importorskip(
    "fitwithin.backends._dask.home_worker", reason="Dask is an extra", exc_type=ImportError
)


@pytest.mark.slow
class TestDask(KillableBackendContract):
    @pytest.fixture(autouse=True)
    def _use_client(self, dask_client):
        self.make = lambda: Dask(dask_client)


@pytest.mark.slow
def test_row_numbers_that_do_not_fit_into_a_task_reach_the_workers(dask_client):
    pool = make_pool(400_000)
    order = np.random.default_rng(0).permutation(len(pool))
    with open_runner(Dask(dask_client), RecordingClassifier(), pool) as runner:
        runner.fit(order[:300_000])
        examined = runner.examine(Exam(order))
        runner.fit(order)
        saved = runner.save()

    np.testing.assert_array_equal(examined.wrong, pool.read(order).y != "a")
    np.testing.assert_array_equal(saved.load().X_, pool.X[order])
    saved.discard()


@pytest.mark.slow
def test_an_exam_by_all_workers_says_the_same_as_one_where_the_model_was_trained(dask_client, monkeypatch):
    pool, rows = make_pool(), np.random.default_rng(0).permutation(np.arange(40, 190))
    exams = [Exam(rows, purpose, margins=True) for purpose in ("mistakes", "score", "validation", "holdout")]
    with open_runner(Dask(dask_client), GaussianNB(), pool) as runner:
        here = [*runner.fit(np.arange(30), exams=exams).exams, *map(runner.examine, exams)]
        scored_here = runner.score(np.ones(8 * len(rows), dtype=bool))
        monkeypatch.setattr(home_worker, "_HOME_EXAM_ROWS", 10)
        everywhere = [*runner.fit(np.arange(30), exams=exams).exams, *map(runner.examine, exams)]
        scored_everywhere = runner.score(np.ones(8 * len(rows), dtype=bool))

    for one, other in zip(here, everywhere, strict=True):
        np.testing.assert_array_equal(one.wrong, other.wrong)
        np.testing.assert_array_equal(one.margins, other.margins)
        assert one.score == other.score
        np.testing.assert_array_equal(one.influence, other.influence)
    assert scored_here.overall == scored_everywhere.overall
