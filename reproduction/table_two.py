"""Table II, speed-ups of reflectors by counts and by measurement, and the times of learning."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import fost
from fost.diagnostics import speed_ups
from reproduction.algorithms import Settings, run
from reproduction.data import SIDE, ImageSet
from reproduction.printed import SECONDS, TABLE_TWO


def table_two(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Speed-ups of m reflectors, by the paper's counts of operations and measured here.

    Measured on one thread with float32 signals: over ``Y @ Q`` (BLAS), over fost's 64-point DCT
    and over ``scipy.fft.dct``. Ratios are medians over interleaved repetitions.
    """
    n = SIDE * SIDE
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((settings.timed_signals, n)).astype(np.float32)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0].astype(np.float32)
    transforms: dict[int, fost.Transform] = {0: fost.DCT(n)}
    for m in TABLE_TWO:
        vectors = rng.standard_normal((m, n))
        transforms[m] = fost.Householder(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    functions: dict[Any, Callable[[], Any]] = {
        "dense": lambda: Y @ Q,
        "scipy": lambda: scipy.fft.dct(Y, norm="ortho", axis=1),
        **{m: partial(transform.forward, Y) for m, transform in transforms.items()},
    }
    with _one_thread():
        times = _interleaved(functions, settings.repeats)
    rows = []
    for m, (paper_dense, paper_cosine) in TABLE_TWO.items():
        counted = speed_ups(n, m, settings.sparsity)
        dense, cosine, scipys = (
            float(np.median(times[k] / times[m])) for k in ("dense", 0, "scipy")
        )
        rows.append(
            {
                "n_reflectors": m,
                "counted_dense": counted.over_dense,
                "counted_cosine": counted.over_dct,
                "paper_dense": paper_dense,
                "paper_cosine": paper_cosine,
                "nanoseconds": float(np.median(times[m])) / len(Y) * 1e9,
                "measured_dense": dense,
                "measured_cosine": cosine,
                "measured_scipy": scipys,
            }
        )
    return rows


def running_times(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Seconds of learning on couple, peppers and boat together, initialisation included.

    Medians of three runs (one for SK-SVD), with all threads and with one. The paper's times are
    those of MATLAB on a laptop of 2014.
    """
    Y = images.figure_signals()
    if Y is None:
        return []
    rows = []
    for method, paper in SECONDS.items():
        repeats = 1 if method == "SK-SVD" else min(3, settings.repeats)
        seconds, steps = _seconds(method, Y, settings, repeats)
        with _one_thread():
            alone, _ = _seconds(method, Y, settings, repeats)
        rows.append(
            {
                "method": method,
                "n_signals": len(Y),
                "n_iter": steps,
                "threads": fost.get_num_threads(),
                "seconds": seconds,
                "seconds_one_thread": alone,
                "paper": paper,
            }
        )
    return rows


def _seconds(method: str, Y: NDArray[Any], settings: Settings, repeats: int) -> tuple[float, int]:
    times, steps = [], 0
    for _ in range(repeats):
        start = time.perf_counter()
        steps = len(run(method, Y, settings).errors) - 1
        times.append(time.perf_counter() - start)
    return float(np.median(times)), steps


def _interleaved(
    functions: dict[Any, Callable[[], Any]], repeats: int
) -> dict[Any, NDArray[np.float64]]:
    """Seconds of each call of each function, after one call that is not timed.

    Functions alternate, so that a slow phase of the machine affects all of them, in a new random
    order each time, because the state of the caches depends on the previous function.
    """
    for function in functions.values():
        function()
    times: dict[Any, list[float]] = {key: [] for key in functions}
    keys, rng = list(functions), np.random.default_rng(0)
    for _ in range(repeats):
        for k in rng.permutation(len(keys)):
            start = time.perf_counter()
            functions[keys[k]]()
            times[keys[k]].append(time.perf_counter() - start)
    return {key: np.array(values) for key, values in times.items()}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run fost and BLAS on one thread each."""
    before = fost.get_num_threads()
    fost.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        fost.set_num_threads(before)
