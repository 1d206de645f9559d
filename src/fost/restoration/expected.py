"""Missing samples by what is to be expected: a Gaussian, or a mixture of them, of all patches."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fost._typing import Numbers
from fost.gaps import learn
from fost.restoration.arrays import cropped, padded
from fost.restoration.assembly import Assembler
from fost.restoration.filling import fill
from fost.restoration.gaps import Mask, checked_steps
from fost.restoration.grid import Sizes
from fost.restoration.patches import blocks

# Patches that learning looks at, at most; and at least so many for each of their samples, below
# which a smaller patch is used.
_MOST, _LEAST = 8192, 8
# No sample is more certain than this, for values from 0 to 1.
_LEAST_VARIANCE = 1e-9


def by_gaussian(
    array: Numbers,
    missing: Mask,
    shape: tuple[int, ...],
    stride: Sizes | None,
    random: np.random.Generator,
) -> Numbers:
    """An array whose patches are filled by their mean given what is observed of them.

    Where patches overlap, what is more certain counts more. Of an array that has too few patches
    to learn from, patches are smaller, and at last it is filled smoothly.
    """
    while prod(shape) > 1 and prod(array.shape) < _LEAST * prod(shape):
        shape = tuple(max(1, k // 2) for k in shape)
    steps = checked_steps(stride, tuple(max(1, k // 8) for k in shape), shape)
    known, holes = padded(array, shape), padded(missing, shape)
    rows = _examples(np.where(holes, np.nan, known), shape, random)
    if prod(shape) == 1 or np.isnan(rows).all(axis=0).any():
        return fill(array, missing)[0]
    usual = learn(rows, random_state=random)
    assembler = Assembler(known.shape, shape, steps)
    parts = (blocks(plane, shape, steps) for plane in (known, holes))
    for (where, rows), (_, marks) in zip(*parts, strict=True):
        gaps = marks > 0
        expected, spread = usual.fill(rows, gaps, return_std=True)
        assembler.add(where, expected, 1 / (np.square(spread) + _LEAST_VARIANCE))
    return cropped(assembler.result().astype(array.dtype, copy=False), array.shape)


def _examples(array: Numbers, shape: tuple[int, ...], random: np.random.Generator) -> Numbers:
    """Patches with NaN for gaps, all that are not missing as a whole or some of them."""
    windows = sliding_window_view(array, shape)
    counts = windows.shape[: array.ndim]
    n_patches = prod(counts)
    chosen = np.arange(n_patches)
    if n_patches > _MOST:
        chosen = np.sort(random.choice(n_patches, _MOST, replace=False))
    rows = windows[np.unravel_index(chosen, counts)].reshape(len(chosen), -1)
    return np.asarray(rows[~np.isnan(rows).all(axis=1)])
