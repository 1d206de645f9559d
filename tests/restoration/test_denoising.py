"""Noise out of signals and volumes; pictures are in tests/images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import savgol_filter

import fost
from fost import images
from fost.restoration import denoise, noise_level


def beats(n=6000, seed=0):
    """Pulses of one kind, a little different each time, as a heart makes them."""
    rng = np.random.default_rng(seed)
    signal, t = np.zeros(n), np.arange(-60, 61)
    for place in range(100, n - 100, 140):
        at = place + int(rng.integers(-9, 10))
        pulse = np.exp(-np.square(t / rng.uniform(2, 3))) - 0.3 * np.exp(-np.square((t - 25) / 12))
        signal[at - 60 : at + 61] += rng.uniform(0.8, 1.2) * pulse
    return signal


def ball(shape=(16, 40, 40)):
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, k) for k in shape], indexing="ij")
    return gaussian_filter(
        np.where(z**2 + y**2 + x**2 < 0.6, 150.0 + 50 * np.sin(9 * x), 40.0), 0.7
    )


def rms(a):
    return float(np.sqrt(np.mean(np.square(a))))


@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_signals(sigma):
    clean = beats()
    noisy = clean + sigma * np.random.default_rng(1).standard_normal(len(clean))
    ours = rms(denoise(noisy, sigma) - clean)
    smooth = min(
        rms(savgol_filter(noisy, k, d) - clean) for k in range(5, 60, 4) for d in (2, 3, 4)
    )
    # 0.54 to 0.55 and 0.67 to 0.70 of the best polynomials, for three seeds.
    assert ours < 0.8 * smooth


@pytest.mark.parametrize("sigma", [10, 50])
def test_volumes(sigma):
    clean = ball()
    noisy = clean + sigma * np.random.default_rng(1).standard_normal(clean.shape)
    ours = rms(denoise(noisy, sigma) - clean)
    slices = rms(np.stack([denoise(each, sigma, quality="fast") for each in noisy]) - clean)
    # Neighbours in depth tell, too: 0.78 to 0.79 and 0.69 of what slices alone leave.
    assert ours < 0.87 * slices
    assert ours < 0.4 * sigma


def test_pictures_are_a_case_of_arrays():
    rng = np.random.default_rng(0)
    grey, colour = rng.random((40, 40)), rng.random((40, 40, 3)).astype(np.float32)
    np.testing.assert_array_equal(denoise(grey, 0.1), images.denoise(grey, 0.1))
    as_colours = denoise(np.moveaxis(colour, -1, 0), 0.1, channel_axis=0)
    np.testing.assert_array_equal(np.moveaxis(as_colours, 0, -1), images.denoise(colour, 0.1))
    assert noise_level(colour, channel_axis=2) == images.noise_level(colour)


def test_channels_of_signals_are_signals():
    two = beats(2000, 1)[:, None] + 0.1 * np.random.default_rng(0).standard_normal((2000, 2))
    both = denoise(two, 0.1, channel_axis=1)
    assert both.shape == two.shape
    span = two.min(), two.max()
    first = denoise(np.r_[two[:, 0], span], 0.1)[:-2]  # the same range, and so the same numbers
    assert rms(both[:, 0] - first) < 0.01  # 0.0015: two samples more, other patches to learn from


@pytest.mark.parametrize("shape", [(1,), (2,), (63,), (700,), (1, 1, 1), (3, 5, 70), (9, 9, 9)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_any_size_and_type(shape, dtype):
    array = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    out = denoise(array, 5)
    assert out.shape == shape
    assert out.dtype == dtype
    flat = denoise(np.full(shape, 7, dtype), 1)
    np.testing.assert_allclose(flat, 7, rtol=1e-5)
    np.testing.assert_array_equal(denoise(array, 0), array)


def test_learned_once_restores_many():
    """A dictionary from one recording, for another one of its kind."""
    rng = np.random.default_rng(0)
    windows = np.lib.stride_tricks.sliding_window_view(beats(seed=5), 64)
    Y = windows - windows.mean(axis=1, keepdims=True)
    learned = fost.learn(Y, fost.Rotations(256), 4, base=fost.DCT(64), max_iter=10).transform
    clean = beats(seed=6)
    noisy = clean + 0.1 * rng.standard_normal(len(clean))
    ours = rms(denoise(noisy, 0.1, learned) - clean)
    # 0.79 to 0.83, for three seeds.
    assert ours < 0.9 * rms(denoise(noisy, 0.1, fost.DCT(64)) - clean)


@pytest.mark.parametrize("ndim", [1, 3])
def test_threads_do_not_change_a_bit(ndim, set_threads):
    clean = beats(20_000) if ndim == 1 else ball()
    noisy = clean + 0.1 * np.ptp(clean) * np.random.default_rng(0).standard_normal(clean.shape)
    set_threads(1)
    first = denoise(noisy, 0.1)
    set_threads(3)
    np.testing.assert_array_equal(denoise(noisy, 0.1), first)


@pytest.mark.parametrize("sigma", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("ndim", [1, 3])
def test_noise_level(ndim, sigma):
    clean = beats(20_000) if ndim == 1 else ball((24, 48, 48)) / 200
    noise = np.random.default_rng(1).standard_normal(clean.shape)
    assert noise_level(clean + sigma * noise) == pytest.approx(sigma, rel=0.1)  # 0.04 at most
    scaled = noise_level(np.ldexp(clean + sigma * noise, 700))
    assert scaled == np.ldexp(noise_level(clean + sigma * noise), 700)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sigma": -1}, ValueError, "sigma must be at least 0"),
        ({"array": np.array([1.0, np.nan])}, ValueError, "array contains NaN"),
        ({"array": np.ones((2,) * 5)}, ValueError, "array must have one to three axes"),
        ({"array": np.ones(())}, ValueError, "array must have one to three axes"),
        ({"channel_axis": 3}, ValueError, "array must have one to three axes beside"),
        ({"channel_axis": 3, "array": np.ones((4, 3))}, ValueError, "channel_axis must be between"),
        ({"patch": (8, 8)}, ValueError, "patch must be an integer or one in brackets"),
        ({"patch": 2**30}, ValueError, "patch must be at most 16777216"),
        ({"stride": 65}, ValueError, "stride must be at most the patch"),
        ({"dictionary": fost.DCT(8), "patch": 9}, ValueError, "dictionary was built for 8"),
        ({"dictionary": "dct"}, TypeError, "dictionary must be a transform or a bank"),
        (
            {"dictionary": fost.DCT(9), "array": np.ones((9, 9, 9))},
            ValueError,
            "patch must be given",
        ),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        denoise(**{"array": np.ones(200), "sigma": 0.1} | arguments)


def test_any_order_in_memory():
    """Smaller than a patch and not contiguous: what is padded is in order again."""
    array = np.random.default_rng(0).random((3, 50, 5))
    want = denoise(array, 0.1)
    np.testing.assert_array_equal(denoise(np.asfortranarray(array), 0.1), want)
    np.testing.assert_array_equal(denoise(array[::-1].copy()[::-1], 0.1), want)
