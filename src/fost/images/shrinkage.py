"""One pass over the overlapping patches of a picture: transform, shrink, transform back, add up.

The patches are never all in memory: the core takes them from the picture and adds them to it
again, some at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import coding
from fost.images.grid import Grid
from fost.transforms import Transform


def threshold(
    image: NDArray[Any], transform: Transform, grid: Grid, level: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Patches without those coefficients that are no larger than `level`.

    The mean of a patch is taken out before and put back after. A patch that keeps k numbers,
    its mean among them, has the weight 1 / k.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        float32 or float64, finite, contiguous.
    transform : Transform
        Of as many features as a patch has pixels.
    grid : Grid
        Where the patches are.
    level : float

    Returns
    -------
    sums, weights : ndarray of shape (height, width)
        The shrunk patches times their weights, and the weights, added up over all patches that
        cover a pixel.
    """
    return _shrink(image, None, transform, grid, level)


def wiener(
    image: NDArray[Any], pilot: NDArray[Any], transform: Transform, grid: Grid, sigma: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Patches with each coefficient c multiplied by g = p^2 / (p^2 + sigma^2).

    p is the same coefficient of the pilot, an estimate of the picture without noise. The weight
    of a patch is 1 / (1 + sum of g^2).
    """
    return _shrink(image, pilot, transform, grid, sigma**2)


def _shrink(
    image: NDArray[Any], pilot: NDArray[Any] | None, transform: Transform, grid: Grid, level: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    tops, lefts = (np.asarray(k, dtype=np.int32) for k in (grid.tops, grid.lefts))
    # Zero in the denominator of Wiener's filter would make 0 / 0 of a flat patch.
    level = max(level, float(np.finfo(image.dtype).tiny))
    return coding.shrink(transform._plan, image, pilot, grid.shape, tops, lefts, level)
