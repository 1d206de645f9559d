"""Signals from memory against copies, and signals and pictures of other types."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import skimage.data

import fost
from benchmarks.data import noise, rotations
from benchmarks.harness import Report, threads
from fost import _core

PICTURE = "camera"


def run(report: Report, quick: bool = False) -> None:
    with threads(1):
        for dtype in (np.float32, np.float64):
            _copies(report, dtype, 7 if quick else 21)
        _types(report, 20_000 if quick else 100_000)
        _pictures(report, quick)


def _copies(report: Report, dtype: Any, repeats: int) -> None:
    n_signals = 2**27 // (64 * np.dtype(dtype).itemsize)
    Y = noise(n_signals, 64, dtype)
    out = np.empty_like(Y)
    report.section(
        f"Forward of {Y.nbytes // 2**20} MiB, {Y.dtype}, one thread", "nanoseconds per signal"
    )
    dct = fost.DCT((8, 8))
    chain = fost.Chain([dct, rotations(64, 64)])
    for name, plan, copies in (
        ("identity", _core.Plan(64), 1.6),
        ("DCT", dct._plan, 1.8),
        ("DCT + 64 rotations", chain._plan, 2.5),
    ):
        report.compare(
            name,
            partial(plan.apply, Y, out, False),
            "np.copyto",
            partial(np.copyto, out, Y),
            n_signals,
            repeats,
            f">= {1 / copies:.3f}",
        )
    report.compare("DCT with a new array", partial(dct.forward, Y), "Y.copy()", Y.copy, n_signals)


def _types(report: Report, n_signals: int) -> None:
    report.section("Encode signals of other types, DCT, s = 4, one thread", "ns per signal")
    numbers = np.random.default_rng(0).integers(0, 256, (n_signals, 64))
    dct, singles = fost.DCT((8, 8)), numbers.astype(np.float32)
    for dtype in (np.uint8, np.int16, np.float16):
        report.compare(
            np.dtype(dtype).name,
            partial(dct.encode, numbers.astype(dtype), 4),
            "float32",
            partial(dct.encode, singles, 4),
            n_signals,
            21,
            f">= {1 / 1.3:.2f}",
        )


def _pictures(report: Report, quick: bool) -> None:
    report.section("Pictures of float64, one thread", "nanoseconds per pixel")
    side = 128 if quick else 256
    clean = getattr(skimage.data, PICTURE)()[:side, :side] / 255.0
    rng = np.random.default_rng(0)
    noisy = clean + 0.1 * rng.standard_normal(clean.shape)
    gaps = rng.random(clean.shape) < 0.4
    for name, restore, picture in (
        ("denoise", partial(fost.restoration.denoise, sigma=0.1, random_state=0), noisy),
        ("inpaint", partial(fost.restoration.inpaint, mask=gaps, random_state=0), clean),
    ):
        report.compare(
            name,
            partial(restore, picture),
            "float32",
            partial(restore, picture.astype(np.float32)),
            picture.size,
            5,
            ">= 0.9",
        )
