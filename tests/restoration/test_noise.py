"""Estimation of the noise level, and Poisson noise."""

from __future__ import annotations

import numpy as np
import pytest

from fost.restoration import denoise, estimate_sigma
from fost.restoration.noise import AnscombeTransform

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
    assert denoise(counted, noise="poisson").dtype == np.uint16
    with_noise = counted * 3.0 + np.random.default_rng(1).standard_normal(clean.shape)
    both = denoise(with_noise, 1.0, noise="poisson", gain=3.0)
    assert np.square(both / 3 - clean).mean() < 1.5 * errors[0]


def test_invalid_arguments_are_rejected():
    with pytest.raises(ValueError, match="noise must be one of 'gaussian', 'poisson', got 'rice'"):
        denoise(np.ones(9), noise="rice")
    with pytest.raises(ValueError, match="gain must be"):
        denoise(np.ones(9), noise="poisson", gain=0)
    with pytest.raises(ValueError, match="sigma must be at least 0"):
        denoise(np.ones(9), -1, noise="poisson")
