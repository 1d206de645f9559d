r"""Shrinkage of the transform coefficients of all overlapping patches of an array, in one pass.

For every patch p with mean m, the coefficients of p - m are shrunk and transformed back. The
result is the weighted mean over all patches that cover a sample. Patches are never stored: the
compiled core extracts, shrinks and accumulates some of them at a time. Arrays have one to three
axes here, and no channels.

A bank averages the estimates of all members with weights proportional to
:math:`\exp(-\text{sharpness} \cdot \text{cost})`, where the cost depends on the shrinkage rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import coding
from fost._typing import Mask, Numbers
from fost.restoration.patch_grid import PatchGrid
from fost.transforms import Coder

# Tuned on noisy images: better than the best member alone (infinite sharpness), and better than
# the plain mean of all members (sharpness 0).
_THRESHOLD_SHARPNESS = 1.35
_WIENER_SHARPNESS = 0.4

# Weighted sums of patches and sums of weights, both of the shape of the array.
WeightedSums = tuple[Numbers, Numbers]


def hard_threshold(array: Numbers, transform: Coder, grid: PatchGrid, level: float) -> WeightedSums:
    """Hard thresholding: coefficients of magnitude at most `level` are set to zero.

    A patch that keeps k numbers, including its mean, has weight 1 / k. The cost of a member of a
    bank is the sum of min(c^2, level^2) over its coefficients c, in units of level^2.

    Parameters
    ----------
    array : ndarray
        float32 or float64, finite, contiguous.
    transform : Transform or Bank
        With as many features as a patch has samples.
    grid : PatchGrid
        The positions of the patches.
    level : float

    Returns
    -------
    sums, weights : ndarray of the shape of the array
        The weighted sums of all patches that cover a sample, and the sums of their weights.
    """
    return hard_threshold_at(array, transform, grid.patch_shape, grid.starts, level)


def hard_threshold_at(
    array: Numbers,
    transform: Coder,
    patch_shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    out: WeightedSums | None = None,
) -> WeightedSums:
    """As `hard_threshold`, for any start positions in ascending order, and added to `out`."""
    places, level = _as_int32(starts), _positive(level, array)
    settings = patch_shape, places, level, _THRESHOLD_SHARPNESS
    return coding.shrink(transform._plan, array, None, *settings, out)


def hard_threshold_step(
    estimate: Numbers,
    velocity: Numbers,
    mask: Mask,
    transform: Coder,
    patch_shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    relaxation: float,
    momentum: float,
    buffers: WeightedSums,
) -> None:
    """One over-relaxed step with momentum towards the hard-thresholded estimate, in place.

    Only samples where the mask is True change. The step is `relaxation` times the distance to the
    thresholded estimate, plus `momentum` times the previous step, the velocity. The buffers must
    be zero, and are zero again afterwards.
    """
    places, level = _as_int32(starts), _positive(level, estimate)
    numbers = level, _THRESHOLD_SHARPNESS, relaxation, momentum
    state = estimate, velocity, mask
    coding.shrink_on(transform._plan, *state, patch_shape, places, *numbers, buffers)


def wiener(
    array: Numbers, pilot: Numbers, transform: Coder, grid: PatchGrid, sigma: float
) -> WeightedSums:
    """Empirical Wiener shrinkage: each coefficient is multiplied by g = p^2 / (p^2 + sigma^2).

    p is the same coefficient of the pilot, an estimate of the array without noise. The weight
    of a patch is 1 / (1 + sum of g^2). The cost of a member of a bank is the sum of g.
    """
    places, level = _as_int32(grid.starts), _positive(sigma**2, array)
    settings = grid.patch_shape, places, level, _WIENER_SHARPNESS
    return coding.shrink(transform._plan, array, pilot, *settings)


def weighted_mean(parts: Iterable[WeightedSums]) -> Numbers:
    """The mean over all patches of several passes."""
    each = iter(parts)
    sums, weights = next(each)
    for more_sums, more_weights in each:
        sums += more_sums
        weights += more_weights
    sums /= weights
    return sums


def _as_int32(starts: Sequence[ArrayLike]) -> list[NDArray[np.int32]]:
    return [np.asarray(k, dtype=np.int32) for k in starts]


def _positive(level: float, array: Numbers) -> float:
    """A positive level, since the Wiener filter would divide 0 by 0 in constant patches."""
    return max(level, float(np.finfo(array.dtype).tiny))
