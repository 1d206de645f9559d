"""Smooth fills of missing samples."""

from __future__ import annotations

import numpy as np
import pytest

from fost.restoration import smooth_fill as module
from fost.restoration.smooth_fill import smooth_fill, thin_plate_fill


def thin_plate_reference(array, mask):
    """The same least-squares problem with a dense matrix of all differences."""
    size, ndim = array.size, array.ndim
    basis = np.eye(size).reshape(size, *array.shape)
    rows = []
    for i in range(1, ndim + 1):
        first = np.diff(basis, axis=i)
        rows.append(module._TENSION * first.reshape(size, -1).T)
        rows += [np.diff(first, axis=j).reshape(size, -1).T for j in range(1, ndim + 1)]
    A, holes = np.concatenate(rows), mask.ravel()
    known = np.where(mask, 0, array).ravel()
    known[holes] = np.linalg.lstsq(A[:, holes], -(A @ known), rcond=None)[0]
    return known.reshape(array.shape)


@pytest.mark.parametrize("shape", [(40,), (1, 30), (11, 14), (4, 6, 7), (2, 1, 1)])
@pytest.mark.parametrize("solved", [2**15, 1])
def test_thin_plates_have_the_least_energy(shape, solved, rng, monkeypatch):
    monkeypatch.setattr(module, "_SOLVED_SAMPLES", solved)  # holes one by one
    array, mask = rng.random(shape), rng.random(shape) < 0.3
    mask.flat[0], mask.flat[-1] = False, True
    found = thin_plate_fill(array, mask)
    np.testing.assert_array_equal(found[~mask], array[~mask])
    # The condition of the normal equations of small holes is below 1e6.
    np.testing.assert_allclose(found, thin_plate_reference(array, mask), rtol=0, atol=1e-8)


def test_a_plane_is_continued_exactly():
    y, x = np.mgrid[:50, :60]
    plane = 2.0 + 0.3 * x - 0.7 * y
    mask = np.zeros(plane.shape, bool)
    mask[10:35, 15:45] = True
    np.testing.assert_allclose(thin_plate_fill(plane * ~mask, mask), plane, atol=1e-8)


def test_the_middle_of_large_holes_keeps_the_multiscale_mean(rng):
    array = rng.random((90, 100))
    mask = np.zeros(array.shape, bool)
    mask[5:85, 5:95] = True
    found = thin_plate_fill(array, mask)
    middle = (slice(40, 50), slice(40, 60))
    np.testing.assert_array_equal(found[middle], smooth_fill(array, mask)[0][middle])
    assert np.isfinite(found).all()


def test_holes_that_are_too_large_keep_the_multiscale_mean(rng, monkeypatch):
    monkeypatch.setattr(module, "_MAX_HOLE_SIZES", {2: 50})
    array, mask = rng.random((40, 40)), np.zeros((40, 40), bool)
    mask[2:10, 2:10] = mask[20:25, 20:25] = True
    found, mean = thin_plate_fill(array, mask), smooth_fill(array, mask)[0]
    np.testing.assert_array_equal(found[:15], mean[:15])
    assert (found[20:25, 20:25] != mean[20:25, 20:25]).all()
    large = mask & (np.arange(40)[:, None] < 15)
    np.testing.assert_array_equal(thin_plate_fill(array, large), smooth_fill(array, large)[0])
