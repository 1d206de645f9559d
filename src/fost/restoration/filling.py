"""A smooth fill of missing samples, fast: where restoration starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost._typing import Numbers
from fost.imputation.conditioning import keep_observed, zero_missing
from fost.restoration.arrays import cropped

# Where at least this share of samples has observed neighbours, the others lie alone.
_SCATTERED = 0.99
_SMOOTHINGS = 6


def fill(array: Numbers, missing: NDArray[np.bool_]) -> tuple[Numbers, int]:
    """Each missing sample as the mean of the observed ones among its neighbours.

    Where there are none, the array at half the size is filled in the same way, and so on: a hole
    is filled by ever wider means, the deeper inside a sample lies.

    Parameters
    ----------
    array : ndarray
        Finite; what it holds where samples are missing does not matter.
    missing : ndarray of bool of the same shape
        Not all True.

    Returns
    -------
    filled : ndarray of the same shape
    n_scales : int
        How many times the size was halved: the logarithm of the size of the largest hole.
    """
    filled, n_scales = _fill(zero_missing(array, missing), (~missing).view(np.uint8))
    return keep_observed(filled, array, missing), n_scales


def _fill(sums: Numbers, weights: NDArray[Any]) -> tuple[Numbers, int]:
    """Means of weighted samples, given as products with their weights.

    Weights may be small integers, of which there are up to 27 in a neighbourhood.
    """
    near, counts = _neighbourhood(sums), _neighbourhood(weights)
    known = counts > 0
    whole = bool(known.all())
    seen = counts.astype(sums.dtype, copy=False)
    means = np.divide(near, seen, out=near, where=True if whole else known)
    if whole:
        return means, 0
    coarse, n_scales = _fill(_halved(sums), _halved(weights.astype(sums.dtype, copy=False)))
    wide = coarse
    for axis in range(sums.ndim):
        wide = np.repeat(wide, 2, axis=axis)
    wide = cropped(wide, sums.shape)
    filled = keep_observed(wide, means, ~known)
    if known.mean() < _SCATTERED:
        # Inside holes the steps between the coarser samples are smoothed away.
        around = _neighbourhood(np.ones_like(filled))
        for _ in range(_SMOOTHINGS):
            filled = np.where(known, means, _neighbourhood(filled) / around)
    return filled, n_scales + 1


def _neighbourhood(plane: Numbers) -> Numbers:
    """Sums over three samples along each axis."""
    for axis in range(plane.ndim):
        lines, sums = np.moveaxis(plane, axis, 0), plane.copy()
        rows = np.moveaxis(sums, axis, 0)
        rows[1:] += lines[:-1]
        rows[:-1] += lines[1:]
        plane = sums
    return plane


def _halved(plane: Numbers) -> Numbers:
    """Sums over two samples along each axis."""
    if any(k % 2 for k in plane.shape):
        plane = np.pad(plane, [(0, k % 2) for k in plane.shape])
    for axis in range(plane.ndim):
        lines = np.moveaxis(plane, axis, 0)
        plane = np.moveaxis(lines[::2] + lines[1::2], 0, axis)
    return plane
