"""The Dask backend passes the contract of all backends that can stop a learner."""

import pytest

from fitwithin.backends import Dask
from fitwithin.testing import KillableBackendContract


@pytest.mark.slow
class TestDask(KillableBackendContract):
    @pytest.fixture(autouse=True)
    def _use_client(self, dask_client):
        self.make = lambda: Dask(dask_client)
