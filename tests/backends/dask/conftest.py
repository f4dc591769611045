"""A real cluster of two worker processes, shared by the tests of a file."""

import contextlib
import logging

import pytest
from distributed import Client, LocalCluster


@contextlib.contextmanager
def local_cluster(n_workers=2, **settings):
    """Start workers with one thread each, and end them."""
    with (
        LocalCluster(
            n_workers=n_workers,
            processes=True,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            **settings,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    """A client of two workers."""
    with local_cluster() as client:
        yield client
