"""Transforms learned from pictures with missing pixels: the table of docs/gaps.md.

    python -m benchmarks.gaps FOLDER [NAMES...]

Pictures are cut into bands of 64 rows. Patches of every other band, at every third pixel, are
learned from, without their means; 40 % of their pixels are missing, at random. What is printed is
the relative error of complete patches of the other bands, which nothing was learned from.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import fost
from fost import images, restoration
from fost._typing import Floats
from fost.learning import Structure

SIDE, BAND, STEP, SPARSITY, MISSING = 8, 64, 3, 4, 0.4

STRUCTURES: dict[str, tuple[Structure, fost.Transform | None]] = {
    "Orthonormal": (fost.Orthonormal(), None),
    "Reflectors(12)": (fost.Reflectors(12), None),
    "Rotations(64) over the 2-D DCT": (fost.Rotations(64), fost.DCT((SIDE, SIDE))),
}


def patches(path: Path) -> tuple[Floats, Floats]:
    """Patches to learn from, and patches to judge by, without their means."""
    picture = images.read(path).astype(np.float64) / 255
    picture = picture.mean(axis=2) if picture.ndim == 3 else picture
    parts: tuple[list[Floats], list[Floats]] = ([], [])
    for k, top in enumerate(range(0, len(picture) - BAND + 1, BAND)):
        stride = SIDE if k % 2 else STEP
        cut = restoration.patches(picture[top : top + BAND], (SIDE, SIDE), stride=stride)
        rows = np.asarray(cut).reshape(-1, SIDE * SIDE)
        parts[k % 2].append(rows - rows.mean(axis=1, keepdims=True))
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def error_of(coder: fost.Coder, Y: Floats) -> float:
    """Relative error of complete signals."""
    left = Y - coder.decode(coder.encode(Y, SPARSITY))
    return float(np.sum(left**2) / np.sum(Y**2))


def rows(path: Path) -> Iterator[tuple[str, list[float], float]]:
    """For each structure: the errors from complete data, zeros for gaps, gaps; and the time."""
    Y, held_out = patches(path)
    missing = np.random.default_rng(0).random(Y.shape) < MISSING
    for name, (structure, base) in STRUCTURES.items():
        learned = partial(fost.learn, structure=structure, n_nonzero_coefs=SPARSITY, base=base)
        whole, zeros = learned(Y), learned(np.where(missing, 0, Y))
        start = time.perf_counter()
        gaps = learned(Y, missing=missing)
        seconds = time.perf_counter() - start
        yield name, [error_of(r.transform, held_out) for r in (whole, zeros, gaps)], seconds


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    chosen = [path for path in sorted(folder.glob("*.png")) if not names or path.stem in names]
    print("| picture | | complete data | zeros for gaps | gaps | seconds |")
    print("|---|---|---:|---:|---:|---:|")
    for path in chosen:
        for name, errors, seconds in rows(path):
            cells = " | ".join(f"{100 * error:.1f} %" for error in errors)
            print(f"| {path.stem} | {name} | {cells} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
