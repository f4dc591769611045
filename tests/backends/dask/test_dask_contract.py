"""The Dask backend passes the contract of all backends that can stop a learner."""

import numpy as np
import pytest

from fitwithin.backends import Dask
from fitwithin.teachers import Exam
from fitwithin.testing import KillableBackendContract
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner


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
