"""Noise that is clipped, and noise of counting."""

from __future__ import annotations

import numpy as np
import pytest

from fost import images
from fost.restoration import denoise, noise_level
from fost.restoration.counts import Counts

skimage_data = pytest.importorskip("skimage.data")


@pytest.mark.parametrize("name", ["astronaut", "camera", "rocket"])
@pytest.mark.parametrize("sigma", [15, 25])
def test_the_level_of_clipped_noise(name, sigma):
    """A tenth of astronaut is black, where clipping leaves half of the noise: 24.97 for 25."""
    image = getattr(skimage_data, name)()
    noise = np.random.default_rng(0).standard_normal(image.shape)
    clipped = np.clip(np.rint(image + sigma * noise), 0, 255).astype(np.uint8)
    assert images.noise_level(clipped) == pytest.approx(sigma, rel=0.08)  # 0.05 at most


def test_what_is_clipped_as_a_whole_has_no_noise():
    assert noise_level(np.zeros(1000)) == 0
    assert noise_level((np.arange(4000) // 100 % 2) * 1.0) == 0


@pytest.mark.parametrize("sigma", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("gain", [1.0, 0.1])
@pytest.mark.parametrize("mean", [0.1, 1.0, 7.0, 100.0, 3000.0])
def test_the_inverse_is_unbiased(mean, gain, sigma):
    """Means of 200,000 samples, which chance moves by four of their deviations at most."""
    rng = np.random.default_rng(0)
    counts = Counts(gain, gain * sigma)
    samples = gain * (rng.poisson(mean, 200_000) + sigma * rng.standard_normal(200_000))
    found = counts.means(counts.stabilised(samples).mean())
    room = 4 * gain * np.sqrt((mean + sigma**2) / 200_000) + 1e-4 * gain * mean
    assert found == pytest.approx(gain * mean, abs=room)


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_noise_becomes_white(sigma):
    rng = np.random.default_rng(0)
    for mean in (6, 50, 2000):
        samples = rng.poisson(mean, 100_000) + sigma * rng.standard_normal(100_000)
        assert np.std(Counts(1.0, sigma).stabilised(samples)) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("peak", [2, 20])
def test_counts(peak):
    clean = peak * (0.1 + skimage_data.camera()[100:228, 100:228] / 255)
    counted = np.random.default_rng(0).poisson(clean).astype(np.uint16)
    ours = denoise(counted.astype(float), noise="poisson")
    # The mean stays: less than 0.7 % off, where the inverse of the transform is off by 1/4 count.
    assert ours.mean() == pytest.approx(counted.mean(), rel=0.02)
    white = denoise(counted.astype(float), np.sqrt(clean.mean()))
    errors = [np.square(each - clean).mean() for each in (ours, white)]
    assert errors[0] < errors[1] < np.square(counted - clean).mean()
    assert denoise(counted, noise="poisson").dtype == np.uint16
    with_noise = counted * 3.0 + np.random.default_rng(1).standard_normal(clean.shape)
    both = denoise(with_noise, 1.0, noise="poisson", gain=3.0)
    assert np.square(both / 3 - clean).mean() < 1.5 * errors[0]


def test_bad_input():
    with pytest.raises(ValueError, match="noise must be one of 'gaussian', 'poisson', got 'rice'"):
        denoise(np.ones(9), noise="rice")
    with pytest.raises(ValueError, match="gain must be"):
        denoise(np.ones(9), noise="poisson", gain=0)
    with pytest.raises(ValueError, match="sigma must be at least 0"):
        denoise(np.ones(9), -1, noise="poisson")
