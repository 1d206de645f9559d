"""Reflectors of many features against compact WY by two products of BLAS."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import noise, reflectors
from benchmarks.harness import Report, threads

NUMBERS = 2**20  # in all signals of a case


def run(report: Report, quick: bool = False) -> None:
    sizes = (128, 1024) if quick else (128, 256, 512, 1024)
    for dtype in (np.float32, np.float64):
        report.section(
            f"Reflectors of many features, {np.dtype(dtype)}, one thread", "nanoseconds per signal"
        )
        with threads(1):
            for n in sizes:
                for m in (12, 32):
                    _compare(report, noise(NUMBERS // n, n, dtype), m)


def _compare(report: Report, Y: NDArray[Any], m: int) -> None:
    n = Y.shape[1]
    U = reflectors(m, n)
    V, W = (factor.astype(Y.dtype) for factor in compact_wy(U.vectors))
    inner, out = np.empty((len(Y), m), Y.dtype), np.empty_like(Y)

    def products() -> NDArray[Any]:
        np.matmul(Y, V, out=inner)
        np.matmul(inner, W, out=out)
        np.subtract(Y, out, out=out)
        return out

    assert np.allclose(U.forward(Y), products(), atol=1e-3)
    report.compare(
        f"n = {n:,}, m = {m}",
        partial(U.forward, Y),
        "two products of BLAS",
        products,
        len(Y),
        repeats=25,
        target=">= 1",
    )


def compact_wy(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """V and W = T V^T with U_m ... U_1 = I - V T V^T, vectors u_1 ... u_m in rows."""
    last_first = vectors[::-1]
    triangle = np.zeros((len(vectors), len(vectors)))
    for k, u in enumerate(last_first):
        triangle[:k, k] = -2 * triangle[:k, :k] @ (last_first[:k] @ u)
        triangle[k, k] = 2
    return np.ascontiguousarray(last_first.T), triangle @ last_first
