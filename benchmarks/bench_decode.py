"""Decoding against SciPy's product of codes and atoms, and against copies of atoms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import fost
from benchmarks.data import noise, reflectors, rotations
from benchmarks.harness import Report, threads


def run(report: Report, quick: bool = False) -> None:
    for dtype in (np.float32, np.float64):
        for n in (16, 64, 256, 1024):
            with threads(1):
                _against_scipy(report, n, dtype, quick)


def _against_scipy(report: Report, n: int, dtype: Any, quick: bool) -> None:
    # So many that calls do not count, which have a table of their own, and few enough for caches.
    n_signals = max(2**21 // (n * np.dtype(dtype).itemsize), 64)
    Y = noise(n_signals, n, dtype)
    report.section(
        f"Decode, n = {n}, N = {n_signals:,}, {np.dtype(dtype)}, one thread", "ns per signal"
    )
    transforms = {
        "DCT": fost.DCT(n),
        "DCT + rotations": fost.Chain([fost.DCT(n), rotations(n, n)]),
        "H12": reflectors(12, n),
    }
    for name, transform in transforms.items():
        atoms = np.ascontiguousarray(transform.matrix.T, dtype=dtype)
        for s in (1, 4, 16, 64):
            if s > n:
                continue
            codes = transform.encode(Y, s)
            report.compare(
                f"{name}, s = {s}",
                partial(transform.decode, codes),
                "codes @ atoms (SciPy)",
                partial(codes.__matmul__, atoms),
                n_signals,
                5 if quick else 21,
                ">= 1.5",
            )
    # What moving one atom to each signal takes, without a product.
    transform = transforms["DCT"]
    atoms, codes = np.ascontiguousarray(transform.matrix.T, dtype=dtype), transform.encode(Y, 1)
    report.compare(
        "DCT, s = 1",
        partial(transform.decode, codes),
        "np.take(atoms, indices)",
        partial(np.take, atoms, codes.indices, axis=0),
        n_signals,
        5 if quick else 21,
    )
