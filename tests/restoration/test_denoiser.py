"""The reusable denoiser of plug-and-play methods."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration import Denoiser, denoise
from tests.restoration.test_denoising import ball, beats, rms


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_agrees_with_denoise(ndim):
    clean = {1: beats(3000), 2: ball()[8] / 200, 3: ball() / 200}[ndim]
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    ours = Denoiser(clean.shape)(noisy, 0.1)
    assert ours.dtype == np.float64
    # Both use float32 with different scales, so coefficients close to a threshold may differ.
    assert rms(ours - denoise(noisy, 0.1, quality="fast")) < 0.1 * rms(ours - clean)


def test_transforms_are_kept_between_calls():
    clean = beats(3000)
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    denoiser = Denoiser(clean.shape)
    first = denoiser(noisy, 0.1)
    kept = [each.transform for each in denoiser._specs[0]]
    np.testing.assert_array_equal(denoiser(noisy, 0.1), first)
    other = denoiser(noisy[::-1], 0.05)
    assert [each.transform for each in denoiser._specs[0]] == kept
    assert rms(other - noisy[::-1]) < rms(first - noisy)  # with less noise, less changes


def test_results_are_not_clipped_and_scale_with_the_input():
    array = np.random.default_rng(0).standard_normal((40, 40))
    denoiser = Denoiser(array.shape, transform=fost.DCT((8, 8)))
    once = denoiser(array, 0.5)
    np.testing.assert_array_equal(
        denoiser(np.ldexp(array, 500), np.ldexp(0.5, 500)), np.ldexp(once, 500)
    )
    np.testing.assert_array_equal(denoiser(array, 0), array)
    np.testing.assert_array_equal(denoiser(np.zeros((40, 40)), 1), 0)


@pytest.mark.parametrize("dtype", ["?", "u1", ">i2", "u2", "i8", "f4", ">f8"])
def test_results_have_the_type_of_the_array(dtype):
    """The same rule as for `denoise`, which also clips to the range."""
    noisy = 100 * (np.random.default_rng(0).random((40, 40)) > 0.4) + 20.6
    array = noisy.astype(dtype)
    ours = Denoiser(array.shape)(array, 30.0)
    sigma = 1.0 if dtype == "?" else 30.0  # a larger level than the range is a warning
    assert ours.dtype == denoise(array, sigma).dtype == array.dtype.newbyteorder("=")
    # Rounding to integers changes samples by half a step at most.
    assert np.abs(ours - Denoiser(array.shape)(array.astype(float), 30.0)).max() <= 0.5 + 1e-3
    np.testing.assert_array_equal(Denoiser(array.shape)(array, 0), array)


def test_colour_images():
    array = np.random.default_rng(0).random((40, 40, 3)).astype(np.float32)
    ours = Denoiser(array.shape, channel_axis=2)(array, 0.1)
    assert ours.dtype == np.float32
    assert rms(ours - denoise(array, 0.1, channel_axis=2)) < 0.02


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Denoiser((2, 2, 2, 2)), ValueError, "shape must have one to three axes"),
        (lambda: Denoiser((2, 2), channel_axis=5), ValueError, "channel_axis must be between"),
        (lambda: Denoiser(0), ValueError, "shape must be between 1"),
        (lambda: Denoiser(9, transform="dct"), TypeError, "transform must be a transform"),
        (lambda: Denoiser(9)(np.ones(8), 1), ValueError, "x must have the shape"),
        (lambda: Denoiser(9)(np.ones(9), -1), ValueError, "sigma must be at least 0"),
        (lambda: Denoiser(9)(np.full(9, np.nan), 1), ValueError, "x contains NaN"),
        (lambda: Denoiser(900, stride=65)(np.ones(900), 1), ValueError, "stride must be at most"),
    ],
)
def test_invalid_arguments_are_rejected(call, error, message):
    with pytest.raises(error, match=message):
        call()
