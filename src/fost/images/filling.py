"""A smooth fill of missing pixels, fast: where restoration starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import Numbers

# Where at least this share of pixels has observed neighbours, the others lie alone.
_SCATTERED = 0.99
_SMOOTHINGS = 6


def fill(image: Numbers, missing: NDArray[np.bool_]) -> tuple[Numbers, int]:
    """Each missing pixel as the mean of the observed ones among its neighbours.

    Where there are none, the picture at half the size is filled in the same way, and so on:
    a hole is filled by ever wider means, the deeper inside a pixel lies.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Finite; what it holds where pixels are missing does not matter.
    missing : ndarray of bool of the same shape
        Not all True.

    Returns
    -------
    filled : ndarray of shape (height, width)
    n_scales : int
        How many times the size was halved: the logarithm of the size of the largest hole.
    """
    dtype = image.dtype
    sums = np.where(missing, dtype.type(0), image)
    filled, n_scales = _fill(sums, (~missing).astype(dtype))
    return np.where(missing, filled, image), n_scales


def _fill(sums: Numbers, weights: Numbers) -> tuple[Numbers, int]:
    """Means of weighted pixels, given as products with their weights."""
    near, seen = _neighbourhood(sums), _neighbourhood(weights)
    known = seen > 0
    means = np.divide(near, seen, out=near, where=known)
    if known.all():
        return means, 0
    coarse, n_scales = _fill(_halved(sums), _halved(weights))
    wide = np.repeat(np.repeat(coarse, 2, axis=0), 2, axis=1)[: sums.shape[0], : sums.shape[1]]
    filled = np.where(known, means, wide)
    if known.mean() < _SCATTERED:
        # Inside holes the steps between the coarser pixels are smoothed away.
        counts = _neighbourhood(np.ones_like(filled))
        for _ in range(_SMOOTHINGS):
            filled = np.where(known, means, _neighbourhood(filled) / counts)
    return filled, n_scales + 1


def _neighbourhood(plane: Numbers) -> Numbers:
    """Sums over 3 x 3 pixels."""
    down = plane.copy()
    down[1:] += plane[:-1]
    down[:-1] += plane[1:]
    both = down.copy()
    both[:, 1:] += down[:, :-1]
    both[:, :-1] += down[:, 1:]
    return both


def _halved(plane: Numbers) -> Numbers:
    """Sums over 2 x 2 pixels."""
    even = np.pad(plane, [(0, k % 2) for k in plane.shape])
    rows = even[::2] + even[1::2]
    return np.asarray(rows[:, ::2] + rows[:, 1::2])
