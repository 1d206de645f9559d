"""The cosine transform of every length against SciPy's and the dense product."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

import fost
from benchmarks.data import noise
from benchmarks.harness import Report, threads

# Short ones, powers of two, three and five, primes, twice and three times a prime, two primes.
LENGTHS = (2, 3, 5, 8, 12, 16, 17, 19, 20, 24, 31, 48, 61, 64, 97, 100, 125, 127, 243, 256, 500,
           509, 625, 729, 1000, 1019, 1021, 1024, 2039, 2042, 2048, 2187, 3063, 3125, 4087, 4091,
           4093, 4095, 4096)  # fmt: skip
# Beyond, the dense product takes ten times as long and more.
LONGEST_DENSE = 256
NUMBERS = 500_000  # in all signals of a case


def run(report: Report, quick: bool = False) -> None:
    with threads(1):
        for dtype in (np.float32, np.float64):
            _lengths(report, dtype, LENGTHS[::6] if quick else LENGTHS)
        _plans(report)


def _lengths(report: Report, dtype: Any, lengths: tuple[int, ...]) -> None:
    report.section(f"DCT of any length, {np.dtype(dtype)}, one thread", "nanoseconds per signal")
    for n in lengths:
        Y = noise(max(64, min(16_384, NUMBERS // n)), n, dtype)
        transform = fost.DCT(n)
        report.compare(
            f"n = {n:,}",
            partial(transform.forward, Y),
            "scipy.fft.dct",
            partial(scipy.fft.dct, Y, norm="ortho"),
            len(Y),
            target=">= 1",
        )
        report.compare(
            f"n = {n:,}, inverse",
            partial(transform.inverse, Y),
            "scipy.fft.idct",
            partial(scipy.fft.idct, Y, norm="ortho"),
            len(Y),
            target=">= 1",
        )
        if n <= LONGEST_DENSE:
            Q: NDArray[Any] = np.ascontiguousarray(transform.matrix, dtype=dtype)
            report.compare(
                f"n = {n:,}",
                partial(transform.forward, Y),
                "Y @ Q",
                partial(np.matmul, Y, Q),
                len(Y),
                target=">= 1",
            )


def _plans(report: Report) -> None:
    """How long the first call takes, which makes the tables."""
    report.section("DCT, the first call with one signal", "nanoseconds; target below 10 ms")
    for n in (4091, 4093, 4095, 4096):
        report.compare(
            f"n = {n:,}",
            partial(_first_call, n),
            "10 ms",
            partial(time.sleep, 0.01),
            1,
            target="> 1",
        )


def _first_call(n: int) -> None:
    fost.DCT(n).forward(np.ones((1, n)))
