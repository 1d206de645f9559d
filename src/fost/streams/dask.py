"""Streams over Dask arrays: passes run where the data are, and only sums come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

import fost
from fost._cache import lazy_property
from fost._threads import at_most
from fost._typing import Numbers
from fost._validation import check_real
from fost.streams.arrays import check_size, check_weights, nan_where
from fost.streams.base import Pass, Stream, Sums, add_pairwise

# Objects of Dask and distributed, and results of functions that Dask runs.
Untyped: TypeAlias = Any
# The share of the workers' memory that signals may use to stay there between passes.
_KEPT_SHARE = 0.5
# Sums that one task adds, pairwise. A task costs a scheduler about a millisecond.
_FAN_IN = 8
# Errors of `distributed` when its scheduler is gone, by name, since it may not be installed.
_LOST = ("FutureCancelledError", "CancelledError", "CommClosedError", "ClosedClientError")


class DaskStream(Stream):
    """The rows of a `dask.array.Array` in any chunks.

    One task runs a pass over each chunk. The results are added pairwise, in a tree that depends on
    the number of chunks only. Dask decides where and in which order tasks run, and what happens
    when a worker is lost; this cannot change a result.
    """

    n_signals: int

    def __init__(
        self,
        Y: Untyped,
        name: str,
        has_missing: bool = False,
        missing: object = None,
        weights: object = None,
    ) -> None:
        if np.isnan(Y.shape).any():
            raise ValueError(
                f"{name} is a Dask array of unknown shape; call {name}.compute_chunk_sizes() first"
            )
        check_size(Y.shape, name)
        self.dtype = check_real(np.empty(0, Y.dtype), name).dtype
        self._array = Y.rechunk({1: -1}) if Y.numblocks[1] > 1 else Y
        self.n_signals, self.n_features = map(int, self._array.shape)
        self.name, self.has_missing = name, has_missing or missing is not None
        self.weighted = weights is not None
        if missing is not None:
            self._mark(missing)
        self._weights = None if weights is None else self._chunked(weights, "sample_weight")

    def _chunked(self, rows: object, name: str) -> Untyped:
        """An array with a row for each signal, in the chunks of the signals."""
        array = da.asarray(rows)
        if np.isnan(array.shape).any() or array.shape != self._array.shape[: array.ndim]:
            wanted = self._array.shape[: max(1, array.ndim)]
            raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
        return array.rechunk(self._array.chunks[: array.ndim])

    def _mark(self, missing: object) -> None:
        """Replace missing entries by NaN."""
        mask = self._chunked(missing, "missing")
        if mask.ndim != 2 or mask.dtype != np.bool_:
            kind = TypeError if mask.ndim == 2 else ValueError
            raise kind(f"missing must be boolean and of the shape of {self.name}, got {mask}")
        self._array = da.map_blocks(_mark, self._array, mask, self.name, dtype=self.dtype)

    def blocks(self) -> Iterator[Numbers]:
        """One chunk after the other, computed in this process."""
        for part in self._parts:
            with explained_errors():
                yield check_real(part.compute(), self.name)

    def total(self, one_pass: Pass) -> Sums:
        # The pass, which contains the transform, is one object of the graph. Each worker gets it
        # once, instead of with every task.
        shared = dask.delayed(_Task(one_pass, self.name, threads_per_task()), pure=False)
        pieces = [self._parts]
        if self._weights is not None:
            pieces.append(list(self._weights.to_delayed().ravel()))
        parts = [dask.delayed(_run)(shared, *piece) for piece in zip(*pieces, strict=True)]
        while len(parts) > 1:
            groups = [parts[k : k + _FAN_IN] for k in range(0, len(parts), _FAN_IN)]
            parts = [dask.delayed(add_pairwise)(group) for group in groups]
        with explained_errors():
            sums: Sums = parts[0].compute()
        return sums

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        with explained_errors():
            return check_real(self._array[rows].compute(), self.name)

    def weights_at(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        if self._weights is None:
            return None
        with explained_errors():
            return np.asarray(self._weights[rows].compute(), np.float64)

    def map_blocks(self, function: Callable[[Numbers], Untyped]) -> Untyped:
        """A lazy Dask array whose blocks are the values of `function` for the blocks of signals."""
        shared = dask.delayed(_Task(function, self.name, threads_per_task()), pure=False)
        meta = function(np.zeros((1, self.n_features), self.dtype))[:0]
        chunks = (self._array.chunks[0], (meta.shape[1],))
        return self._array.map_blocks(_run_on, shared, dtype=self.dtype, meta=meta, chunks=chunks)

    @lazy_property
    def _parts(self) -> list[Untyped]:
        """The chunks in order; they stay on the workers between passes if memory allows."""
        client = _client_for(self._array)
        self._kept = self._array  # a reference keeps the chunks on the workers
        if client is not None:
            with explained_errors():
                _check_workers(client)
                if self._array.nbytes <= _KEPT_SHARE * _memory(client):
                    self._kept = self._array.persist()
        return list(self._kept.to_delayed().ravel())


def threads_per_task() -> int:
    """Threads of fost inside a task; Dask's workers run as many tasks as they have threads."""
    return int(dask.config.get("fost.threads-per-task", 1))


