"""Patches of signals, pictures and volumes, and arrays of them again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fost import images, restoration
from tests.cases import seeds


@given(seeds, st.integers(1, 3), st.sampled_from([None, 0, -1]), st.booleans())
def test_there_and_back_again(seed, ndim, channel_axis, weighted):
    rng = np.random.default_rng(seed)
    size = [int(k) for k in rng.integers(1, 12, ndim)]
    shape = tuple(int(rng.integers(1, k + 1)) for k in size)
    stride = tuple(int(rng.integers(1, k + 1)) for k in shape)
    if channel_axis is not None:
        size.insert(channel_axis % (ndim + 1), 2)
    array = rng.standard_normal(size)
    rows = restoration.patches(array, shape, stride, channel_axis=channel_axis)
    weights = rng.random(rows.shape) + 0.1 if weighted else None
    again = restoration.assemble(
        rows, array.shape, shape, stride, weights, channel_axis=channel_axis
    )
    np.testing.assert_allclose(again, array, rtol=1e-12)
    assembler = restoration.Assembler(array.shape, shape, stride, channel_axis=channel_axis)
    for where, block in restoration.blocks(
        array, shape, stride, rows_per_block=2, channel_axis=channel_axis
    ):
        np.testing.assert_array_equal(block, rows[where])
        assembler.add(where, block, None if weights is None else weights[where])
    np.testing.assert_array_equal(assembler.result(), again)


def test_the_order_is_that_of_the_array():
    volume = np.arange(4 * 5 * 6.0).reshape(4, 5, 6)
    rows = restoration.patches(volume, (2, 3, 2), (2, 1, 3))
    places = [(z, y, x) for z in (0, 2) for y in (0, 1, 2) for x in (0, 3, 4)]
    assert len(rows) == len(places)
    for row, (z, y, x) in zip(rows, places, strict=True):
        np.testing.assert_array_equal(row, volume[z : z + 2, y : y + 3, x : x + 2].ravel())


def test_pictures_are_a_case_of_arrays():
    picture = np.random.default_rng(0).random((20, 30, 3))
    np.testing.assert_array_equal(
        images.patches(picture, 8, 3), restoration.patches(picture, 8, 3, channel_axis=2)
    )
    np.testing.assert_array_equal(
        images.patches(picture[..., 0], 8), restoration.patches(picture[..., 0], 8)
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: restoration.patches(np.ones(5), 6), ValueError, "array must be at least as large"),
        (lambda: restoration.patches(np.ones(5), (2, 2)), ValueError, "shape must be an integer"),
        (lambda: restoration.patches(np.ones((2,) * 4), 1), ValueError, "array must have one to"),
        (lambda: restoration.patches(np.float64(3), 1), ValueError, "array must have one to"),
        (lambda: restoration.patches(np.ones(0), 1), ValueError, "array must have at least one"),
        (lambda: restoration.patches(np.ones(4) * 1j, 1), TypeError, "array must be real"),
        (
            lambda: restoration.patches(np.ones((4, 4)), 1, channel_axis=2),
            ValueError,
            "channel_axis must be between -2 and 1, got 2",
        ),
        (
            lambda: restoration.Assembler((4, 4), 2, channel_axis=1.0),
            TypeError,
            "channel_axis must be an integer",
        ),
        (lambda: restoration.Assembler((9,), 2, 3), ValueError, "to cover every sample"),
        (lambda: restoration.Assembler((2,) * 4, 2), ValueError, "array_shape must have"),
        (lambda: restoration.Assembler((4,), 2).result(), ValueError, "4 samples were covered"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
