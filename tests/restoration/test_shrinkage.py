"""Shrinkage of the patches of arrays with one to three axes, compared with a NumPy reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import _core
from fost.restoration import shrinkage
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.shrinkage import (
    hard_threshold,
    hard_threshold_at,
    hard_threshold_step,
    wiener,
)
from tests import reference
from tests.cases import (
    dtypes,
    random_blocks,
    random_orthonormal,
    random_pairs,
    random_vectors,
    seeds,
)

AXES = {1: (40, 3000), 2: (6, 40), 3: (4, 12)}


@given(seeds, st.integers(1, 3), dtypes, st.booleans(), st.booleans(), st.booleans())
def test_arrays_of_any_axes_equal_the_reference(isa, seed, ndim, dtype, bank, guided, coloured):
    rng = np.random.default_rng(seed)
    longest, widest = AXES[ndim]
    shape = tuple(int(k) for k in rng.integers(1, longest + 1, ndim))
    size = tuple(int(k + rng.integers(0, widest // 2 + 1)) for k in shape)
    stride = tuple(int(rng.integers(max(1, k // 3), k + 1)) for k in shape)
    array = rng.standard_normal(size).astype(dtype)
    transform = fost.DCT(shape)
    if bank:
        transform = fost.Bank(
            [transform, fost.Dense(random_orthonormal(rng, transform.n_features))]
        )
    members = transform.members if bank else [transform]
    matrices = [member.matrix for member in members]
    grid = PatchGrid.over(size, shape, stride)
    places = list(product(*grid.starts))
    pilot = (array + 0.1 * rng.standard_normal(size)).astype(dtype)
    deviations = rng.uniform(0.2, 2, (len(members), transform.n_features)) if coloured else None
    noise = None if deviations is None else deviations.astype(dtype).ravel()
    if guided:
        ours, level = wiener(array, pilot, transform, grid, 0.5, noise), 0.5**2
        sharpness = shrinkage._WIENER_SHARPNESS
    else:
        ours, level = hard_threshold(array, transform, grid, 0.7, noise), 0.7
        sharpness = shrinkage._THRESHOLD_SHARPNESS
    theirs = reference.shrink_patches(
        array, matrices, shape, places, level, pilot if guided else None, sharpness, deviations
    )
    assert ours[0].dtype == dtype
    means = [sums / weights for sums, weights in (ours, theirs)]
    off = np.abs(means[0] - means[1]) > (1e-10 if dtype == np.float64 else 1e-4)
    if not guided:
        # Rounding decides about coefficients at the threshold. Sums of at most 64
        # products of numbers around 1 are exact to some eps.
        doubt = 50 * np.finfo(dtype).eps
        for place in places:
            window = tuple(slice(k, k + n) for k, n in zip(place, shape, strict=True))
            patch = array[window].astype(np.float64).ravel()
            coefficients = [U.T @ (patch - patch.mean()) for U in matrices]
            levels = level if deviations is None else level * deviations
            if np.abs(np.abs(coefficients) - levels).min() <= doubt:
                off[window] = False
    assert not off.any()


def transforms(rng, shape):
    """Transforms with vectorised stages, with a matrix product, with both, and banks."""
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
def test_transforms_of_any_kind_equal_the_reference(
    isa, seed, shape, more, stride, dtype, kind, guided
):
    rng = np.random.default_rng(seed)
    stride = tuple(min(k, n) for k, n in zip(stride, shape, strict=True))
    size = (shape[0] + more[0], shape[1] + more[1])
    image = rng.standard_normal(size).astype(dtype)
    transform = transforms(rng, shape)[kind]
    grid = PatchGrid.over(size, shape, stride)
    places = list(product(*grid.starts))
    pilot = (image + 0.1 * rng.standard_normal(size)).astype(dtype) if guided else None
    if guided:
        ours = wiener(image, pilot, transform, grid, 0.5)
    else:
        ours = hard_threshold(image, transform, grid, 0.7)
    level = 0.5**2 if guided else 0.7
    sharpness = shrinkage._WIENER_SHARPNESS if guided else shrinkage._THRESHOLD_SHARPNESS
    theirs = reference.shrink_patches(
        image, matrices(transform), shape, places, level, pilot, sharpness
    )
    assert ours[0].dtype == dtype
    means = [sums / weights for sums, weights in (ours, theirs)]
    off = np.abs(means[0] - means[1]) > (1e-10 if dtype == np.float64 else 1e-4)
    if not guided:
        # Rounding decides about coefficients at the threshold. Sums of at most 81
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
@pytest.mark.parametrize(
    ("size", "shape", "stride"),
    [((60_000,), (64,), 1), ((30, 40, 50), (4, 8, 8), (2, 2, 1)), ((30, 90, 90), (4, 4, 4), 1)],
)
def test_results_are_bit_identical_for_any_number_of_threads(
    dtype, size, shape, stride, set_threads
):
    array = np.random.default_rng(0).standard_normal(size).astype(dtype)
    grid, transform = PatchGrid.over(size, shape, stride), fost.DCT(shape)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        first = hard_threshold(array, transform, grid, 1.0)
        results.append([*first, *wiener(array, first[0] / first[1], transform, grid, 1.0)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("kind", ["transform", "bank"])
def test_images_are_bit_identical_for_any_number_of_threads(dtype, stride, kind, set_threads):
    rng = np.random.default_rng(0)
    transform = fost.DCT((8, 8))
    if kind == "bank":
        transform = fost.Bank([transform, fost.Dense(random_orthonormal(rng, 64))])
    image = rng.standard_normal((300, 290)).astype(dtype)
    grid = PatchGrid.over(image.shape, (8, 8), stride)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        first = hard_threshold(image, transform, grid, 1.0)
        results.append([*first, *wiener(image, first[0] / first[1], transform, grid, 1.0)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_axis_of_length_one_changes_nothing():
    """A signal is an image of one row, an image is a volume of one slice."""
    rng = np.random.default_rng(0)
    signal, image = rng.standard_normal(5000), rng.standard_normal((50, 60))
    for array, shape in ((signal, (32,)), (image, (8, 8))):
        flat = hard_threshold(array, fost.DCT(shape), PatchGrid.over(array.shape, shape, 1), 1.0)
        deep = hard_threshold(
            array[None],
            fost.DCT((1, *shape)),
            PatchGrid.over((1, *array.shape), (1, *shape), 1),
            1.0,
        )
        for a, b in zip(flat, deep, strict=True):
            np.testing.assert_allclose(a, b[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 8, 16, 17, 40])
@pytest.mark.parametrize("more", [0, 1, 15, 31, 32, 64, 101])
def test_neighbouring_patches_equal_the_reference(isa, dtype, width, more):
    """Complete and incomplete vectors of neighbouring patches."""
    rng = np.random.default_rng(1)
    shape, size = (2, width), (4, width + more)
    array, pilot = rng.standard_normal((2, *size)).astype(dtype)
    transform, grid = fost.DCT(shape), PatchGrid.over(size, shape, 1)
    ours = wiener(array, pilot, transform, grid, 0.5)
    theirs = reference.shrink_patches(
        array,
        [transform.matrix],
        shape,
        list(product(*grid.starts)),
        0.5**2,
        pilot,
        shrinkage._WIENER_SHARPNESS,
    )
    # Sums of at most 80 numbers around 1.
    margin = 1e-12 if dtype == np.float64 else 1e-4
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=margin, atol=margin)


def test_rows_with_omitted_patches_equal_the_reference(isa):
    rng = np.random.default_rng(2)
    shape, size = (3, 8), (9, 260)
    array = rng.standard_normal(size)
    transform = fost.DCT(shape)
    lefts = [k for k in range(253) if k not in (40, 72, 73, 104, 150)]
    starts = [[0, 2, 6], lefts]
    out = np.zeros(size), np.zeros(size)
    sums, weights = hard_threshold_at(array, transform, shape, starts, 0.5, out)
    assert sums is out[0]
    assert weights is out[1]
    theirs = reference.shrink_patches(array, [transform.matrix], shape, list(product(*starts)), 0.5)
    # No coefficient is within rounding errors of the threshold.
    np.testing.assert_allclose(sums, theirs[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights, theirs[1], rtol=1e-12, atol=1e-12)


def _after_dct(kind, shape, rng):
    """The DCT of a patch, followed by other stages."""
    dct = fost.DCT(shape)
    n = dct.n_features
    some = fost.Givens(random_pairs(rng, n, n), random_blocks(rng, n), n)
    dense = fost.Dense(random_orthonormal(rng, n))
    return {
        "nothing": dct,
        "rotations": fost.Chain([dct, some]),
        "turned rotations": fost.Chain([dct, some.T]),
        "a matrix": fost.Chain([dct, dense]),
        "a matrix and rotations": fost.Chain([dct, dense, some]),
        "rotations and a matrix": fost.Chain([dct, some, dense]),
    }[kind]


AFTER = ["nothing", "rotations", "turned rotations", "a matrix"]
AFTER += ["a matrix and rotations", "rotations and a matrix"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(8,), (3, 8), (8, 8), (2, 16), (16, 16), (2, 3, 8), (1, 4, 16)])
@pytest.mark.parametrize("kind", AFTER)
def test_strips_of_patches_equal_the_reference(isa, dtype, shape, kind):
    """Patches with stride 1 along the last axis, in rows that overlap or are apart."""
    rng = np.random.default_rng(4)
    transform = _after_dct(kind, shape, rng)
    more = int(rng.choice([0, 1, 15, 31, 32, 64, 101]))
    size = (*(3 * k + 1 for k in shape[:-1]), shape[-1] + more)
    array = rng.standard_normal(size).astype(dtype)
    rows = [[0, k, 2 * k + 1] if k > 1 else [0, 1, 3] for k in shape[:-1]]
    starts = [*rows, range(more + 1)]
    ours = hard_threshold_at(array, transform, shape, starts, 0.5)
    places = list(product(*starts))
    theirs = reference.shrink_patches(array, [transform.matrix], shape, places, 0.5)
    if dtype == np.float64:
        # No coefficient is within rounding errors of the threshold.
        for mine, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)
    else:
        # A few coefficients are, and change a sample by the weight of their patch.
        covered = theirs[1] > 0
        apart = [a[covered] / b[covered] for a, b in (ours, theirs)]
        assert np.abs(apart[0] - apart[1]).max() < 0.5
        assert np.median(np.abs(apart[0] - apart[1])) < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(64,), (5, 5), (8, 8), (16, 16), (4, 8, 8)])
@pytest.mark.parametrize("kind", ["nothing", "rotations"])
@pytest.mark.parametrize("first", [0, 3])
def test_hard_threshold_step_equals_the_reference(isa, dtype, shape, kind, first, set_threads):
    """Adjacent rows of patches, except for the first and the last row."""
    rng = np.random.default_rng(5)
    transform = _after_dct(kind, shape, rng)
    size = {1: (900,), 2: (7 * shape[0] + 2, 50), 3: (14, 26, 30)}[len(shape)]
    estimate, velocity = rng.standard_normal((2, *size)).astype(dtype)
    mask = rng.random(size) < 0.5
    sides = list(zip(size, shape, strict=True))
    starts = [sorted({0, *range(first, n - k + 1, k), n - k}) for n, k in sides[:-1]]
    starts.append(list(range(size[-1] - shape[-1] + 1)))
    sums, weights = hard_threshold_at(estimate, transform, shape, starts, 0.5)
    theirs = reference.advance(estimate, velocity, sums / weights, mask, 1.7, 0.3)
    found = []
    for count in (1, 3):
        set_threads(count)
        mine, buffers = (estimate.copy(), velocity.copy()), np.zeros((2, *size), dtype)
        hard_threshold_step(*mine, mask, transform, shape, starts, 0.5, 1.7, 0.3, tuple(buffers))
        assert not np.any(buffers)
        found.append(mine)
    for a, b, expected in zip(*found, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        # Rounding errors of a few operations on numbers around 1.
        np.testing.assert_allclose(a, expected, atol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 1000, 40_000])
def test_the_update_equals_the_reference(isa, dtype, size, set_threads):
    rng = np.random.default_rng(3)
    estimate, velocity, sums = rng.standard_normal((3, size)).astype(dtype)
    weights = (0.5 + rng.random(size)).astype(dtype)
    mask = rng.random(size) < 0.5
    theirs = reference.advance(estimate, velocity, sums / weights, mask, 1.7, 0.3)
    found = []
    for count in (1, 3):
        set_threads(count)
        mine = estimate.copy(), velocity.copy()
        buffers = sums.copy(), weights.copy()
        _core.advance(*mine, *buffers, mask, 1.7, 0.3)
        assert not np.any(buffers)
        found.append(mine)
    for a, b, expected in zip(*found, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        # Rounding errors of a few operations on numbers around 1.
        np.testing.assert_allclose(a, expected, atol=1e-12 if dtype == np.float64 else 1e-5)


def test_a_threshold_of_zero_changes_nothing():
    image = np.random.default_rng(0).random((40, 50))
    sums, weights = hard_threshold(
        image, fost.DCT((8, 8)), PatchGrid.over(image.shape, (8, 8), 1), 0.0
    )
    np.testing.assert_allclose(sums / weights, image, atol=1e-12)


def test_constant_images_are_unchanged():
    image = np.full((40, 50), 0.3, np.float32)
    grid = PatchGrid.over(image.shape, (8, 8), 1)
    for sums, weights in (
        hard_threshold(image, fost.DCT((8, 8)), grid, 0.1),
        wiener(image, image, fost.DCT((8, 8)), grid, 0.0),
    ):
        np.testing.assert_allclose(sums / weights, 0.3, rtol=1e-6)


def test_a_bank_of_equal_members_equals_one_member():
    image = np.random.default_rng(0).random((40, 50))
    grid = PatchGrid.over(image.shape, (8, 8), 1)
    one, bank = fost.DCT((8, 8)), fost.Bank([fost.DCT((8, 8))] * 3)
    ours, theirs = (hard_threshold(image, transform, grid, 0.5) for transform in (bank, one))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_unsuitable_members_have_small_weights():
    """One half of the image is waves, the other is dots, with one member for each."""
    rng = np.random.default_rng(0)
    clean = np.zeros((64, 128))
    clean[:, :64] = np.cos(np.arange(64)[:, None] * 0.9) * 2
    clean[:, 64:] = 3 * (rng.random((64, 64)) < 0.05)
    noisy = clean + 0.3 * rng.standard_normal(clean.shape)
    grid = PatchGrid.over(clean.shape, (8, 8), 1)
    waves, dots = fost.DCT((8, 8)), fost.Dense(np.eye(64))
    errors = {}
    for name, transform in (
        ("waves", waves),
        ("dots", dots),
        ("both", fost.Bank([waves, dots])),
    ):
        sums, weights = hard_threshold(noisy, transform, grid, 0.8)
        errors[name] = np.square(sums / weights - clean).mean()
    assert errors["both"] < 0.75 * min(errors["waves"], errors["dots"])
