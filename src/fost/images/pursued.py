"""Missing pixels by matching pursuit on those that are there, patch by patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer
from fost.images.assembly import Assembler
from fost.images.filling import fill
from fost.images.gaps import checked_steps, padded
from fost.images.grid import Pair
from fost.images.patches import blocks
from fost.pursuit import pursue
from fost.transforms import Coder

# No atom is less important than this, beside the most important one.
_LEAST_IMPORTANCE = 1e-3


def by_pursuit(
    image: NDArray[Any],
    missing: NDArray[np.bool_],
    dictionary: Coder,
    shape: tuple[int, int],
    stride: Pair | None,
    n_nonzero_coefs: int,
    prior: float,
) -> NDArray[Any]:
    """A picture whose patches are coded on their observed pixels, with a prior for atoms."""
    n = shape[0] * shape[1]
    check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n, "the pixels of a patch")
    default = (max(1, shape[0] // 4), max(1, shape[1] // 4))
    steps = checked_steps(stride, default, shape)
    height, width = image.shape
    # Where nothing of a patch is observed its mean comes from the smooth fill.
    holes, image = padded(missing, shape), padded(image, shape)
    smooth, _ = fill(image, holes)
    atoms = np.array(dictionary.matrix.T, dtype=image.dtype, order="C")
    if prior > 0:
        atoms *= _importances(image, holes, smooth, atoms, shape, n_nonzero_coefs)[:, None] ** prior
    assembler = Assembler(image.shape, shape, steps)
    for where, rows, gaps, means in _blocks(image, holes, smooth, shape, steps):
        codes = pursue(rows, atoms, n_nonzero_coefs, missing=gaps)
        if codes is None:
            raise ValueError("image is too large: its codes overflow")
        assembler.add(where, codes @ atoms + means)
    return np.asarray(assembler.result()[:height, :width])


def _importances(
    image: NDArray[Any],
    missing: NDArray[np.bool_],
    smooth: NDArray[Any],
    atoms: NDArray[Any],
    shape: tuple[int, int],
    s: int,
) -> NDArray[Any]:
    """Root mean squared coefficients of atoms in patches side by side, the largest of them 1."""
    total = np.zeros(len(atoms))
    for _, rows, gaps, _ in _blocks(image, missing, smooth, shape, shape):
        codes = pursue(rows, atoms, s, missing=gaps)
        if codes is not None:
            squares = np.square(codes.data, dtype=np.float64)
            total += np.bincount(codes.indices, squares, minlength=len(atoms))
    largest = total.max()
    if not largest > 0:
        return np.ones(len(atoms), image.dtype)
    importances = np.maximum(np.sqrt(total / largest), _LEAST_IMPORTANCE)
    return np.asarray(importances, dtype=image.dtype)


def _blocks(
    image: NDArray[Any],
    missing: NDArray[np.bool_],
    smooth: NDArray[Any],
    shape: tuple[int, int],
    steps: tuple[int, int],
) -> Iterator[tuple[slice, NDArray[Any], NDArray[np.bool_], NDArray[Any]]]:
    """Patches without the mean of their observed pixels, the gaps in them, and the means."""
    parts = (blocks(plane, shape, steps) for plane in (image, missing, smooth))
    for (where, rows), (_, gaps), (_, filled) in zip(*parts, strict=True):
        holes = gaps > 0
        counts = (~holes).sum(axis=1, keepdims=True)
        sums = np.where(holes, 0, rows).sum(axis=1, keepdims=True)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), filled.mean(1, keepdims=True))
        yield where, rows - means.astype(rows.dtype), holes, means.astype(rows.dtype)
