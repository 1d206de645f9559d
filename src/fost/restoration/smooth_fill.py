"""Smooth fills of missing samples: the initial estimates of inpainting.

`smooth_fill` is a fast multiscale mean. `thin_plate_fill` solves for the surface with the least
bending, which is the biharmonic fill of scikit-image with a little tension.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_cdt, label
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from fost._threads import single_threaded_blas
from fost._typing import Mask, Numbers
from fost.imputation.conditioning import keep_observed, zero_missing
from fost.restoration.arrays import crop_to

# Smoothing is skipped if at least this fraction of samples has an observed neighbour, since
# missing samples are then scattered.
_SCATTERED = 0.99
_N_SMOOTHINGS = 6
# The weight of first differences beside second ones. Without this tension, the surface overshoots
# in holes of more than 1 / 0.1 samples; there it is close to a membrane.
_TENSION = 0.1
# Samples farther than this from all observed ones keep the multiscale mean, and so do holes with
# more samples than this, by number of axes: the factors of their equations would be large.
_MAX_DISTANCES = {1: 64, 2: 32, 3: 6}
_MAX_HOLE_SIZES = {1: 2**22, 2: 2**18, 3: 2**13}
# Separate holes are solved together, up to about this many samples, to limit memory.
_SOLVED_SAMPLES = 2**15


def smooth_fill(array: Numbers, mask: Mask) -> tuple[Numbers, int]:
    """Each missing sample as the mean of its observed neighbours.

    Where there are none, the array at half the resolution is filled in the same way, and so on. The
    deeper a sample lies inside a hole, the wider is its neighbourhood.

    Parameters
    ----------
    array : ndarray
        Finite where samples are observed; other values are ignored.
    mask : ndarray of bool of the same shape
        True where a sample is missing, but not everywhere.

    Returns
    -------
    filled : ndarray of the same shape
    n_scales : int
        How many times the resolution was halved: the logarithm of the size of the largest hole.
    """
    filled, n_scales = _fill(zero_missing(array, mask), (~mask).view(np.uint8))
    return keep_observed(filled, array, mask), n_scales


def thin_plate_fill(array: Numbers, mask: Mask) -> Numbers:
    """Missing samples x that minimise the energy of a thin plate with a tension t.

    The energy is the sum of ``(d_i d_j x)^2`` over all pairs of axes and of ``t^2 (d_i x)^2`` over
    all axes. Here ``d_i`` is the difference of neighbours along axis i. Arguments are those of
    `smooth_fill`.
    """
    filled = smooth_fill(array, mask)[0]
    unknown = mask & (distance_transform_cdt(mask) <= _MAX_DISTANCES[mask.ndim])
    # Equations couple samples at a distance of two, whose neighbourhoods touch.
    near = np.ones((3,) * mask.ndim, bool)
    labels, _ = label(binary_dilation(unknown, near), near)
    places = np.flatnonzero(unknown)
    holes = labels.ravel()[places]
    kept = np.bincount(holes)[holes] <= _MAX_HOLE_SIZES[mask.ndim]
    places, holes = places[kept], holes[kept]
    order = np.argsort(holes, kind="stable")
    places, holes = places[order], holes[order]
    ends = np.flatnonzero(np.diff(holes, append=-1)) + 1
    numbers, flags = np.full(mask.size, -1), np.zeros(mask.size, bool)
    first = 0
    for end in map(int, ends):
        if end - first >= _SOLVED_SAMPLES or end == len(places):
            _solve_thin_plate(filled, places[first:end], numbers, flags)
            first = end
    return filled


@single_threaded_blas
def _solve_thin_plate(
    plane: Numbers, places: NDArray[np.int64], numbers: NDArray[np.int64], flags: Mask
) -> None:
    """Replace the samples at flat `places` of a contiguous array.

    `numbers` and `flags`, -1 and False for all samples, are used and restored.
    """
    values, shape = plane.reshape(-1), np.array(plane.shape)
    at = np.stack(np.unravel_index(places, plane.shape), axis=1)
    numbers[places] = np.arange(len(places))
    rows, columns, coefficients, right = [], [], [], []
    n_rows = 0
    for offsets, factors in _differences(plane.ndim):
        starts = (at[:, None] - offsets).reshape(-1, plane.ndim)
        inside = (starts >= 0).all(axis=1) & (starts + offsets.max(axis=0) < shape).all(axis=1)
        flags[np.ravel_multi_index(tuple(starts[inside].T), plane.shape)] = True
        flat = np.flatnonzero(flags)
        flags[flat] = False
        samples = flat[:, None] + np.ravel_multi_index(tuple(offsets.T), plane.shape, mode="wrap")
        number = numbers[samples]
        known = np.where(number < 0, values[samples], 0)
        right.append(-(known * factors).sum(axis=1))
        row, k = np.nonzero(number >= 0)
        rows.append(n_rows + row)
        columns.append(number[row, k])
        coefficients.append(factors[k])
        n_rows += len(flat)
    numbers[places] = -1
    entries = np.concatenate(coefficients), (np.concatenate(rows), np.concatenate(columns))
    A = csc_array(entries, shape=(n_rows, len(places)))
    # The normal equations are positive definite, so that no pivoting is needed.
    factors = splu(
        csc_array(A.T @ A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    values[places] = factors.solve(A.T @ np.concatenate(right))


def _differences(ndim: int) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The offsets and coefficients of all terms of the energy of a thin plate."""
    zero, unit = np.zeros(ndim, np.int64), np.eye(ndim, dtype=np.int64)
    terms = [([zero, each, 2 * each], [1.0, -2.0, 1.0]) for each in unit]
    terms += [([zero, each], [-_TENSION, _TENSION]) for each in unit]
    mixed = np.sqrt(2) * np.array([1.0, -1.0, -1.0, 1.0])  # both (i, j) and (j, i)
    terms += [([zero, a, b, a + b], mixed) for a, b in combinations(unit, 2)]
    return [(np.array(offsets), np.array(factors)) for offsets, factors in terms]


