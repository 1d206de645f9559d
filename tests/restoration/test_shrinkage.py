"""Shrinking the patches of arrays of one to three axes, against its twin."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import _core
from fost.restoration import shrinkage
from fost.restoration.grid import Grid
from fost.restoration.shrinkage import go_on, threshold, threshold_at, wiener
from tests import reference
from tests.cases import dtypes, random_blocks, random_orthonormal, random_pairs, seeds

AXES = {1: (40, 3000), 2: (6, 40), 3: (4, 12)}


@given(seeds, st.integers(1, 3), dtypes, st.booleans(), st.booleans())
def test_equals_its_twin(isa, seed, ndim, dtype, bank, guided):
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
    grid = Grid.over(size, shape, stride)
    places = list(product(*grid.starts))
    pilot = (array + 0.1 * rng.standard_normal(size)).astype(dtype)
    if guided:
        ours, level = wiener(array, pilot, transform, grid, 0.5), 0.5**2
        sharpness = shrinkage._SHARPNESS_OF_WIENER
    else:
        ours, level = threshold(array, transform, grid, 0.7), 0.7
        sharpness = shrinkage._SHARPNESS_OF_THRESHOLD
    theirs = reference.shrink_patches(
        array, matrices, shape, places, level, pilot if guided else None, sharpness
    )
    assert ours[0].dtype == dtype
    means = [sums / weights for sums, weights in (ours, theirs)]
    off = np.abs(means[0] - means[1]) > (1e-10 if dtype == np.float64 else 1e-4)
    if not guided:
        # A coefficient at the threshold may fall on either side of it. Sums of at most 64
        # products of numbers around 1 are exact to some eps.
        doubt = 50 * np.finfo(dtype).eps
        for place in places:
            window = tuple(slice(k, k + n) for k, n in zip(place, shape, strict=True))
            patch = array[window].astype(np.float64).ravel()
            coefficients = [U.T @ (patch - patch.mean()) for U in matrices]
            if np.abs(np.abs(coefficients) - level).min() <= doubt:
                off[window] = False
    assert not off.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("size", "shape", "stride"),
    [((60_000,), (64,), 1), ((30, 40, 50), (4, 8, 8), (2, 2, 1)), ((30, 90, 90), (4, 4, 4), 1)],
)
def test_threads_do_not_change_a_bit(dtype, size, shape, stride, set_threads):
    array = np.random.default_rng(0).standard_normal(size).astype(dtype)
    grid, transform = Grid.over(size, shape, stride), fost.DCT(shape)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        first = threshold(array, transform, grid, 1.0)
        results.append([*first, *wiener(array, first[0] / first[1], transform, grid, 1.0)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_flat_axes_change_nothing():
    """A signal is a picture of one row, a picture a volume of one slice: to the last bit."""
    rng = np.random.default_rng(0)
    signal, picture = rng.standard_normal(5000), rng.standard_normal((50, 60))
    for array, shape in ((signal, (32,)), (picture, (8, 8))):
        flat = threshold(array, fost.DCT(shape), Grid.over(array.shape, shape, 1), 1.0)
        deep = threshold(
            array[None], fost.DCT((1, *shape)), Grid.over((1, *array.shape), (1, *shape), 1), 1.0
        )
        for a, b in zip(flat, deep, strict=True):
            np.testing.assert_allclose(a, b[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 8, 16, 17, 40])
@pytest.mark.parametrize("more", [0, 1, 15, 31, 32, 64, 101])
def test_blocks_side_by_side_equal_their_twin(isa, dtype, width, more):
    """Whole tiles of neighbours, the last ones among them, and what they carry to the next."""
    rng = np.random.default_rng(1)
    shape, size = (2, width), (4, width + more)
    array, pilot = rng.standard_normal((2, *size)).astype(dtype)
    transform, grid = fost.DCT(shape), Grid.over(size, shape, 1)
    ours = wiener(array, pilot, transform, grid, 0.5)
    theirs = reference.shrink_patches(
        array,
        [transform.matrix],
        shape,
        list(product(*grid.starts)),
        0.5**2,
        pilot,
        shrinkage._SHARPNESS_OF_WIENER,
    )
    # Sums of at most 80 numbers around 1.
    margin = 1e-12 if dtype == np.float64 else 1e-4
    for mine, twin in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=margin, atol=margin)


def test_rows_of_neighbours_with_places_left_out_equal_their_twin(isa):
    rng = np.random.default_rng(2)
    shape, size = (3, 8), (9, 260)
    array = rng.standard_normal(size)
    transform = fost.DCT(shape)
    lefts = [k for k in range(253) if k not in (40, 72, 73, 104, 150)]
    starts = [[0, 2, 6], lefts]
    out = np.zeros(size), np.zeros(size)
    sums, weights = threshold_at(array, transform, shape, starts, 0.5, out)
    assert sums is out[0]
    assert weights is out[1]
    theirs = reference.shrink_patches(array, [transform.matrix], shape, list(product(*starts)), 0.5)
    # No coefficient is so near to the threshold that rounding decides.
    np.testing.assert_allclose(sums, theirs[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights, theirs[1], rtol=1e-12, atol=1e-12)


def _after_dct(kind, shape, rng):
    """The DCT of a patch, and what follows it."""
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
def test_strips_equal_their_twin(isa, dtype, shape, kind):
    """Blocks a sample apart after a DCT, whose rows of blocks overlap or leave gaps."""
    rng = np.random.default_rng(4)
    transform = _after_dct(kind, shape, rng)
    more = int(rng.choice([0, 1, 15, 31, 32, 64, 101]))
    size = (*(3 * k + 1 for k in shape[:-1]), shape[-1] + more)
    array = rng.standard_normal(size).astype(dtype)
    rows = [[0, k, 2 * k + 1] if k > 1 else [0, 1, 3] for k in shape[:-1]]
    starts = [*rows, range(more + 1)]
    ours = threshold_at(array, transform, shape, starts, 0.5)
    places = list(product(*starts))
    theirs = reference.shrink_patches(array, [transform.matrix], shape, places, 0.5)
    if dtype == np.float64:
        # No coefficient is so near to the threshold that rounding decides.
        for mine, twin in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, twin, rtol=1e-12, atol=1e-12)
    else:
        # Now and then one is: then what is found differs by its block's share of a sample.
        covered = theirs[1] > 0
        apart = [a[covered] / b[covered] for a, b in (ours, theirs)]
        assert np.abs(apart[0] - apart[1]).max() < 0.5
        assert np.median(np.abs(apart[0] - apart[1])) < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(64,), (5, 5), (8, 8), (16, 16), (4, 8, 8)])
@pytest.mark.parametrize("kind", ["nothing", "rotations"])
@pytest.mark.parametrize("first", [0, 3])
def test_going_on_equals_its_twin(isa, dtype, shape, kind, first, set_threads):
    """Rows of blocks side by side, but for the first and the last where they begin inside."""
    rng = np.random.default_rng(5)
    transform = _after_dct(kind, shape, rng)
    size = {1: (900,), 2: (7 * shape[0] + 2, 50), 3: (14, 26, 30)}[len(shape)]
    estimate, velocity = rng.standard_normal((2, *size)).astype(dtype)
    missing = rng.random(size) < 0.5
    sides = list(zip(size, shape, strict=True))
    starts = [sorted({0, *range(first, n - k + 1, k), n - k}) for n, k in sides[:-1]]
    starts.append(list(range(size[-1] - shape[-1] + 1)))
    sums, weights = threshold_at(estimate, transform, shape, starts, 0.5)
    theirs = reference.advance(estimate, velocity, sums / weights, missing, 1.7, 0.3)
    found = []
    for count in (1, 3):
        set_threads(count)
        mine, overlay = (estimate.copy(), velocity.copy()), np.zeros((2, *size), dtype)
        go_on(*mine, missing, transform, shape, starts, 0.5, 1.7, 0.3, tuple(overlay))
        assert not np.any(overlay)
        found.append(mine)
    for a, b, twin in zip(*found, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        # A few operations on numbers around 1.
        np.testing.assert_allclose(a, twin, atol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 1000, 40_000])
def test_steps_equal_their_twin(isa, dtype, size, set_threads):
    rng = np.random.default_rng(3)
    estimate, velocity, sums = rng.standard_normal((3, size)).astype(dtype)
    weights = (0.5 + rng.random(size)).astype(dtype)
    missing = rng.random(size) < 0.5
    theirs = reference.advance(estimate, velocity, sums / weights, missing, 1.7, 0.3)
    found = []
    for count in (1, 3):
        set_threads(count)
        mine = estimate.copy(), velocity.copy()
        overlay = sums.copy(), weights.copy()
        _core.advance(*mine, *overlay, missing, 1.7, 0.3)
        assert not np.any(overlay)
        found.append(mine)
    for a, b, twin in zip(*found, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        # A few operations on numbers around 1.
        np.testing.assert_allclose(a, twin, atol=1e-12 if dtype == np.float64 else 1e-5)
