"""Table II: how many times as fast a few reflectors are, counted and measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import fost
from fost._typing import Numbers
from fost.diagnostics import operation_counts
from fost.paper.pictures import SIDE, PictureSet
from fost.paper.printed import TABLE_TWO
from fost.paper.settings import Settings


@dataclass(frozen=True)
class SpeedRow:
    """Speed-ups of m reflectors over other transforms.

    Attributes
    ----------
    n_reflectors : int
        m.
    counted_dense, counted_cosine : float
        By the paper's counts of operations.
    paper_dense, paper_cosine : float
        As printed.
    nanoseconds : float
        That ``Householder.forward`` takes per float32 signal, on one thread.
    measured_dense : float
        Over ``Y @ Q`` of NumPy, that is BLAS.
    measured_cosine : float
        Over fost's own 64-point cosine transform.
    measured_scipy : float
        Over ``scipy.fft.dct``.

    Examples
    --------
    >>> from fost import paper
    >>> row = paper.table_two(settings=paper.Settings(repeats=1, timed_signals=64))[0]
    >>> row.n_reflectors, round(row.counted_dense), row.paper_dense
    (1, 32, 32)
    """

    n_reflectors: int
    counted_dense: float
    counted_cosine: float
    paper_dense: float
    paper_cosine: float
    nanoseconds: float
    measured_dense: float
    measured_cosine: float
    measured_scipy: float


def table_two(
    pictures: PictureSet | None = None, settings: Settings | None = None
) -> list[SpeedRow]:
    """The paper's counts, and times on this machine.

    Repetitions are interleaved, so that whatever slows the machine down slows all methods, and
    ratios are medians over them.

    Parameters
    ----------
    pictures : PictureSet, optional
        Not used: speed does not depend on them.
    settings : Settings, optional

    Examples
    --------
    >>> from fost import paper
    >>> rows = paper.table_two(settings=paper.Settings(repeats=1, timed_signals=64))
    >>> [row.n_reflectors for row in rows][:4]
    [1, 2, 3, 4]
    """
    settings = Settings.of(settings)
    n = SIDE * SIDE
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((settings.timed_signals, n)).astype(np.float32)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0].astype(np.float32)
    line = fost.DCT(n)
    functions: dict[Any, Callable[[], Any]] = {
        "dense": lambda: Y @ Q,
        "cosine": lambda: line.forward(Y),
        "scipy": lambda: scipy.fft.dct(Y, norm="ortho", axis=1),
    }
    for m in TABLE_TWO:
        functions[m] = _reflectors(rng, m, Y)
    with one_thread():
        times = interleaved(functions, settings.repeats)
    rows = []
    for m, (paper_dense, paper_cosine) in TABLE_TWO.items():
        counted = operation_counts(n, m, settings.sparsity)
        measured = [float(np.median(times[k] / times[m])) for k in ("dense", "cosine", "scipy")]
        each = float(np.median(times[m])) / len(Y) * 1e9
        counts = (counted.over_dense, counted.over_dct)
        rows.append(SpeedRow(m, *counts, paper_dense, paper_cosine, each, *measured))
    return rows


def _reflectors(rng: np.random.Generator, m: int, Y: Numbers) -> Callable[[], Any]:
    vectors = rng.standard_normal((m, Y.shape[1]))
    transform = fost.Householder(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return lambda: transform.forward(Y)


def interleaved(
    functions: dict[Any, Callable[[], Any]], repeats: int
) -> dict[Any, NDArray[np.float64]]:
    """Seconds of each call of each function, in turns, after one that is not timed.

    Each round has its own order: what a function finds in the caches depends on the one before.
    """
    for function in functions.values():
        function()
    times: dict[Any, list[float]] = {key: [] for key in functions}
    keys, rng = list(functions), np.random.default_rng(0)
    for _ in range(repeats):
        for k in rng.permutation(len(keys)):
            key = keys[k]
            start = time.perf_counter()
            functions[key]()
            times[key].append(time.perf_counter() - start)
    return {key: np.array(values) for key, values in times.items()}


@contextmanager
def one_thread() -> Iterator[None]:
    """fost and BLAS on one thread each."""
    before = fost.get_num_threads()
    fost.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        fost.set_num_threads(before)
