"""Filtering of groups of similar blocks, compared with a NumPy reference."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fost.restoration.group_filtering import filter_groups, refine_by_groups
from tests import reference
from tests.cases import dtypes, seeds


def window(block):
    return reduce(np.multiply.outer, [np.kaiser(k, 2.0) for k in block])


@st.composite
def tasks(draw):
    """Arrays of 1 to 3 dimensions, some smaller than the search radius."""
    ndim = draw(st.integers(1, 3))
    longest, widest = {1: (60, 9), 2: (14, 5), 3: (6, 3)}[ndim]
    block = tuple(draw(st.integers(1, widest)) for _ in range(ndim))
    more = tuple(draw(st.integers(0, longest)) for _ in range(ndim))
    steps = tuple(draw(st.integers(1, k)) for k in block)
    reach = tuple(draw(st.integers(0, {1: 40, 2: 7, 3: 2}[ndim])) for _ in range(ndim))
    shape = tuple(k + m for k, m in zip(block, more, strict=True))
    return (draw(st.integers(1, 3)), *shape), block, steps, reach, draw(st.integers(1, 40))


@settings(max_examples=40)
@given(seeds, tasks(), dtypes, st.sampled_from([0, 1, 4]), st.booleans())
def test_equals_the_reference(isa, seed, task, dtype, contrast, coloured):
    """Small integers have exact distances, so both find the same blocks, including ties."""
    shape, block, steps, reach, most = task
    rng = np.random.default_rng(seed)
    pilots = rng.integers(-contrast, contrast + 1, shape).astype(dtype)
    images = (pilots + rng.standard_normal(shape)).astype(dtype)
    noise = None
    if coloured:  # eigenvalues from 1 to 2
        factor = rng.standard_normal((np.prod(block), 3))
        noise = factor @ factor.T
        noise = np.eye(len(noise)) + noise / np.linalg.norm(noise, 2)
    ours = filter_groups(
        images,
        pilots,
        block,
        0.8,
        stride=steps,
        search_radius=reach,
        group_size=most,
        inverse=None if noise is None else np.linalg.inv(noise),
    )
    theirs = reference.filter_groups(
        images, pilots, window(block), 0.8**2, steps, reach, most, noise
    )
    assert ours[0].dtype == ours[1].dtype == dtype
    # Systems of 40 equations with a condition of at most 40 * 81 * 16 / (40 * 0.64) = 2000.
    rtol = 1e-9 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(ours[1], theirs[1], rtol=rtol)
    np.testing.assert_allclose(ours[0] / ours[1], theirs[0] / theirs[1], rtol=rtol, atol=10 * rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 3000), (3, 120, 50), (1, 9, 70, 12)])
def test_results_are_bit_identical_for_any_number_of_threads(dtype, shape, set_threads):
    rng = np.random.default_rng(0)
    images = rng.standard_normal(shape).astype(dtype)
    pilots = (images + 0.1 * rng.standard_normal(shape)).astype(dtype)
    ndim = len(shape) - 1
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        sizes = {"stride": (2,) * ndim, "search_radius": (5,) * ndim, "group_size": 16}
        results.append(filter_groups(images, pilots, (4,) * ndim, 0.5, **sizes))
    for sums, weights in results[1:]:
        np.testing.assert_array_equal(sums, results[0][0])
        np.testing.assert_array_equal(weights, results[0][1])


def test_an_axis_of_length_one_changes_nothing():
    """Signals and images are volumes with leading axes of length 1."""
    rng = np.random.default_rng(0)
    images, pilots = rng.standard_normal((2, 1, 40, 30)).astype(np.float32)
    flat = filter_groups(
        images, pilots, (5, 4), 1.0, stride=(2, 2), search_radius=(6, 6), group_size=9
    )
    deep = filter_groups(
        images[:, None],
        pilots[:, None],
        (1, 5, 4),
        1.0,
        stride=(3, 2, 2),
        search_radius=(4, 6, 6),
        group_size=9,
    )
    np.testing.assert_array_equal(flat[0], deep[0][:, 0])
    np.testing.assert_array_equal(flat[1], deep[1][0])


def test_constant_pilots_give_constant_results(isa):
    images = np.random.default_rng(0).standard_normal((1, 30, 30)).astype(np.float32)
    pilots = np.full_like(images, 0.25)
    sums, weights = filter_groups(
        images, pilots, (6, 6), 1.0, stride=(3, 3), search_radius=(9, 9), group_size=32
    )
    np.testing.assert_allclose(sums[0] / weights, 0.25, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-200, 1e-20, 1e-6, 1e-3, 1.0, 1e8])
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 1, 1), (1, 3, 200), (2, 7, 7), (1, 1, 1, 1), (1, 3, 9, 9)]
)
def test_any_size_and_noise(shape, sigma, dtype):
    """The result is finite, and close to image and pilot where these are similar."""
    rng = np.random.default_rng(0)
    pilots = rng.random(shape).astype(dtype)
    images = (pilots + sigma * rng.standard_normal(shape)).astype(dtype)
    result = refine_by_groups(images, pilots, sigma)
    assert result.shape == shape
    assert result.dtype == dtype
    assert np.isfinite(result).all()
    # Six standard deviations of noise, since filter gains are at most 1, and rounding errors.
    assert np.abs(result - pilots).max() <= 6 * sigma + 1e-4


@pytest.mark.parametrize("shape", [(4000,), (96, 96), (24, 32, 32)])
def test_repetitive_arrays_are_improved(shape):
    """Periodic waves: 0.2 to 0.24 of the error of the pilot remains."""
    rng = np.random.default_rng(0)
    axes = np.meshgrid(*(np.arange(k) for k in shape), indexing="ij")
    clean = np.cos(sum(axis * (0.5 + 0.1 * k) for k, axis in enumerate(axes)))
    images = (clean + 0.5 * rng.standard_normal(shape)).astype(np.float32)
    pilots = (clean + 0.2 * rng.standard_normal(shape)).astype(np.float32)
    result = refine_by_groups(images[None], pilots[None], 0.5)[0]
    errors = [np.sqrt(np.mean((array - clean) ** 2)) for array in (pilots, result)]
    assert errors[1] < 0.5 * errors[0]