class _Task:
    """A function of a block of signals as a worker runs it."""

    def __init__(self, function: Callable[..., Untyped], name: str, threads: int) -> None:
        self._function, self._name, self._threads = function, name, threads

    def __call__(self, block: Numbers, weights: Numbers | None = None) -> Untyped:
        more = () if weights is None else (check_weights(weights, len(block), self._name, True),)
        with at_most(self._threads):
            return self._function(check_real(block, self._name), *more)


def _run(task: _Task, block: Numbers, weights: Numbers | None = None) -> Untyped:
    return task(block, weights)


def _mark(block: Numbers, missing: Numbers, name: str) -> Numbers:
    return nan_where(missing, check_real(block, name), name)


def _run_on(block: Numbers, task: _Task) -> Untyped:
    return task(block)


@contextmanager
def explained_errors() -> Iterator[None]:
    """Replace errors of the cluster by errors that say how to fix them."""
    try:
        yield
    except Exception as error:
        chain = list(_chain(error))
        if any("No module named 'fost" in str(link) for link in chain):
            raise ImportError(
                "the Dask scheduler or a worker cannot import fost; install the same version "
                f"of it everywhere ({error})"
            ) from error
        if any(type(link).__name__ in _LOST for link in chain):
            raise ConnectionError(
                "the connection to the Dask cluster was lost; a run with a checkpoint can be "
                f"resumed ({error})"
            ) from error
        raise


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, its cause, the cause of that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _client_for(array: Untyped) -> Untyped:
    """The client of `distributed` that Dask would use; None if it uses another scheduler."""
    scheduler = dask.base.get_scheduler(collections=[array])
    client = getattr(scheduler, "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _check_workers(client: Untyped) -> None:
    """Raises an ImportError unless all workers have this version of fost.

    This runs before any object of fost is sent: a worker that cannot unpickle a message drops its
    connection without giving the reason.
    """
    wrong = {
        worker: f"cannot import fost ({error})"
        for worker, error in client.run(exec, f"import {__name__}", {}, on_error="return").items()
        if isinstance(error, ImportError)  # other errors come from workers that join or leave
    }
    for worker, found in client.get_versions(packages=["fost"])["workers"].items():
        version = found["packages"].get("fost")
        if version not in (None, fost.__version__):
            wrong.setdefault(worker, f"has fost {version}")
    for worker, why in wrong.items():
        raise ImportError(
            f"the Dask worker {worker} {why}; install fost {fost.__version__}, as here, "
            "on all workers"
        )


def _memory(client: Untyped) -> float:
    """The memory that all workers may use, in bytes."""
    workers = client.scheduler_info()["workers"].values()
    return float(sum(worker.get("memory_limit") or 0 for worker in workers))
