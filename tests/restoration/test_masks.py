"""Replacement of masked samples, and the smooth fill."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fost.restoration.masks import replace_masked
from fost.restoration.smooth_fill import smooth_fill
from tests.cases import seeds


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", ">f4", "f8", "i8", "?", "g"])
def test_masked_samples_are_replaced(dtype):
    """Bitwise for types of up to 64 bits, by an array or a value, with a broadcast mask."""
    rng = np.random.default_rng(0)
    samples = (rng.random((4, 5, 3)) * 100).astype(dtype)
    values = (rng.random((4, 5, 3)) * 100).astype(dtype)
    mask = np.broadcast_to(rng.random((4, 5, 1)) < 0.5, samples.shape)
    for turned in (samples, samples.swapaxes(0, 1)):
        there = mask if turned is samples else mask.swapaxes(0, 1)
        found = replace_masked(turned, there)
        np.testing.assert_array_equal(found, np.where(there, 0, turned))
        assert found.dtype == turned.dtype
    np.testing.assert_array_equal(
        replace_masked(samples, mask, values), np.where(mask, values, samples)
    )
    np.testing.assert_array_equal(replace_masked(samples, mask, 1), np.where(mask, 1, samples))


@given(seeds, st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
def test_smooth_fill_stays_in_the_range_of_the_observed_values(seed, height, width, share):
    rng = np.random.default_rng(seed)
    image = rng.random((height, width))
    mask = rng.random((height, width)) < share
    mask.flat[rng.integers(mask.size)] = False
    filled, n_scales = smooth_fill(np.where(mask, 1e6, image), mask)
    np.testing.assert_array_equal(filled[~mask], image[~mask])
    low, high = image[~mask].min(), image[~mask].max()
    assert low - 1e-12 <= filled.min() <= filled.max() <= high + 1e-12
    assert 0 <= n_scales <= 7