def _fill(sums: Numbers, weights: Numbers) -> tuple[Numbers, int]:
    """Means of weighted samples, which are given as products with their weights.

    Weights may be 8-bit integers: a neighbourhood has at most 27 samples.
    """
    near, counts = _neighbourhood_sums(sums), _neighbourhood_sums(weights)
    known = counts > 0
    complete = bool(known.all())
    seen = counts.astype(sums.dtype, copy=False)
    means = np.divide(near, seen, out=near, where=True if complete else known)
    if complete:
        return means, 0
    coarse, n_scales = _fill(_halve(sums), _halve(weights.astype(sums.dtype, copy=False)))
    wide = coarse
    for axis in range(sums.ndim):
        wide = np.repeat(wide, 2, axis=axis)
    wide = crop_to(wide, sums.shape)
    filled = keep_observed(wide, means, ~known)
    if known.mean() < _SCATTERED:
        # Smooth the steps between coarse samples inside holes.
        around = _neighbourhood_sums(np.ones_like(filled))
        for _ in range(_N_SMOOTHINGS):
            filled = np.where(known, means, _neighbourhood_sums(filled) / around)
    return filled, n_scales + 1


def _neighbourhood_sums(plane: Numbers) -> Numbers:
    """Sums over three samples along each axis."""
    for axis in range(plane.ndim):
        lines, sums = np.moveaxis(plane, axis, 0), plane.copy()
        rows = np.moveaxis(sums, axis, 0)
        rows[1:] += lines[:-1]
        rows[:-1] += lines[1:]
        plane = sums
    return plane


def _halve(plane: Numbers) -> Numbers:
    """Sums over two samples along each axis."""
    if any(k % 2 for k in plane.shape):
        plane = np.pad(plane, [(0, k % 2) for k in plane.shape])
    for axis in range(plane.ndim):
        lines = np.moveaxis(plane, axis, 0)
        plane = np.moveaxis(lines[::2] + lines[1::2], 0, axis)
    return plane
