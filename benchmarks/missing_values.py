"""Transforms learned from images with missing pixels.

    python -m benchmarks.missing_values FOLDER [NAMES...]

Images are cut into bands of 64 rows. The training signals are patches of every other band, at every
third pixel, without their means; 40 % of their pixels are missing at random. The script prints the
relative error of complete patches of the other bands, which are held out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import fost
from benchmarks.results import Results
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
    """Training patches and held-out patches, without their means."""
    image = images.read(path).astype(np.float64) / 255
    image = image.mean(axis=2) if image.ndim == 3 else image
    parts: tuple[list[Floats], list[Floats]] = ([], [])
    for k, top in enumerate(range(0, len(image) - BAND + 1, BAND)):
        stride = SIDE if k % 2 else STEP
        cut = restoration.patches(image[top : top + BAND], (SIDE, SIDE), stride=stride)
        rows = np.asarray(cut).reshape(-1, SIDE * SIDE)
        parts[k % 2].append(rows - rows.mean(axis=1, keepdims=True))
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def error_of(coder: fost.Coder, Y: Floats) -> float:
    """Relative error of complete signals."""
    left = Y - coder.decode(coder.encode(Y, SPARSITY))
    return float(np.sum(left**2) / np.sum(Y**2))


def rows(path: Path) -> Iterator[tuple[str, list[float], float]]:
    """Held-out errors of each structure, and the time of learning with missing pixels.

    Training on complete patches, on patches with zeros for missing pixels, and on masked patches.
    """
    Y, held_out = patches(path)
    missing = np.random.default_rng(0).random(Y.shape) < MISSING
    for name, (structure, base) in STRUCTURES.items():
        learned = partial(fost.learn, structure=structure, n_nonzero_coefs=SPARSITY, base=base)
        whole, zeros = learned(Y), learned(np.where(missing, 0, Y))
        start = time.perf_counter()
        masked = learned(Y, missing=missing)
        seconds = time.perf_counter() - start
        yield name, [error_of(r.transform, held_out) for r in (whole, zeros, masked)], seconds


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    chosen = [path for path in sorted(folder.glob("*.png")) if not names or path.stem in names]
    headings = ("complete", "zeros for missing", "missing")
    columns = {"image": "", "structure": "", **dict.fromkeys(headings, ".1%"), "seconds": ".0f"}
    results = Results("missing_values")
    table = results.table("learning", columns)
    for path in chosen:
        for name, errors, seconds in rows(path):
            table.add(path.stem, name, *errors, seconds)
    results.save()


if __name__ == "__main__":
    main()
