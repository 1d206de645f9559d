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

from fost._typing import Mask, Numbers
from fost.coding.encode import blas_threads
from fost.restoration.patch_grid import PatchGrid
from fost.transforms import Coder

# Tuned on noisy images: better than the best member alone (infinite sharpness), and better than
# the plain mean of all members (sharpness 0).
_THRESHOLD_SHARPNESS = 1.35
_WIENER_SHARPNESS = 0.4

# Start positions of patches along one axis.
Positions = NDArray[np.int32]
# Weighted sums of patches and sums of weights, both of the shape of the array.
WeightedSums = tuple[Numbers, Numbers]


def hard_threshold(
    array: Numbers,
    transform: Coder,
    grid: PatchGrid,
    level: float,
    deviations: Numbers | None = None,
) -> WeightedSums:
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
    deviations : ndarray, optional
        The standard deviations of coloured noise for all coefficients of all members, which
        multiply the level. The weight of a patch is then 1 / (1 + sum of the kept variances).

    Returns
    -------
    sums, weights : ndarray of the shape of the array
        The weighted sums of all patches that cover a sample, and the sums of their weights.
    """
    level = _positive(level, array)
    places, settings = (grid.patch_shape, grid.starts), (level, _THRESHOLD_SHARPNESS)
    return _shrink(transform, array, None, *places, *settings, deviations=deviations)


def hard_threshold_at(
    array: Numbers,
    transform: Coder,
    patch_shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    out: WeightedSums | None = None,
) -> WeightedSums:
    """As `hard_threshold`, for any start positions in ascending order, and added to `out`."""
    level = _positive(level, array)
    return _shrink(transform, array, None, patch_shape, starts, level, _THRESHOLD_SHARPNESS, out)


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
    level, plan = _positive(level, estimate), transform._plan
    state = _as_volume(estimate), _as_volume(velocity), _as_volume(mask)
    settings = level, _THRESHOLD_SHARPNESS, relaxation, momentum
    sides, positions = _volume_patches(patch_shape, starts)
    with blas_threads(plan):
        plan.shrink_on(*state, *sides, *positions, *settings, *_as_volumes(buffers))


def wiener(
    array: Numbers,
    pilot: Numbers,
    transform: Coder,
    grid: PatchGrid,
    sigma: float,
    deviations: Numbers | None = None,
) -> WeightedSums:
    """Empirical Wiener shrinkage: each coefficient is multiplied by g = p^2 / (p^2 + sigma^2).

    p is the same coefficient of the pilot, an estimate of the array without noise. The weight
    of a patch is 1 / (1 + sum of g^2). The cost of a member of a bank is the sum of g. The
    deviations of coloured noise multiply sigma, and the terms of the weight by their squares.
    """
    level = _positive(sigma**2, array)
    places, settings = (grid.patch_shape, grid.starts), (level, _WIENER_SHARPNESS)
    return _shrink(transform, array, pilot, *places, *settings, deviations=deviations)


def weighted_mean(parts: Iterable[WeightedSums]) -> Numbers:
    """The mean over all patches of several passes."""
    each = iter(parts)
    sums, weights = next(each)
    for more_sums, more_weights in each:
        sums += more_sums
        weights += more_weights
    sums /= weights
    return sums


def _shrink(
    transform: Coder,
    array: Numbers,
    pilot: Numbers | None,
    patch_shape: tuple[int, ...],
    starts: Sequence[ArrayLike],
    level: float,
    sharpness: float,
    out: WeightedSums | None = None,
    deviations: Numbers | None = None,
) -> WeightedSums:
    """Weighted sums of all shrunk patches and the weights, added to `out` if that is given."""
    sums = out or (np.zeros_like(array), np.zeros_like(array))
    guide = None if pilot is None else _as_volume(pilot)
    sides, positions = _volume_patches(patch_shape, starts)
    plan, volumes = transform._plan, _as_volumes(sums)
    if deviations is not None:
        deviations = np.ascontiguousarray(deviations, array.dtype)
    settings = level, deviations, sharpness
    with blas_threads(plan):
        plan.shrink(_as_volume(array), guide, *sides, *positions, *settings, *volumes)
    return sums


def _as_volume(array: Numbers) -> Numbers:
    """The array with three axes, which the core requires: leading axes of length one are added."""
    return array.reshape((1,) * (3 - array.ndim) + array.shape)


def _as_volumes(sums: WeightedSums) -> WeightedSums:
    return _as_volume(sums[0]), _as_volume(sums[1])


def _volume_patches(
    patch_shape: tuple[int, ...], starts: Sequence[ArrayLike]
) -> tuple[tuple[int, int, int], tuple[Positions, Positions, Positions]]:
    """The shape of patches with three axes, and their positions along each axis."""
    n_added = 3 - len(patch_shape)
    depth, height, width = (1,) * n_added + patch_shape
    fronts, tops, lefts = (np.asarray(k, np.int32) for k in ([0],) * n_added + tuple(starts))
    return (depth, height, width), (fronts, tops, lefts)


def _positive(level: float, array: Numbers) -> float:
    """A positive level, since the Wiener filter would divide 0 by 0 in constant patches."""
    return max(level, float(np.finfo(array.dtype).tiny))
