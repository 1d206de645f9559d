"""Denoising by groups of similar patches: what it gains, in grey and in colour."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.images import denoise, psnr

skimage_data = pytest.importorskip("skimage.data")


def noisy(image, sigma):
    return image + sigma * np.random.default_rng(0).standard_normal(image.shape)


@pytest.mark.parametrize("sigma", [15, 50])
def test_better_than_each_patch_alone(sigma):
    """0.51 and 0.58 dB, of which other machines move 0.01."""
    clean = skimage_data.coins()[:128, :128] / 255
    image = noisy(clean, sigma / 255)
    best, fast = (psnr(clean, denoise(image, sigma / 255, quality=k)) for k in ("best", "fast"))
    assert best > fast + 0.25


def test_colours_gain_from_groups_in_luma():
    """1.39 dB, of which other machines move 0.01."""
    clean = skimage_data.coffee()[100:228, 100:228] / 255
    image = noisy(clean, 25 / 255)
    best, fast = (psnr(clean, denoise(image, 25 / 255, quality=k)) for k in ("best", "fast"))
    assert best > fast + 0.6


def test_the_default_is_the_best_unless_a_way_is_chosen():
    image = noisy(skimage_data.camera()[:48, :48] / 255, 0.1)
    best, fast = (denoise(image, 0.1, quality=k) for k in ("best", "fast"))
    assert not np.array_equal(best, fast)
    np.testing.assert_array_equal(denoise(image, 0.1), best)
    for way in (
        {"stride": 2},
        {"patch": 4},
        {"second_pass": False},
        {"dictionary": fost.DCT((8, 8))},
    ):
        np.testing.assert_array_equal(
            denoise(image, 0.1, **way), denoise(image, 0.1, quality="fast", **way)
        )


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 50), (50, 1), (3, 4), (7, 7, 3), (9, 2, 2), (20, 9, 4)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_any_size(shape, dtype):
    image = (200 * np.random.default_rng(0).random(shape)).astype(dtype)
    clean = denoise(image, 20, quality="best")
    assert clean.shape == shape
    assert clean.dtype == dtype
    assert abs(clean.mean() - image.mean()) <= 20


def test_channels_beyond_three_are_treated_one_by_one():
    image = noisy(skimage_data.coins()[:40, :40] / 255, 0.1)
    both = np.stack([image, image[::-1]], axis=-1)
    together = denoise(both, 0.1, quality="best")
    low, high = both.min(), both.max()
    # Both have the same range, so that their units are the same.
    assert (image.min(), image.max()) == (low, high)
    np.testing.assert_array_equal(together[..., 0], denoise(image, 0.1, quality="best"))


@pytest.mark.parametrize("quality", ["good", "", 3, True])
def test_other_qualities_are_refused(quality):
    with pytest.raises((ValueError, TypeError), match="quality must be one of 'best', 'fast'"):
        denoise(np.zeros((9, 9)), 0.1, quality=quality)
