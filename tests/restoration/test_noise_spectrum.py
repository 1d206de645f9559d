"""Coloured noise, JPEG compression, stripes and thin arrays."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import fost
from fost.restoration import denoise, estimate_sigma
from fost.restoration.noise import estimate_noise
from fost.restoration.noise_spectrum import NoiseSpectrum, estimate_spectrum, is_striped

skimage_data = pytest.importorskip("skimage.data")


def blurred(shape, width, sigma, seed=0):
    noise = gaussian_filter(np.random.default_rng(seed).standard_normal(shape), width, mode="wrap")
    return sigma * noise / noise.std()


def error(found, clean):
    return float(np.square(np.asarray(found, float) - clean).mean())


@pytest.mark.parametrize("shape", [(32,), (8, 8), (4, 8, 8)])
def test_white_noise_has_the_identity_as_its_covariance(shape):
    spectrum = NoiseSpectrum(np.ones(shape))
    for block in (shape, tuple(k + 3 for k in shape), (1,) * len(shape)):
        # The density is sampled at 8 points per frequency, whose cosines are orthogonal.
        np.testing.assert_allclose(spectrum.covariance(block), np.eye(np.prod(block)), atol=1e-12)
        inverse = spectrum.inverse_covariance(block)
        np.testing.assert_allclose(inverse, np.eye(np.prod(block)), atol=1e-12)
    deviations = spectrum.deviations(shape, fost.DCT(shape))
    np.testing.assert_allclose(deviations[1:], 1)  # without the mean


@pytest.mark.parametrize(("shape", "width"), [((8, 8), 0.7), ((8, 8), 1.2), ((4, 8, 8), 0.8)])
def test_deviations_are_those_of_the_noise(shape, width):
    """Estimate and interpolation smooth the spectrum, mostly along the axis of four samples."""
    size = {2: (256, 256), 3: (24, 96, 96)}[len(shape)]
    noise = blurred(size, width, 1.0)
    content = np.arange(size[-1]) // 64 * 4.0  # most of the variance, as in an image
    found = estimate_spectrum([noise + content], [])
    assert found.homogeneity == pytest.approx(1, abs=0.1)
    assert found.is_homogeneous
    assert not found.is_white
    assert found.sigma == pytest.approx(1, rel=0.1)
    transform = fost.DCT(shape)
    patches = fost.restoration.patches(noise, shape, stride=3)
    patches = patches - patches.mean(axis=1, keepdims=True)
    true = transform.forward(patches).std(axis=0)
    ours = found.normalized.deviations(shape, transform)
    large = true > 0.6
    np.testing.assert_allclose(ours[large], true[large], rtol=0.35 if len(shape) == 2 else 0.6)
    bank = fost.Bank([transform, fost.Dense(np.eye(np.prod(shape)))])
    both = found.normalized.deviations(shape, bank)
    np.testing.assert_allclose(both[: len(ours)], ours)


@pytest.mark.parametrize("sigma", [8, 25])
@pytest.mark.parametrize("name", ["camera", "coins", "moon"])
def test_white_noise_is_recognised(name, sigma):
    """The result is bit-identical to that for white noise of the estimated level."""
    image = getattr(skimage_data, name)()[:200, :200]
    noisy = image + sigma * np.random.default_rng(0).standard_normal(image.shape)
    found = estimate_noise([noisy], None)
    assert found.spectrum is None
    assert found.stripes is None
    assert found.sigma == pytest.approx(sigma, rel=0.1)  # 0.07 at most
    np.testing.assert_array_equal(estimate_sigma(noisy, spectrum=True), found.sigma)
    crop = noisy[:64, :64]
    level = estimate_sigma(crop)
    np.testing.assert_array_equal(
        denoise(crop, quality="fast"), denoise(crop, level, quality="fast")
    )


@pytest.mark.parametrize("colour", [False, True])
def test_coloured_noise_is_removed(colour):
    """A fifth of the error remains for grey images; white noise of this level leaves 0.6."""
    image = skimage_data.astronaut()[:192, :192].astype(float)
    image = image if colour else image[..., 1]
    axis = -1 if colour else None
    noise = blurred(image.shape, (1, 1, 0) if colour else 1, 20.0)
    noisy = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
    sigma = estimate_sigma(noisy, channel_axis=axis)
    assert sigma == pytest.approx(20, rel=0.2)
    spectrum = estimate_sigma(noisy, channel_axis=axis, spectrum=True)
    assert spectrum.shape == (8, 8)
    assert np.sqrt(np.square(spectrum).mean()) == pytest.approx(sigma)
    assert spectrum[1, 1] > 5 * spectrum[6, 6]
    ours = error(denoise(noisy, channel_axis=axis), image)
    white = error(denoise(noisy, sigma, channel_axis=axis), image)
    assert ours < 0.35 * error(noisy, image)
    assert ours < 0.7 * white


@pytest.mark.parametrize("quality", [50, 75])
@pytest.mark.parametrize("cut", [0, 3])
def test_noise_before_jpeg_compression(quality, cut):
    """Blocks need not begin at the border."""
    pillow = pytest.importorskip("PIL.Image")
    image = skimage_data.camera()[:256, :256]
    noise = 15 * np.random.default_rng(0).standard_normal(image.shape)
    file = io.BytesIO()
    noisy = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
    pillow.fromarray(noisy).save(file, "JPEG", quality=quality)
    read = np.asarray(pillow.open(file))[cut:, cut:]
    assert estimate_sigma(read) == pytest.approx(15, rel=0.25)
    image = image[cut:, cut:].astype(float)
    # Twice the error of the best level at most; without the estimate, all of the noise remains.
    assert error(denoise(read, quality="fast"), image) < 0.4 * error(read, image)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sigma", [0, 8])
def test_stripes_are_removed(axis, sigma):
    image = skimage_data.camera()[100:260, 100:260].astype(float)
    rng = np.random.default_rng(0)
    offsets = np.expand_dims(20 * rng.standard_normal(160), 1 - axis)
    noisy = image + offsets + sigma * rng.standard_normal(image.shape)
    assert is_striped(noisy, axis)
    assert not is_striped(noisy, 1 - axis)
    assert not is_striped(image, axis)
    # 0.06 to 0.16 of the error remain.
    assert error(denoise(noisy, quality="fast"), image) < 0.25 * error(noisy, image)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7])
def test_thin_arrays(rows):
    """One-dimensional estimates: half of the frequencies of 60 patches or more."""
    noise = 5 * np.random.default_rng(0).standard_normal((rows, 2000))
    for array in (noise, noise.T, noise[:, None], np.repeat(noise[..., None], 3, axis=2)):
        axis = 2 if array.shape[-1] == 3 and array.ndim == 3 else None
        assert estimate_sigma(array, channel_axis=axis) == pytest.approx(5, rel=0.1)
    clean = np.sin(np.arange(2000) / 40) * 100
    assert error(denoise(clean + noise), clean) < 0.3 * error(clean + noise, clean)


def test_a_doubtful_estimate_is_a_warning():
    """Fine texture in all parts of an image, with a spectrum like that of coloured noise."""
    texture = skimage_data.gravel()[:256, :256].astype(float)
    with pytest.warns(UserWarning, match="the estimated noise level may be far too low"):
        sigma = estimate_sigma(texture)
    assert sigma < 6
    with pytest.warns(UserWarning, match="pass sigma"):
        found = denoise(texture, quality="fast")
    assert error(found, texture) < 0.05 * texture.var()


@pytest.mark.filterwarnings("ignore:the estimated noise level")
def test_regular_patterns_are_not_noise():
    rows, columns = np.mgrid[:200, :200]
    for pattern in (np.sin(rows / 2) * np.sin(columns / 3), (rows // 4 + columns // 4) % 2 * 1.0):
        assert estimate_noise([pattern], None).spectrum is None
