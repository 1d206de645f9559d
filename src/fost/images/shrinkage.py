"""One pass over the overlapping patches of a picture: transform, shrink, transform back, add up.

The patches are never all in memory: the core takes them from the picture and adds them to it
again, some at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import coding
from fost.images.grid import Grid
from fost.transforms import Coder

# In a bank the estimates of all members are averaged, with weights that fall as exp(-sharpness *
# cost): see `threshold` and `wiener`. As sharp as this on noisy pictures was better than to
# choose the best member and than to take all alike.
_SHARPNESS_OF_THRESHOLD = 1.35
_SHARPNESS_OF_WIENER = 0.4


def threshold(
    image: NDArray[Any], transform: Coder, grid: Grid, level: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Patches without those coefficients that are no larger than `level`.

    The mean of a patch is taken out before and put back after. A patch that keeps k numbers,
    its mean among them, has the weight 1 / k. The cost of a patch in a member of a bank is the sum
    of min(c^2, level^2) over its coefficients c, in units of level^2.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        float32 or float64, finite, contiguous.
    transform : Transform or Bank
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
    return threshold_at(image, transform, grid.shape, grid.tops, grid.lefts, level)


def threshold_at(
    image: NDArray[Any],
    transform: Coder,
    shape: tuple[int, int],
    tops: ArrayLike,
    lefts: ArrayLike,
    level: float,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """As `threshold`, for patches at any tops and lefts, ascending."""
    return _shrink(image, None, transform, shape, tops, lefts, level, _SHARPNESS_OF_THRESHOLD)


def wiener(
    image: NDArray[Any], pilot: NDArray[Any], transform: Coder, grid: Grid, sigma: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Patches with each coefficient c multiplied by g = p^2 / (p^2 + sigma^2).

    p is the same coefficient of the pilot, an estimate of the picture without noise. The weight
    of a patch is 1 / (1 + sum of g^2), and its cost in a member of a bank the sum of g.
    """
    at = grid.shape, grid.tops, grid.lefts
    return _shrink(image, pilot, transform, *at, sigma**2, _SHARPNESS_OF_WIENER)


def _shrink(
    image: NDArray[Any],
    pilot: NDArray[Any] | None,
    transform: Coder,
    shape: tuple[int, int],
    tops: ArrayLike,
    lefts: ArrayLike,
    level: float,
    sharpness: float,
) -> tuple[NDArray[Any], NDArray[Any]]:
    rows, columns = (np.asarray(k, dtype=np.int32) for k in (tops, lefts))
    # Zero in the denominator of Wiener's filter would make 0 / 0 of a flat patch.
    level = max(level, float(np.finfo(image.dtype).tiny))
    return coding.shrink(transform._plan, image, pilot, shape, rows, columns, level, sharpness)
