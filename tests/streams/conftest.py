"""A Dask cluster of separate processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import dask
import pytest
from distributed import Client, LocalCluster

# A busy machine may take this long to start a process.
_PATIENCE = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.comm.timeouts.tcp": "120s",
    "distributed.deploy.lost-worker-timeout": "120s",
}


def start_cluster() -> LocalCluster:
    """Two workers with one thread each; a nanny restarts each worker that dies."""
    problem: Exception | None = None
    for _ in range(3):
        try:
            return LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                death_timeout=300,
            )
        except Exception as error:  # a process did not start in time
            problem = error
    pytest.skip(f"no cluster of processes could be started: {problem}")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with dask.config.set(_PATIENCE):
        cluster = start_cluster()
        connected = Client(cluster)
        yield connected
        # Killed or retired workers may prevent an orderly shutdown.
        for closing in (connected, cluster):
            with suppress(Exception):
                closing.close()
