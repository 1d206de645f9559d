"""A smooth multiscale fill of missing samples: the initial estimate of inpainting."""

from __future__ import annotations

import numpy as np

from fost._typing import Mask, Numbers
from fost.imputation.conditioning import keep_observed, zero_missing
from fost.restoration.arrays import crop_to

# Smoothing is skipped if at least this fraction of samples has an observed neighbour, since
# missing samples are then scattered.
_SCATTERED = 0.99
_N_SMOOTHINGS = 6


def smooth_fill(array: Numbers, mask: Mask) -> tuple[Numbers, int]:
    """Each missing sample as the mean of its observed neighbours.

    Where there are none, the array at half the resolution is filled in the same way, and so on:
    the deeper a sample lies inside a hole, the wider is its neighbourhood.

    Parameters
    ----------
    array : ndarray
        Finite where samples are observed; other values are ignored.
    mask : ndarray of bool of the same shape
        True where a sample is missing, but not everywhere.

    Returns
    -------
    filled : ndarray of the same shape
    n_scales : int
        How many times the resolution was halved: the logarithm of the size of the largest hole.
    """
    filled, n_scales = _fill(zero_missing(array, mask), (~mask).view(np.uint8))
    return keep_observed(filled, array, mask), n_scales


def _fill(sums: Numbers, weights: Numbers) -> tuple[Numbers, int]:
    """Means of weighted samples, which are given as products with their weights.

    Weights may be 8-bit integers: a neighbourhood has at most 27 samples.
    """
    near, counts = _neighbourhood_sums(sums), _neighbourhood_sums(weights)
    known = counts > 0
    complete = bool(known.all())
    seen = counts.astype(sums.dtype, copy=False)
    means = np.divide(near, seen, out=near, where=True if complete else known)
    if complete:
        return means, 0
    coarse, n_scales = _fill(_halve(sums), _halve(weights.astype(sums.dtype, copy=False)))
    wide = coarse
    for axis in range(sums.ndim):
        wide = np.repeat(wide, 2, axis=axis)
    wide = crop_to(wide, sums.shape)
    filled = keep_observed(wide, means, ~known)
    if known.mean() < _SCATTERED:
        # Smooth the steps between coarse samples inside holes.
        around = _neighbourhood_sums(np.ones_like(filled))
        for _ in range(_N_SMOOTHINGS):
            filled = np.where(known, means, _neighbourhood_sums(filled) / around)
    return filled, n_scales + 1


def _neighbourhood_sums(plane: Numbers) -> Numbers:
    """Sums over three samples along each axis."""
    for axis in range(plane.ndim):
        lines, sums = np.moveaxis(plane, axis, 0), plane.copy()
        rows = np.moveaxis(sums, axis, 0)
        rows[1:] += lines[:-1]
        rows[:-1] += lines[1:]
        plane = sums
    return plane


def _halve(plane: Numbers) -> Numbers:
    """Sums over two samples along each axis."""
    if any(k % 2 for k in plane.shape):
        plane = np.pad(plane, [(0, k % 2) for k in plane.shape])
    for axis in range(plane.ndim):
        lines = np.moveaxis(plane, axis, 0)
        plane = np.moveaxis(lines[::2] + lines[1::2], 0, axis)
    return plane
