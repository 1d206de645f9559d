"""Shrinking the patches of a picture, against its twin."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.restoration import shrinkage
from fost.restoration.grid import Grid
from fost.restoration.shrinkage import threshold, wiener
from tests import reference
from tests.cases import dtypes, random_orthonormal, random_vectors, seeds


def transforms(rng, shape):
    """One of each kind: with stages in lanes, with a product, with both, and several of them."""
    n = shape[0] * shape[1]
    base = fost.DCT(shape)
    reflectors = fost.Householder(random_vectors(rng, min(3, n), n))
    dense = fost.Dense(random_orthonormal(rng, n))
    bank = fost.Bank([fost.Chain([base, dense]), base, fost.Chain([base, reflectors])])
    return [base, reflectors, dense, fost.Chain([base, dense]), bank, fost.Bank([dense, base])]


def matrices(transform):
    members = transform.members if isinstance(transform, fost.Bank) else [transform]
    return [member.matrix for member in members]


@given(
    seeds,
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(0, 25), st.integers(0, 70)),
    st.tuples(st.integers(1, 9), st.integers(1, 4)),
    dtypes,
    st.integers(0, 5),
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
    sharpness = shrinkage._SHARPNESS_OF_WIENER if guided else shrinkage._SHARPNESS_OF_THRESHOLD
    theirs = reference.shrink_patches(
        image, matrices(transform), shape, places, level, pilot, sharpness
    )
    assert ours[0].dtype == dtype
    means = [sums / weights for sums, weights in (ours, theirs)]
    off = np.abs(means[0] - means[1]) > (1e-10 if dtype == np.float64 else 1e-4)
    if not guided:
        # A coefficient at the threshold may fall on either side of it. Sums of at most 81
        # products of numbers around 1 are exact to some eps.
        doubt = 50 * np.finfo(dtype).eps
        for top, left in places:
            window = slice(top, top + shape[0]), slice(left, left + shape[1])
            patch = image[window].astype(np.float64).ravel()
            coefficients = [U.T @ (patch - patch.mean()) for U in matrices(transform)]
            if np.abs(np.abs(coefficients) - level).min() <= doubt:
                off[window] = False
    assert not off.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("kind", ["transform", "bank"])
def test_threads_do_not_change_a_bit(dtype, stride, kind, set_threads):
    rng = np.random.default_rng(0)
    transform = fost.DCT((8, 8))
    if kind == "bank":
        transform = fost.Bank([transform, fost.Dense(random_orthonormal(rng, 64))])
    image = rng.standard_normal((300, 290)).astype(dtype)
    grid = Grid.over(image.shape, (8, 8), stride)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        first = threshold(image, transform, grid, 1.0)
        results.append([*first, *wiener(image, first[0] / first[1], transform, grid, 1.0)])
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


def test_a_bank_of_equals_is_one_of_them():
    image = np.random.default_rng(0).random((40, 50))
    grid = Grid.over(image.shape, (8, 8), 1)
    one, bank = fost.DCT((8, 8)), fost.Bank([fost.DCT((8, 8))] * 3)
    ours, theirs = (threshold(image, transform, grid, 0.5) for transform in (bank, one))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_a_member_that_does_not_suit_a_patch_does_not_count():
    """Half of the picture is waves, half is dots: members for each leave the other alone."""
    rng = np.random.default_rng(0)
    clean = np.zeros((64, 128))
    clean[:, :64] = np.cos(np.arange(64)[:, None] * 0.9) * 2
    clean[:, 64:] = 3 * (rng.random((64, 64)) < 0.05)
    noisy = clean + 0.3 * rng.standard_normal(clean.shape)
    grid = Grid.over(clean.shape, (8, 8), 1)
    waves, dots = fost.DCT((8, 8)), fost.Dense(np.eye(64))
    errors = {}
    for name, transform in (
        ("waves", waves),
        ("dots", dots),
        ("both", fost.Bank([waves, dots])),
    ):
        sums, weights = threshold(noisy, transform, grid, 0.8)
        errors[name] = np.square(sums / weights - clean).mean()
    assert errors["both"] < 0.75 * min(errors["waves"], errors["dots"])
