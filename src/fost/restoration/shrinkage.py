"""One pass over the overlapping patches of an array: transform, shrink, transform back, add up.

The patches are never all in memory: the core takes them from the array and adds them to it
again, some at a time. An array has one to three axes here, and no channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import Numbers
from fost.coding.patch_shrinkage import advance_by_shrinkage, shrink_patches
from fost.restoration.grid import Grid
from fost.transforms import Coder

# In a bank the estimates of all members are averaged, with weights that fall as exp(-sharpness *
# cost): see `threshold` and `wiener`. As sharp as this on noisy pictures was better than to
# choose the best member and than to take all alike.
_SHARPNESS_OF_THRESHOLD = 1.35
_SHARPNESS_OF_WIENER = 0.4


def threshold(
    array: Numbers, transform: Coder, grid: Grid, level: float
) -> tuple[Numbers, Numbers]:
    """Patches without those coefficients that are no larger than `level`.

    The mean of a patch is taken out before and put back after. A patch that keeps k numbers,
    its mean among them, has the weight 1 / k. The cost of a patch in a member of a bank is the sum
    of min(c^2, level^2) over its coefficients c, in units of level^2.

    Parameters
    ----------
    array : ndarray
        float32 or float64, finite, contiguous.
    transform : Transform or Bank
        Of as many features as a patch has samples.
    grid : Grid
        Where the patches are.
    level : float

    Returns
    -------
    sums, weights : ndarray of the shape of the array
        The shrunk patches times their weights, and the weights, added up over all patches that
        cover a sample.
    """
    return threshold_at(array, transform, grid.shape, grid.starts, level)


def threshold_at(
    array: Numbers,
    transform: Coder,
    shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    out: tuple[Numbers, Numbers] | None = None,
) -> tuple[Numbers, Numbers]:
    """As `threshold`, for patches at any places, ascending along each axis; added to `out`."""
    return _shrink(array, None, transform, shape, starts, level, _SHARPNESS_OF_THRESHOLD, out)


def go_on(
    estimate: Numbers,
    velocity: Numbers,
    missing: NDArray[np.bool_],
    transform: Coder,
    shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    relaxation: float,
    momentum: float,
    overlay: tuple[Numbers, Numbers],
) -> None:
    """Moves an estimate towards what `threshold_at` makes of it, where something is missing.

    `relaxation` times as far as there, and the share `momentum` of the last step, the velocity,
    again. The overlay is memory, zeros before and after.
    """
    places, level = _places(starts), _positive(level, estimate)
    motion, numbers = (estimate, velocity, missing), (_SHARPNESS_OF_THRESHOLD, relaxation, momentum)
    advance_by_shrinkage(transform._plan, *motion, shape, places, level, *numbers, overlay)


def wiener(
    array: Numbers, pilot: Numbers, transform: Coder, grid: Grid, sigma: float
) -> tuple[Numbers, Numbers]:
    """Patches with each coefficient c multiplied by g = p^2 / (p^2 + sigma^2).

    p is the same coefficient of the pilot, an estimate of the array without noise. The weight
    of a patch is 1 / (1 + sum of g^2), and its cost in a member of a bank the sum of g.
    """
    at = grid.shape, grid.starts
    return _shrink(array, pilot, transform, *at, sigma**2, _SHARPNESS_OF_WIENER)


def _shrink(
    array: Numbers,
    pilot: Numbers | None,
    transform: Coder,
    shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    sharpness: float,
    out: tuple[Numbers, Numbers] | None = None,
) -> tuple[Numbers, Numbers]:
    places, level = _places(starts), _positive(level, array)
    return shrink_patches(transform._plan, array, pilot, shape, places, level, sharpness, out)


def _places(starts: Sequence[ArrayLike]) -> list[NDArray[np.int32]]:
    return [np.asarray(k, dtype=np.int32) for k in starts]


def _positive(level: float, array: Numbers) -> float:
    """Zero in the denominator of Wiener's filter would make 0 / 0 of a flat patch."""
    return max(level, float(np.finfo(array.dtype).tiny))
