"""Long signals: 16 reflectors against a dense transform and NumPy, n = 512 to 4,096."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.bench_encode import keep_largest
from benchmarks.data import reflectors, walks
from benchmarks.harness import Report, threads

M = 16  # reflectors
ITERATIONS = 3
# The least ratios of encode to fost's dense transform, of encode to NumPy, and of learning to
# passes of NumPy.
TARGETS = {512: (2, 4, 1), 1024: (4, 5, 1), 2048: (6, 8, 0.7), 4096: (10, 12, 0.7)}


def run(report: Report, quick: bool = False) -> None:
    sizes = list(TARGETS)[:2] if quick else list(TARGETS)
    with threads(1):
        report.section(
            f"Encode long signals, {M} reflectors, s = n / 16, random walks, float32, one thread",
            "nanoseconds per signal",
        )
        for n in sizes:
            _encode(report, walks(n, 1024), *TARGETS[n][:2])
        report.section(
            f"Learn {M} reflectors of long signals, s = n / 16, K = {ITERATIONS}, one thread",
            "nanoseconds per signal and iteration, initialisation included",
        )
        for n in sizes:
            _learn(report, walks(n, 2048), TARGETS[n][2])


def _encode(report: Report, Y: NDArray[np.float32], dense: float, numpy: float) -> None:
    n = Y.shape[1]
    s, H = n // 16, reflectors(M, n)
    D, Q = fost.Dense(H.matrix), H.matrix.astype(Y.dtype)
    others: dict[str, tuple[Callable[[], Any], float]] = {
        "fost, dense": (partial(D.encode, Y, s), dense),
        "Y @ Q, argpartition, take": (lambda: keep_largest(Y @ Q, s), numpy),
    }
    for name, (theirs, target) in others.items():
        report.compare(
            f"n = {n:,}", partial(H.encode, Y, s), name, theirs, len(Y), target=f">= {target}"
        )


def _learn(report: Report, Y: NDArray[np.float32], target: float) -> None:
    """Against the codes and the statistic alone, without an update of the transform."""
    n = Y.shape[1]
    s, Q = n // 16, reflectors(M, n).matrix.astype(Y.dtype)

    def passes() -> Any:
        for _ in range(ITERATIONS + 1):
            X = np.zeros_like(Y)
            places, values = keep_largest(Y @ Q, s)
            np.put_along_axis(X, places, values, axis=1)
            statistic = X.T @ Y
        return statistic

    report.compare(
        f"n = {n:,}",
        lambda: fost.learn(Y, fost.Reflectors(M), s, base=None, max_iter=ITERATIONS, tol=0),
        "passes by Y @ Q, argpartition, X.T @ Y",
        passes,
        len(Y) * ITERATIONS,
        repeats=3,
        target=f">= {target}",
    )
