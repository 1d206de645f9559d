"""How the time of a selection grows with s, and what ties and zeros cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.data import noise
from benchmarks.harness import Report, threads

N_SIGNALS = 2048


def run(report: Report, quick: bool = False) -> None:
    repeats = 7 if quick else 41
    with threads(1):
        for dtype in (np.float32, np.float64):
            C = noise(N_SIGNALS, 64, dtype)
            _steps(report, C, repeats, quick)
            _ties(report, C, repeats)


def _steps(report: Report, C: NDArray[Any], repeats: int, quick: bool) -> None:
    report.section(f"Select s + 1 against s of 64, {C.dtype}, one thread", "ns per signal")
    for s in (4, 8, 16, 32) if quick else range(1, 64):
        report.compare(
            f"s = {s + 1}",
            partial(fost.select, C, s + 1),
            f"s = {s}",
            partial(fost.select, C, s),
            N_SIGNALS,
            repeats,
            ">= 0.8",
        )


def _ties(report: Report, C: NDArray[Any], repeats: int) -> None:
    report.section(f"Ties and zeros against noise, 64 features, {C.dtype}", "ns per signal")
    rng = np.random.default_rng(0)
    few = np.where(rng.permuted(np.arange(64) < 3 + np.zeros((len(C), 1)), axis=1), C, 0)
    for s in (4, 8, 16, 32):
        for name, X in (
            ("integers to 8", rng.integers(-8, 9, C.shape).astype(C.dtype)),
            ("three nonzeros", few.astype(C.dtype)),
        ):
            report.compare(
                f"{name}, s = {s}",
                partial(fost.select, X, s),
                "noise",
                partial(fost.select, C, s),
                N_SIGNALS,
                repeats,
                ">= 0.5",
            )
