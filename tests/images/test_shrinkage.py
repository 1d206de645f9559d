"""Shrinking the patches of a picture, against its twin."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.images.grid import Grid
from fost.images.shrinkage import threshold, wiener
from tests import reference
from tests.cases import dtypes, random_orthonormal, random_vectors, seeds


def transforms(rng, shape):
    """One of each kind: with stages in lanes, with a product, and with both."""
    n = shape[0] * shape[1]
    reflectors = fost.Householder(random_vectors(rng, min(3, n), n))
    dense = fost.Dense(random_orthonormal(rng, n))
    return [fost.DCT(shape), reflectors, dense, fost.Chain([fost.DCT(shape), dense])]


@given(
    seeds,
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(0, 25), st.integers(0, 70)),
    st.tuples(st.integers(1, 9), st.integers(1, 4)),
    dtypes,
    st.integers(0, 3),
    st.booleans(),
)
def test_equals_its_twin(isa, seed, shape, more, stride, dtype, kind, guided):
    rng = np.random.default_rng(seed)
    stride = tuple(min(k, n) for k, n in zip(stride, shape, strict=True))
    size = (shape[0] + more[0], shape[1] + more[1])
    image = rng.standard_normal(size).astype(dtype)
    transform = transforms(rng, shape)[kind]
    grid = Grid.over(size, shape, stride)
    places = list(product(grid.tops, grid.lefts))
    pilot = (image + 0.1 * rng.standard_normal(size)).astype(dtype) if guided else None
    if guided:
        ours = wiener(image, pilot, transform, grid, 0.5)
    else:
        ours = threshold(image, transform, grid, 0.7)
    level = 0.5**2 if guided else 0.7
    theirs = reference.shrink_patches(image, transform.matrix, shape, places, level, pilot)
    assert ours[0].dtype == dtype
    means = [sums / weights for sums, weights in (ours, theirs)]
    # A coefficient at the threshold may fall on either side of it; that is rare.
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    off = np.abs(means[0] - means[1]) > tolerance
    assert off.mean() <= (0 if guided or dtype == np.float64 else 0.05)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [1, 3])
def test_threads_do_not_change_a_bit(dtype, stride, set_threads):
    rng = np.random.default_rng(0)
    image = rng.standard_normal((300, 290)).astype(dtype)
    grid = Grid.over(image.shape, (8, 8), stride)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        first = threshold(image, fost.DCT((8, 8)), grid, 1.0)
        results.append([*first, *wiener(image, first[0] / first[1], fost.DCT((8, 8)), grid, 1.0)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_shrinks_at_level_zero():
    image = np.random.default_rng(0).random((40, 50))
    sums, weights = threshold(image, fost.DCT((8, 8)), Grid.over(image.shape, (8, 8), 1), 0.0)
    np.testing.assert_allclose(sums / weights, image, atol=1e-12)


def test_a_flat_picture_stays_flat():
    image = np.full((40, 50), 0.3, np.float32)
    grid = Grid.over(image.shape, (8, 8), 1)
    for sums, weights in (
        threshold(image, fost.DCT((8, 8)), grid, 0.1),
        wiener(image, image, fost.DCT((8, 8)), grid, 0.0),
    ):
        np.testing.assert_allclose(sums / weights, 0.3, rtol=1e-6)
