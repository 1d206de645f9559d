"""Encoding (transform and keep the s largest) against what NumPy and SciPy offer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

import fost
from benchmarks.data import noise, patches, reflectors, rotations
from benchmarks.harness import Report, own_threads, threads


def keep_largest(C: NDArray[Any], s: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """What one writes without fost: the places and values of the s largest magnitudes."""
    places = np.argpartition(np.abs(C), -s, axis=1)[:, -s:]
    return places, np.take_along_axis(C, places, axis=1)


def run(report: Report, quick: bool = False) -> None:
    n_signals = 50_000 if quick else 500_000
    for dtype, share in ((np.float32, 1.0), (np.float64, 0.5)):
        for kind, Y in (
            ("patches", patches(n_signals, 8, dtype)),
            ("noise", noise(n_signals, 64, dtype)),
        ):
            with threads(1):
                _against_numpy(report, Y, f"{kind}, {np.dtype(dtype)}", share)
    _two_threads(report, patches(n_signals, 8, np.float32))
    _growth(report, quick)


def _against_numpy(report: Report, Y: NDArray[Any], data: str, share: float) -> None:
    n, s = 64, 4
    report.section(
        f"Encode, n = 64, s = 4, N = {len(Y):,}, one thread, {data}", "nanoseconds per signal"
    )
    H = reflectors(12, n)
    chain = fost.Chain([fost.DCT((8, 8)), rotations(64, n)])
    Q = H.matrix.astype(Y.dtype)
    cube = Y.reshape(-1, 8, 8)

    def dctn() -> NDArray[Any]:
        C: NDArray[Any] = scipy.fft.dctn(cube, axes=(1, 2), norm="ortho").reshape(-1, n)
        return C

    per = len(Y)
    h12, fast = "H12 encode", "DCT + 64 rotations encode"
    report.compare(
        h12,
        lambda: H.encode(Y, s),
        "Y @ Q, argpartition, take",
        lambda: keep_largest(Y @ Q, s),
        per,
        target=f">= {8 * share:g}",
    )
    report.compare(
        h12, lambda: H.encode(Y, s), "Y @ Q alone", lambda: Y @ Q, per, target=f">= {1.3 * share:g}"
    )
    report.compare(
        fast,
        lambda: chain.encode(Y, s),
        "dctn, argpartition, take",
        lambda: keep_largest(dctn(), s),
        per,
        target=f">= {15 * share:g}",
    )
    report.compare(
        fast, lambda: chain.encode(Y, s), "Y.copy()", Y.copy, per, target=f">= {share / 3:.2f}"
    )
    _steps_against_numpy(report, Y, H, dctn)


def _steps_against_numpy(
    report: Report, Y: NDArray[Any], H: fost.Householder, dctn: Callable[[], NDArray[Any]]
) -> None:
    """Transform, selection and decoding by themselves, and a dense transform."""
    s, per = 4, len(Y)
    Q = H.matrix.astype(Y.dtype)
    D, dct = fost.Dense(H.matrix), fost.DCT((8, 8))
    report.compare(
        "Dense encode",
        lambda: D.encode(Y, s),
        "Y @ Q, argpartition, take",
        lambda: keep_largest(Y @ Q, s),
        per,
    )
    report.compare("H12 forward", lambda: H.forward(Y), "Y @ Q", lambda: Y @ Q, per)
    report.compare("DCT forward", lambda: dct.forward(Y), "scipy.fft.dctn", dctn, per)
    C = H.forward(Y)
    report.compare(
        "select", lambda: fost.select(C, s), "argpartition, take", lambda: keep_largest(C, s), per
    )
    codes = H.encode(Y, s)
    report.compare(
        "H12 decode", lambda: H.decode(codes), "codes @ Q.T (SciPy)", lambda: codes @ Q.T, per
    )


def _two_threads(report: Report, Y: NDArray[Any]) -> None:
    report.section("Encode with two threads against one", "nanoseconds per signal")
    transforms = {
        "H12": reflectors(12, 64),
        "DCT + 64 rotations": fost.Chain([fost.DCT((8, 8)), rotations(64, 64)]),
        "Dense": fost.Dense(reflectors(12, 64).matrix),
    }
    for name, transform in transforms.items():

        def encode(count: int, transform: fost.Transform = transform) -> None:
            with own_threads(count):
                transform.encode(Y, 4)

        report.compare(
            f"{name}, two threads",
            partial(encode, 2),
            f"{name}, one thread",
            partial(encode, 1),
            len(Y),
            target=">= 1.6" if name != "Dense" else "",
        )


def _growth(report: Report, quick: bool) -> None:
    report.section(
        "How the cost grows: m = n / 8, s = n / 16, float32 noise, one thread",
        "nanoseconds per signal; the operation counts of dense and H_m differ by 4 throughout",
    )
    for n in (16, 64, 256, 1024):
        m, s = n // 8, n // 16
        n_signals = min(500_000, 20_000_000 // n) // (10 if quick else 1)
        Y = noise(n_signals, n, np.float32)
        H = reflectors(m, n)
        Q = H.matrix.astype(np.float32)
        case, ours = f"n = {n}, H{m} encode", partial(H.encode, Y, s)

        def dense(select: bool, Y: NDArray[Any] = Y, Q: NDArray[Any] = Q, s: int = s) -> Any:
            return keep_largest(Y @ Q, s) if select else Y @ Q

        others = {"Y @ Q, argpartition, take": (True, "> 1"), "Y @ Q alone": (False, "")}
        with threads(1):
            for name, (select, target) in others.items():
                theirs = partial(dense, select)
                report.compare(case, ours, name, theirs, n_signals, repeats=5, target=target)
