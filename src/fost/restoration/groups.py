"""One pass over groups of similar blocks: find them, filter them together, add them up.

For each block of a grid the blocks that resemble it most are looked for in its neighbourhood.
They are taken for draws from one Gaussian, whose mean and covariance are those of an estimate of
them, the pilot; Wiener's filter under it is a transform of their own for every group.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from fost import _core
from fost._typing import Floats

Sizes = tuple[int, ...]
# The shape of Kaiser's window, by which the entries of a block count less towards its borders.
_KAISER = 2.0


def grouped(
    images: Floats,
    pilots: Floats,
    block: Sizes,
    sigma: float,
    *,
    steps: Sizes,
    reach: Sizes,
    most: int,
) -> tuple[Floats, Floats]:
    """All groups of an array, filtered, as sums and weights.

    Of a group of k blocks with pilots p and their mean m, an entry y becomes m + C (C + sigma^2
    I)^-1 (y - m), where C is the mean of (p - m) (p - m)^T. Groups are found in the first
    channel and used in all; of blocks that are equally near the first count, where places nearer
    along an axis come before others.

    Parameters
    ----------
    images : ndarray of shape (channels, ...)
        float32 or float64, finite, contiguous, of one to three dimensions beside the channels.
    pilots : ndarray
        Estimates without noise, of the same shape and type.
    block : tuple of int
        The shape of a block, no larger than the array.
    sigma : float
        The standard deviation of the noise.
    steps : tuple of int
        From one group to the next.
    reach : tuple of int
        How many places away from a block others are looked for, to either side.
    most : int
        Blocks in a group.

    Returns
    -------
    sums : ndarray of the shape of images
        The blocks times their window, added up.
    weights : ndarray of the shape of one channel
    """
    shape = images.shape[1:]
    leading = (1,) * (3 - len(shape))
    volumes = (len(images), *leading, *shape)
    window = reduce(np.multiply.outer, [np.kaiser(k, _KAISER) for k in block])
    sums, weights = np.zeros(volumes, images.dtype), np.zeros(volumes[1:], images.dtype)
    _core.filter_groups(
        images.reshape(volumes),
        pilots.reshape(volumes),
        pilots[0].reshape(volumes[1:]),
        window.reshape(*leading, *block).astype(images.dtype),
        leading + steps,
        (0,) * len(leading) + reach,
        most,
        # Zero in the denominator would make 0 / 0 of flat blocks.
        max(sigma**2, float(np.finfo(images.dtype).tiny)),
        sums,
        weights,
    )
    return sums.reshape(images.shape), weights.reshape(shape)
