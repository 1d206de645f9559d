"""Dask arrays are restored chunk by chunk, as tiles are."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration import denoise, inpaint, noise_level
from fost.restoration.arrays import check_finite
from tests.restoration.test_denoising import ball, beats

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("quality", ["fast", "best"])
def test_signals_are_as_in_tiles(quality):
    noisy = beats() + 0.1 * np.random.default_rng(0).standard_normal(6000)
    lazy = denoise(da.from_array(noisy, chunks=2000), 0.1, quality=quality)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == noisy.shape
    np.testing.assert_array_equal(
        lazy.compute(),
        denoise(noisy, 0.1, quality=quality, tile=2000 if quality == "fast" else 6000),
    )


def test_volumes_are_as_in_tiles():
    volume = (ball((40, 50, 60)) + np.random.default_rng(0).normal(0, 9, (40, 50, 60))).astype(
        np.float32
    )
    chunked = da.from_array(volume, chunks=(20, 50, 30))
    assert noise_level(chunked) == noise_level(volume)
    lazy = denoise(chunked, stride=2)
    assert lazy.dtype == np.float32
    # 50 is not longer than what is looked at around a chunk on both sides.
    tiled = denoise(volume, stride=2, tile=(20, 50, 60))
    rows = denoise(da.from_array(volume, chunks=(20, 50, 60)), stride=2)
    np.testing.assert_array_equal(rows.compute(), tiled)
    np.testing.assert_allclose(lazy.compute(), tiled, rtol=0, atol=2)


@pytest.mark.parametrize("axis", [None, 0, 2])
def test_gaps_are_as_in_tiles(axis):
    rng = np.random.default_rng(0)
    picture = ball((3, 210, 60))[1]
    array = picture if axis is None else np.stack([picture, 200 - picture], axis=axis)
    gaps = rng.random((210, 60)) < 0.3
    tiled = inpaint(array, gaps, channel_axis=axis, tile=(105, 60), max_iter=6)
    chunks = [105, 60] if axis is None else np.insert([105, 60], axis, 1).tolist()
    lazy = inpaint(da.from_array(array, chunks=chunks), gaps, channel_axis=axis, max_iter=6)
    found = lazy.compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, tiled)
    np.testing.assert_array_equal(found, lazy.compute())
    everywhere = np.broadcast_to(gaps if axis is None else np.expand_dims(gaps, axis), array.shape)
    np.testing.assert_array_equal(found[~everywhere], array[~everywhere])
    full = inpaint(
        da.from_array(array, chunks=chunks),
        da.from_array(everywhere, chunks=50),
        channel_axis=axis,
        max_iter=6,
    )
    np.testing.assert_array_equal(full.compute(), tiled)


def test_counts_and_colours():
    rng = np.random.default_rng(0)
    picture = np.stack([ball((3, 140, 50))[1]] * 3, axis=-1)
    counts = rng.poisson(picture / 10)
    lazy = denoise(
        da.from_array(counts, chunks=(70, 50, 3)), noise="poisson", channel_axis=-1, quality="fast"
    )
    tiled = denoise(counts, noise="poisson", channel_axis=-1, quality="fast", tile=(70, 50))
    np.testing.assert_array_equal(lazy.compute(), tiled)


def test_nothing_is_computed_before_it_is_asked_for():
    def forbidden(block):
        raise AssertionError("computed")

    array = da.map_blocks(forbidden, da.zeros((60, 60), chunks=30), dtype=float, meta=np.empty(0))
    denoise(array)
    inpaint(array, np.eye(60, dtype=bool))
    with pytest.raises(AssertionError, match="computed"):
        denoise(array).compute()


def test_errors_name_what_is_wrong():
    array = da.zeros((60, 60), chunks=30)
    gaps = np.zeros((60, 60), bool)
    for call in (denoise, lambda a, **more: inpaint(a, gaps, **more)):
        with pytest.raises(ValueError, match="out and tile must be None"):
            call(array, out=np.zeros((60, 60)))
        with pytest.raises(ValueError, match="out and tile must be None"):
            call(array, tile=30)
        with pytest.raises(ValueError, match="one to three axes"):
            call(da.zeros((2, 2, 2, 2)))
        with pytest.raises(TypeError, match="array must be real"):
            call(array.astype(complex))
        with pytest.raises(ValueError, match="unknown shape"):
            call(array[array[:, 0] > 0])
    with pytest.raises(ValueError, match="array contains NaN"):
        denoise(da.full((60, 60), np.nan, chunks=30)).compute()
    with pytest.raises(ValueError, match="missing must be given"):
        inpaint(array)
    with pytest.raises(TypeError, match="missing must be boolean"):
        inpaint(array, np.zeros((60, 60)))
    with pytest.raises(ValueError, match="missing must have the shape"):
        inpaint(array, gaps[1:])
    with pytest.raises(ValueError, match="nothing to go by"):
        inpaint(array, ~gaps).compute()
    hole = gaps.copy()
    hole[:40] = True
    long = np.zeros((400, 3), bool)
    long[:250] = True
    with pytest.raises(ValueError, match="array must have larger chunks"):
        inpaint(da.ones((400, 3), chunks=100), long).compute()
    np.testing.assert_array_equal(inpaint(array, gaps).compute(), np.zeros((60, 60)))
    damaged = np.where(hole, np.nan, np.ones((60, 60)))
    filled = inpaint(da.from_array(damaged, chunks=60), "nan").compute()
    np.testing.assert_array_equal(filled, inpaint(damaged, hole))
    np.testing.assert_array_equal(denoise(array, 0).compute(), np.zeros((60, 60)))


def test_a_dictionary_is_used_in_all_chunks():
    noisy = check_finite(np.random.default_rng(0).random((100, 90)), "array")
    lazy = denoise(da.from_array(noisy, chunks=(50, 90)), 0.3, fost.DCT((4, 4)))
    np.testing.assert_array_equal(
        lazy.compute(), denoise(noisy, 0.3, fost.DCT((4, 4)), tile=(50, 90))
    )
