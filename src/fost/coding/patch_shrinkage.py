"""Shrinkage of the patches of an array by the compiled core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Floats, Numbers
from fost.coding.encode import blas_threads

# Positions of patches along each axis of a volume.
PatchStarts: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


def shrink_patches(
    plan: _core.Coder,
    array: Floats,
    pilot: Floats | None,
    shape: tuple[int, ...],
    starts: Sequence[NDArray[np.int32]],
    level: float,
    sharpness: float,
    out: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Weighted sums of the shrunk patches of an array, and the weights.

    `fost.restoration.shrinkage` describes the arguments. The result is added to `out` if given.
    The core works on volumes: leading axes of length one are added to arrays of fewer axes.
    """
    sums, weights = out or (np.zeros_like(array), np.zeros_like(array))
    as_volume, sides, places = _volume_of(array.ndim, shape, starts)
    guide = None if pilot is None else as_volume(pilot)
    overlay = as_volume(sums), as_volume(weights)
    with blas_threads(plan):
        plan.shrink(as_volume(array), guide, *sides, *places, level, sharpness, *overlay)
    return sums, weights


def advance_by_shrinkage(
    plan: _core.Coder,
    estimate: Floats,
    velocity: Floats,
    missing: NDArray[np.bool_],
    shape: tuple[int, ...],
    starts: Sequence[NDArray[np.int32]],
    level: float,
    sharpness: float,
    relaxation: float,
    momentum: float,
    overlay: tuple[Floats, Floats],
) -> None:
    """Move an estimate towards the weighted mean of its shrunk patches, in place.

    This is one pass where rows of patches are adjacent. The overlay holds the sums of all other
    patches and is zero before and after the call.
    """
    as_volume, sides, places = _volume_of(estimate.ndim, shape, starts)
    motion = as_volume(estimate), as_volume(velocity), as_volume(missing)
    numbers = level, sharpness, relaxation, momentum
    sums, weights = overlay
    with blas_threads(plan):
        plan.shrink_on(*motion, *sides, *places, *numbers, as_volume(sums), as_volume(weights))


def _volume_of(
    ndim: int, shape: tuple[int, ...], starts: Sequence[NDArray[np.int32]]
) -> tuple[Callable[[Numbers], Numbers], tuple[int, int, int], PatchStarts]:
    """A function that reshapes arrays to volumes, the sides of patches, and their positions."""
    flat = (1,) * (3 - ndim)
    depth, height, width = flat + shape
    fronts, tops, lefts = [np.zeros(1, np.int32)] * len(flat) + list(starts)

    def as_volume(samples: Numbers) -> Numbers:
        return samples.reshape(flat + samples.shape)

    return as_volume, (depth, height, width), (fronts, tops, lefts)
