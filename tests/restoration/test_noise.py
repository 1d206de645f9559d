"""Estimation of the noise level, and Poisson noise."""

from __future__ import annotations

import numpy as np
import pytest

from fost.restoration import denoise, estimate_sigma
from fost.restoration.noise import AnscombeTransform, estimate_gain, find_impulses

skimage_data = pytest.importorskip("skimage.data")


@pytest.mark.parametrize("name", ["astronaut", "camera", "rocket"])
@pytest.mark.parametrize("sigma", [15, 25])
def test_the_estimate_is_correct_for_clipped_noise(name, sigma):
    """A tenth of astronaut is black, where half of the noise is clipped: 24.97 for 25."""
    image = getattr(skimage_data, name)()
    noise = np.random.default_rng(0).standard_normal(image.shape)
    clipped = np.clip(np.rint(image + sigma * noise), 0, 255).astype(np.uint8)
    assert estimate_sigma(clipped, channel_axis=None if clipped.ndim == 2 else -1) == pytest.approx(
        sigma, rel=0.08
    )  # 0.05 at most


def test_piecewise_constant_arrays_have_no_noise():
    assert estimate_sigma(np.zeros(1000)) == 0
    assert estimate_sigma((np.arange(4000) // 100 % 2) * 1.0) == 0


@pytest.mark.parametrize("sigma", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("gain", [1.0, 0.1])
@pytest.mark.parametrize("mean", [0.1, 1.0, 7.0, 100.0, 3000.0])
def test_the_inverse_anscombe_transform_is_unbiased(mean, gain, sigma):
    """Means of 200,000 samples are within four standard errors."""
    rng = np.random.default_rng(0)
    anscombe = AnscombeTransform(gain, gain * sigma)
    samples = gain * (rng.poisson(mean, 200_000) + sigma * rng.standard_normal(200_000))
    found = anscombe.unbiased_inverse(anscombe.forward(samples).mean())
    room = 4 * gain * np.sqrt((mean + sigma**2) / 200_000) + 1e-4 * gain * mean
    assert found == pytest.approx(gain * mean, abs=room)


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_the_anscombe_transform_stabilises_the_variance(sigma):
    rng = np.random.default_rng(0)
    for mean in (6, 50, 2000):
        samples = rng.poisson(mean, 100_000) + sigma * rng.standard_normal(100_000)
        assert np.std(AnscombeTransform(1.0, sigma).forward(samples)) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("peak", [2, 20])
def test_denoising_of_poisson_noise(peak):
    clean = peak * (0.1 + skimage_data.camera()[100:228, 100:228] / 255)
    counted = np.random.default_rng(0).poisson(clean).astype(np.uint16)
    ours = denoise(counted.astype(float), noise="poisson")
    # The mean is preserved within 0.7 %; the algebraic inverse would be off by 1/4 count.
    assert ours.mean() == pytest.approx(counted.mean(), rel=0.02)
    white = denoise(counted.astype(float), np.sqrt(clean.mean()))
    errors = [np.square(each - clean).mean() for each in (ours, white)]
    assert errors[0] < errors[1] < np.square(counted - clean).mean()
    # Mean counts are floats; rounding would lose 5 dB for a peak of 2.
    counts = denoise(counted, noise="poisson")
    assert counts.dtype == np.float32
    np.testing.assert_allclose(counts, ours, atol=1e-3 * peak)
    rounded = np.empty_like(counted)
    assert denoise(counted, noise="poisson", out=rounded) is rounded
    np.testing.assert_allclose(rounded, counts, atol=0.5 + 1e-3 * peak)
    with_noise = counted * 3.0 + np.random.default_rng(1).standard_normal(clean.shape)
    both = denoise(with_noise, 1.0, noise="poisson", gain=3.0)
    assert np.square(both / 3 - clean).mean() < 1.5 * errors[0]


@pytest.mark.parametrize(("peak", "gain"), [(2, 1.0), (30, 0.3), (100, 12.75)])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_the_gain_is_estimated(peak, gain, sigma):
    """Counts without Gaussian noise are multiples of the gain; else a tenth of patches decides."""
    clean = peak * (0.1 + skimage_data.camera()[:160, :160] / 255)
    rng = np.random.default_rng(0)
    noisy = gain * (rng.poisson(clean) + sigma * rng.standard_normal(clean.shape))
    found = estimate_gain([noisy], gain * sigma, None)
    assert found == pytest.approx(gain, rel=1e-9 if sigma == 0 else 0.25)  # 0.15 at most


def test_the_estimated_gain_is_almost_as_good_as_the_true_one():
    clean = skimage_data.camera()[100:228, 100:228].astype(float)
    noisy = 12.75 * np.random.default_rng(0).poisson(clean / 12.75)
    noisy = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    given, found = (denoise(noisy, noise="poisson", gain=gain) for gain in (12.75, None))
    assert np.square(found - clean).mean() < 1.1 * np.square(given - clean).mean()


@pytest.mark.parametrize("sigma", [1e10, 1e160, 1e300])
def test_gaussian_noise_far_above_the_counts(sigma):
    array = np.random.default_rng(0).poisson(3.0, 300).astype(float)
    found = denoise(array, sigma, noise="poisson")
    assert np.isfinite(found).all()
    assert np.std(found) < 0.5 * np.std(array)  # almost constant


@pytest.mark.parametrize("array", [np.zeros(300), np.full((20, 20), 7), np.full((5, 9, 9), 1e-300)])
def test_constant_counts_are_unchanged(array):
    np.testing.assert_allclose(denoise(array, noise="poisson"), array, rtol=1e-2, atol=0.05)


def salted(image, density, rng):
    draws = rng.random(image.shape)
    noisy = np.where(draws < density / 2, 0, np.where(draws > 1 - density / 2, 255, image))
    return noisy.astype(image.dtype)


@pytest.mark.parametrize("density", [0.05, 0.3, 0.7])
def test_impulses_are_found(density):
    image = np.clip(skimage_data.camera()[:160, :160], 1, 254)
    noisy = salted(image, density, np.random.default_rng(0))
    mask = find_impulses(noisy, None)
    assert not mask[noisy == image].any()
    assert mask[noisy != image].mean() > 0.99


def test_saturated_regions_are_not_impulses():
    image = np.full((80, 80), 128, np.uint8)
    image[20:60, 20:60] = 255
    noisy = salted(image, 0.1, np.random.default_rng(0))
    mask = find_impulses(noisy, None)
    assert mask[25:55, 25:55][noisy[25:55, 25:55] == 255].mean() == 0
    assert mask[noisy == 0].mean() > 0.99


@pytest.mark.parametrize("array", [np.array([0.0, 1.0]), np.array([[3, 9], [9, 3]], np.uint8)])
def test_arrays_of_extreme_values_only_are_unchanged(array):
    np.testing.assert_array_equal(denoise(array, noise="impulse"), array)


@pytest.mark.parametrize("colour", [False, True])
def test_impulse_noise_is_removed(colour):
    image = skimage_data.astronaut()[:96, 200:296] if colour else skimage_data.camera()[:96, :96]
    noisy = salted(image, 0.1, np.random.default_rng(0))
    axis = -1 if colour else None
    found = denoise(noisy, noise="impulse", channel_axis=axis)
    assert found.dtype == np.uint8
    errors = [np.square(each.astype(float) - image).mean() for each in (found, noisy)]
    assert errors[0] < 0.01 * errors[1]  # 0.003
    same = denoise(noisy, 0, noise="impulse", channel_axis=axis, out=np.empty_like(noisy))
    np.testing.assert_array_equal(same, found)
    white = np.clip(image + 10 * np.random.default_rng(1).standard_normal(image.shape), 1, 254)
    mixed = salted(np.rint(white), 0.1, np.random.default_rng(0))
    cleaned = denoise(mixed, 10, noise="impulse", channel_axis=axis)
    assert np.square(cleaned - image).mean() < 0.6 * np.square(white - image).mean()


def test_negative_counts_without_read_noise_are_a_warning():
    clean = 3 * (0.1 + skimage_data.camera()[100:228, 100:228] / 255)
    rng = np.random.default_rng(0)
    raw = 100 + rng.poisson(clean) + 2 * rng.standard_normal(clean.shape)
    with pytest.warns(UserWarning, match="counts must not be negative, got x down to -"):
        without = denoise(raw - 100, noise="poisson", quality="fast")
    recipe = denoise(raw - 100, 2.0, noise="poisson", gain=1.0, quality="fast")
    assert abs(recipe.mean() - clean.mean()) < 0.1
    assert np.square(recipe - clean).mean() < 0.9 * np.square(without - clean).mean()


def test_invalid_arguments_are_rejected():
    with pytest.raises(ValueError, match=r"noise must be one of .*'impulse', got 'rice'"):
        denoise(np.ones(9), noise="rice")
    with pytest.raises(ValueError, match="gain must be"):
        denoise(np.ones(9), noise="poisson", gain=0)
    with pytest.raises(ValueError, match='gain must be None unless noise is "poisson", got 2'):
        denoise(np.ones(9), noise="impulse", gain=2)
    with pytest.raises(ValueError, match="sigma must be at least 0"):
        denoise(np.ones(9), -1, noise="poisson")
