"""Bases and structures on a real electrocardiogram.

    python -m benchmarks.electrocardiogram ecg.dat

where ecg.dat is the file that ``scipy.datasets.electrocardiogram`` downloads: record 208 of the
MIT-BIH Arrhythmia Database, five minutes at 360 Hz. The first half is for training, the second is
held out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

import fost
from benchmarks.results import Results
from fost.model_selection.candidates import relative_error

Array = NDArray[np.float64]
N, S = 128, 8
STEP = 8  # samples from one window to the next
WAVELETS = ("db2", "db4", "sym8")


def windows(path: str) -> tuple[Array, Array]:
    """Windows of the first and of the second half, without their means."""
    with np.load(path) as file:
        millivolts = (file["ecg"].astype(np.float64) - 1024) / 200
    halves = np.split(millivolts[: len(millivolts) // 2 * 2], 2)
    rows = [sliding_window_view(half, N)[::STEP] for half in halves]
    first, second = (Y - Y.mean(axis=1, keepdims=True) for Y in rows)
    return first, second


def coders(train: Array) -> Iterator[tuple[str, fost.Coder]]:
    """What is compared, by name; of the wavelets, the best one for the first half."""

    def learned(structure: fost.Structure, base: fost.Transform | None = None) -> fost.Coder:
        return fost.learn(train, structure, S, base=base, random_state=0).transform

    wavelets = [fost.Wavelet(N, name) for name in WAVELETS]
    wavelet = min(wavelets, key=lambda U: relative_error(train, U, S))
    bases = {"DCT": fost.DCT(N), "Hadamard": fost.Hadamard(N), f"wavelet {wavelet.name}": wavelet}
    yield from bases.items()
    yield "H6: 6 reflectors", learned(fost.Reflectors(6))
    yield "H24: 24 reflectors", learned(fost.Reflectors(24))
    for g in (128, 512):
        yield f"{g} rotations", learned(fost.Rotations(g))
        for name, base in bases.items():
            yield f"{name} + {g} rotations", learned(fost.Rotations(g), base)
    yield "Q-DLA", learned(fost.Orthonormal())


def principal_components(train: Array, signals: Array, count: int = S) -> float:
    """The relative error of signals by their projection to components of the first half."""
    components = np.linalg.svd(train, full_matrices=False)[2][:count]
    return float(1 - np.sum((signals @ components.T) ** 2) / np.sum(signals**2))


def by_coefficients(results: Results, train: Array, held_out: Array) -> None:
    """Errors of the second half by the number of coefficients, each learned for that number."""
    base: fost.Transform = fost.DCT(N)
    counts = (4, 8, 16)
    structures: dict[str, tuple[fost.Structure, fost.Transform | None]] = {
        "24 reflectors": (fost.Reflectors(24), None),
        "DCT + 128 rotations": (fost.Rotations(128), base),
        "bank of 8 x (DCT + 128 rotations)": (fost.BankOf(fost.Rotations(128), 8), base),
        "union of 8 x (DCT + 128 rotations)": (fost.UnionOf(fost.Rotations(128), 8), base),
    }
    # Learned numbers and errors.
    rows: dict[str, tuple[str, list[float]]] = {
        "DCT": ("0", [relative_error(held_out, base, s) for s in counts]),
        "PCA, s components": (
            f"{N} s",
            [principal_components(train, held_out, s) for s in counts],
        ),
        "wavelet db4": (
            "0",
            [relative_error(held_out, fost.Wavelet(N, "db4"), s) for s in counts],
        ),
    }
    for name, (structure, under) in structures.items():
        learned = [
            fost.learn(train, structure, s, base=under, random_state=0).transform for s in counts
        ]
        errors = [relative_error(held_out, U, s) for U, s in zip(learned, counts, strict=True)]
        rows[name] = (f"{learned[0].n_parameters:,}", errors)
    ksvd = fost.baselines.KSVD(2 * N, 4, random_state=0)
    errors = [-ksvd.set_params(n_nonzero_coefs=s).fit(train).score(held_out) for s in counts]
    rows[f"K-SVD, {2 * N} atoms"] = (f"{2 * N * N:,}", errors)
    columns = {"transform": "", "parameters": "", **{f"s = {s}": ".2%" for s in counts}}
    table = results.table("by_coefficients", columns)
    for name, (numbers, errors) in rows.items():
        table.add(name, numbers, *errors)


def by_base(results: Results, train: Array, held_out: Array) -> None:
    """Errors of all bases and structures with the same number of coefficients."""
    columns = {"transform": "", "operations": ",", "training": ".2%", "held out": ".2%"}
    table = results.table("by_base", columns)
    for name, coder in coders(train):
        table.add(name, coder.flops, *(relative_error(Y, coder, S) for Y in (train, held_out)))
    cost = 2 * S * (2 * N - 1)  # the inner products, and their sum of components
    errors = (principal_components(train, Y) for Y in (train, held_out))
    table.add(f"PCA, {S} components", cost, *errors)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    train, held_out = windows(sys.argv[1])
    results = Results("electrocardiogram")
    by_base(results, train, held_out)
    by_coefficients(results, train, held_out)
    results.save()


if __name__ == "__main__":
    main()
