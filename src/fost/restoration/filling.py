"""A smooth fill of missing samples, fast: where restoration starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import Numbers
from fost.gaps.conditioning import blanked, merged
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
    dtype = array.dtype
    filled, n_scales = _fill(blanked(array, missing), (~missing).astype(dtype))
    return merged(filled, array, missing), n_scales


def _fill(sums: Numbers, weights: Numbers) -> tuple[Numbers, int]:
    """Means of weighted samples, given as products with their weights."""
    near, seen = _neighbourhood(sums), _neighbourhood(weights)
    known = seen > 0
    means = np.divide(near, seen, out=near, where=known)
    if known.all():
        return means, 0
    coarse, n_scales = _fill(_halved(sums), _halved(weights))
    wide = coarse
    for axis in range(sums.ndim):
        wide = np.repeat(wide, 2, axis=axis)
    wide = cropped(wide, sums.shape)
    filled = np.where(known, means, wide)
    if known.mean() < _SCATTERED:
        # Inside holes the steps between the coarser samples are smoothed away.
        counts = _neighbourhood(np.ones_like(filled))
        for _ in range(_SMOOTHINGS):
            filled = np.where(known, means, _neighbourhood(filled) / counts)
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
    plane = np.pad(plane, [(0, k % 2) for k in plane.shape])
    for axis in range(plane.ndim):
        lines = np.moveaxis(plane, axis, 0)
        plane = np.moveaxis(lines[::2] + lines[1::2], 0, axis)
    return plane
