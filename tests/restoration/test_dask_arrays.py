"""Dask arrays, whose chunks are processed like tiles."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration import denoise, estimate_sigma, inpaint
from tests.restoration.test_denoising import ball, beats

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("quality", ["fast", "best"])
def test_denoised_signals_equal_tiled_results(quality):
    noisy = beats() + 0.1 * np.random.default_rng(0).standard_normal(6000)
    lazy = denoise(da.from_array(noisy, chunks=2000), 0.1, quality=quality)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == noisy.shape
    np.testing.assert_array_equal(
        lazy.compute(),
        denoise(noisy, 0.1, quality=quality, tile=2000 if quality == "fast" else 6000),
    )


def test_denoised_volumes_equal_tiled_results():
    volume = (ball((40, 50, 60)) + np.random.default_rng(0).normal(0, 9, (40, 50, 60))).astype(
        np.float32
    )
    chunked = da.from_array(volume, chunks=(20, 50, 30))
    assert estimate_sigma(chunked) == estimate_sigma(volume)
    lazy = denoise(chunked, stride=2)
    assert lazy.dtype == np.float32
    # An axis of length 50 is not longer than both margins, so it is a single chunk.
    tiled = denoise(volume, stride=2, tile=(20, 50, 60))
    rows = denoise(da.from_array(volume, chunks=(20, 50, 60)), stride=2)
    np.testing.assert_array_equal(rows.compute(), tiled)
    np.testing.assert_allclose(lazy.compute(), tiled, rtol=0, atol=2)


@pytest.mark.parametrize("axis", [None, 0, 2])
def test_inpainted_images_equal_tiled_results(axis):
    rng = np.random.default_rng(0)
    image = ball((3, 210, 60))[1]
    array = image if axis is None else np.stack([image, 200 - image], axis=axis)
    mask = rng.random((210, 60)) < 0.3
    tiled = inpaint(array, mask, channel_axis=axis, tile=(105, 60), max_iter=6)
    chunks = [105, 60] if axis is None else np.insert([105, 60], axis, 1).tolist()
    lazy = inpaint(da.from_array(array, chunks=chunks), mask, channel_axis=axis, max_iter=6)
    found = lazy.compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, tiled)
    np.testing.assert_array_equal(found, lazy.compute())
    everywhere = np.broadcast_to(mask if axis is None else np.expand_dims(mask, axis), array.shape)
    np.testing.assert_array_equal(found[~everywhere], array[~everywhere])
    full = inpaint(
        da.from_array(array, chunks=chunks),
        da.from_array(everywhere, chunks=50),
        channel_axis=axis,
        max_iter=6,
    )
    np.testing.assert_array_equal(full.compute(), tiled)


def test_poisson_noise_in_colour_images():
    rng = np.random.default_rng(0)
    image = np.stack([ball((3, 140, 50))[1]] * 3, axis=-1)
    counts = rng.poisson(image / 10)
    lazy = denoise(
        da.from_array(counts, chunks=(70, 50, 3)), noise="poisson", channel_axis=-1, quality="fast"
    )
    tiled = denoise(counts, noise="poisson", channel_axis=-1, quality="fast", tile=(70, 50))
    np.testing.assert_array_equal(lazy.compute(), tiled)


def test_results_are_lazy():
    def forbidden(block):
        raise AssertionError("computed")

    array = da.map_blocks(forbidden, da.zeros((60, 60), chunks=30), dtype=float, meta=np.empty(0))
    denoise(array)
    inpaint(array, np.eye(60, dtype=bool))
    with pytest.raises(AssertionError, match="computed"):
        denoise(array).compute()


def test_invalid_arguments_are_rejected():
    array = da.zeros((60, 60), chunks=30)
    mask = np.zeros((60, 60), bool)
    for call in (denoise, lambda a, **more: inpaint(a, mask, **more)):
        with pytest.raises(ValueError, match="out and tile must be None"):
            call(array, out=np.zeros((60, 60)))
        with pytest.raises(ValueError, match="out and tile must be None"):
            call(array, tile=30)
        with pytest.raises(ValueError, match="one to three axes"):
            call(da.zeros((2, 2, 2, 2)))
        with pytest.raises(TypeError, match="x must be real"):
            call(array.astype(complex))
        with pytest.raises(ValueError, match="unknown shape"):
            call(array[array[:, 0] > 0])
    with pytest.raises(ValueError, match="x contains NaN"):
        denoise(da.full((60, 60), np.nan, chunks=30)).compute()
    with pytest.raises(ValueError, match="mask must be given"):
        inpaint(array)
    with pytest.raises(TypeError, match="mask must be boolean"):
        inpaint(array, np.zeros((60, 60)))
    with pytest.raises(ValueError, match="mask must have the shape"):
        inpaint(array, mask[1:])
    with pytest.raises(ValueError, match="mask is True for all samples"):
        inpaint(array, ~mask).compute()
    hole = mask.copy()
    hole[:40] = True
    long = np.zeros((400, 3), bool)
    long[:250] = True
    with pytest.raises(ValueError, match="x must have larger chunks"):
        inpaint(da.ones((400, 3), chunks=100), long).compute()
    np.testing.assert_array_equal(inpaint(array, mask).compute(), np.zeros((60, 60)))
    damaged = np.where(hole, np.nan, np.ones((60, 60)))
    filled = inpaint(da.from_array(damaged, chunks=60), "nan").compute()
    np.testing.assert_array_equal(filled, inpaint(damaged, hole))
    np.testing.assert_array_equal(denoise(array, 0).compute(), np.zeros((60, 60)))


def test_all_chunks_use_the_given_transform():
    noisy = np.random.default_rng(0).random((100, 90))
    lazy = denoise(da.from_array(noisy, chunks=(50, 90)), 0.3, transform=fost.DCT((4, 4)))
    np.testing.assert_array_equal(
        lazy.compute(), denoise(noisy, 0.3, transform=fost.DCT((4, 4)), tile=(50, 90))
    )
