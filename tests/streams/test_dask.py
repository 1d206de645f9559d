"""Dask clusters: results do not depend on the number of workers or on lost workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client

import fost
from fost.learning import as_training_data
from fost.streams import dask as dask_stream
from tests.cases import same_bits
from tests.cli.conftest import process
from tests.learning.test_learn import correlated

pytestmark = [
    # All tests share one cluster.
    pytest.mark.xdist_group("cluster"),
    # Processes that end while others are connected to them cause warnings.
    pytest.mark.filterwarnings("ignore"),
]

N, n, S = 20_000, 16, 3
STRUCTURE = fost.Reflectors(4)


@pytest.fixture(scope="module")
def signals() -> np.ndarray:
    return correlated(N, n)


def learn(Y: Any, **options: Any) -> fost.LearningResult:
    return fost.learn(Y, STRUCTURE, S, **{"max_iter": 6, "tol": 0, **options})


def same_results(a: fost.LearningResult, b: fost.LearningResult) -> bool:
    return same_bits(a.errors, b.errors) and same_bits(a.transform.matrix, b.transform.matrix)


def test_any_workers_and_chunks(client: Client, signals: np.ndarray) -> None:
    here, M = learn(signals), as_training_data(signals).statistic(None, fost.DCT(n), S).matrix
    expected = here.transform.encode(signals, S)
    results: dict[Any, list[fost.LearningResult]] = {}
    for workers in (1, 2, 4):
        client.cluster.scale(workers)
        client.wait_for_workers(workers)
        for chunks in (N // 3, (8000, 1, 7000, 4999), (N, 5)):
            Y = da.from_array(
                signals, chunks=chunks if chunks != (8000, 1, 7000, 4999) else (chunks, n)
            )
            found = as_training_data(Y).statistic(None, fost.DCT(n), S).matrix
            assert np.abs(found - M).max() <= 1e-10 * np.abs(M).max()
            result = learn(Y)
            np.testing.assert_allclose(result.errors, here.errors, rtol=0, atol=1e-8)
            codes = result.transform.encode(Y, S).compute()
            assert same_bits(codes.indices, expected.indices), "the supports"
            results.setdefault(chunks, []).append(result)
    for same in results.values():
        assert all(same_results(other, same[0]) for other in same), "workers change no bit"
    client.cluster.scale(2)
    while len(client.nthreads()) != 2:
        time.sleep(0.05)


def test_a_killed_worker_changes_nothing(client: Client, signals: np.ndarray) -> None:
    client.wait_for_workers(2)
    Y = da.from_array(signals, chunks=(1000, n))
    undisturbed = learn(Y, max_iter=10)
    victims = list(client.run(os.getpid).values())

    def kill(iteration: int, error: float, transform: fost.Transform) -> None:
        if iteration == 3:  # while the next pass is running
            threading.Timer(0.02, os.kill, (victims[0], signal.SIGKILL)).start()

    disturbed = learn(Y, max_iter=10, callback=kill)
    with pytest.raises(ProcessLookupError):
        os.kill(victims[0], 0)
    assert same_results(disturbed, undisturbed)


def test_signals_stay_on_the_workers_if_they_fit(
    client: Client, signals: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, kept in ((0.5, True), (0.0, False)):
        monkeypatch.setattr(dask_stream, "_KEPT_SHARE", share)
        source = as_training_data(da.from_array(signals, chunks=(1000, n)))
        source.statistic(None, fost.DCT(n), S)
        assert (len(client.futures) >= 20) == kept, "one future per chunk"
        del source


def test_tasks_use_one_thread(client: Client) -> None:
    assert dask_stream.threads_per_task() == 1
    with dask.config.set({"fost.threads-per-task": 3}):
        assert dask_stream.threads_per_task() == 3


def test_a_worker_without_fost(client: Client, signals: np.ndarray) -> None:
    client.wait_for_workers(2)
    block = """if True:
        import sys
        class Blocked:
            def find_spec(self, name, *_):
                if name.split(".")[0] == "fost":
                    raise ModuleNotFoundError(f"No module named {name!r}")
        sys.meta_path.insert(0, Blocked())
        for name in [name for name in sys.modules if name.split(".")[0] == "fost"]:
            del sys.modules[name]
    """
    client.run(exec, block, {})
    try:
        with pytest.raises(ImportError, match=r"the Dask worker tcp:.* cannot import fost .No mod"):
            learn(da.from_array(signals, chunks=(5000, n)))
    finally:
        client.restart()


def test_a_worker_with_another_fost(
    client: Client, signals: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fost, "__version__", "99.0")
    with pytest.raises(ImportError, match=r"worker tcp://.* has fost .*; install fost 99\.0, as"):
        learn(da.from_array(signals, chunks=(5000, n)))


@pytest.fixture
def outside() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address and the process of a scheduler with a worker, both outside this process."""
    start = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [
            *start,
            "distributed.cli.dask_scheduler",
            "--port=0",
            "--host=127.0.0.1",
            "--no-dashboard",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert scheduler.stderr is not None
    found = (re.search(r"Scheduler at:\s+(tcp://\S+)", line) for line in scheduler.stderr)
    address = next(match[1] for match in found if match)
    worker = subprocess.Popen(
        [*start, "distributed.cli.dask_worker", address, "--nthreads=1", "--no-nanny",
         "--no-dashboard", "--death-timeout=60"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    reader = threading.Thread(target=scheduler.stderr.read, daemon=True)
    reader.start()
    yield address, scheduler
    for running in (worker, scheduler):
        running.kill()
        running.wait()
    reader.join()
    scheduler.stderr.close()


def test_a_lost_scheduler_and_the_checkpoint(
    outside: tuple[str, subprocess.Popen[str]],
    signals: np.ndarray,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fost.learning.checkpoint._ITERATIONS", 1)
    address, scheduler = outside
    Y, path = da.from_array(signals, chunks=(5000, n)), tmp_path / "state"

    def kill(iteration: int, error: float, transform: fost.Transform) -> None:
        if iteration == 3:
            scheduler.kill()

    with Client(address) as client:
        client.wait_for_workers(1)
        with pytest.raises(ConnectionError, match="Dask cluster was lost; a run with a checkpoint"):
            learn(Y, checkpoint=path, callback=kill)
    iterations: list[int] = []
    # Without a cluster Dask runs in this process; the chunks are the same, so the bits are.
    resumed = learn(Y, checkpoint=path, callback=lambda k, *_: iterations.append(k))
    assert iterations == [4, 5, 6]
    assert same_results(resumed, learn(Y))


def test_commands_on_a_cluster(
    outside: tuple[str, Any],
    signals: np.ndarray,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    address, _ = outside
    np.save("Y.npy", signals)
    stored = zarr.create_array("Y.zarr", shape=signals.shape, chunks=(3000, n), dtype="f8")
    stored[:] = signals
    words = ["--structure", "householder", "--n-reflectors", "4", "--max-iter", "5", "-s", "3"]
    for data in ("Y.npy", "Y.zarr"):
        done = process("learn", data, "-o", f"{data}.on", *words, "--scheduler", address)
        assert done.returncode == 0, done.stderr
        assert process("learn", data, "-o", f"{data}.here", *words).returncode == 0
        on, here = fost.load(f"{data}.on"), fost.load(f"{data}.here")
        np.testing.assert_allclose(on.matrix, here.matrix, atol=1e-8)
    done = process("encode", "Y.npy.on", "Y.zarr", "-o", "on.npz", "--scheduler", address)
    assert done.returncode == 0, done.stderr
    done = process("encode", "Y.npy.on", "Y.npy", "-o", "here.npz")
    assert done.returncode == 0, done.stderr
    with np.load("on.npz") as on_cluster, np.load("here.npz") as here_alone:
        for name in ("data", "indices", "indptr"):
            assert same_bits(on_cluster[name], here_alone[name])
