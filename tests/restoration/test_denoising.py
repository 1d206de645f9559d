"""Denoising of signals, images and volumes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import savgol_filter

import fost
from fost.images import psnr
from fost.restoration import denoise, estimate_sigma, patches, pretrained
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.shrinkage import hard_threshold


def beats(n=6000, seed=0):
    """Similar pulses at irregular times, like an electrocardiogram."""
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


def with_noise(image, sigma, seed=0):
    """An 8-bit image with noise."""
    noise = np.random.default_rng(seed).standard_normal(image.shape)
    return np.clip(image + sigma * noise, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def data():
    """The sample images of scikit-image."""
    return pytest.importorskip("skimage.data")


@pytest.fixture(scope="module")
def camera(data):
    return data.camera()[100:356, 100:356]


@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_signals_are_better_than_polynomial_smoothing(sigma):
    clean = beats()
    noisy = clean + sigma * np.random.default_rng(1).standard_normal(len(clean))
    ours = rms(denoise(noisy, sigma) - clean)
    smooth = min(
        rms(savgol_filter(noisy, k, d) - clean) for k in range(5, 60, 4) for d in (2, 3, 4)
    )
    # 0.54 to 0.55 and 0.67 to 0.70 of the best Savitzky-Golay filter, for three seeds.
    assert ours < 0.8 * smooth


@pytest.mark.parametrize("sigma", [10, 50])
def test_volumes_are_better_than_separate_slices(sigma):
    clean = ball()
    noisy = clean + sigma * np.random.default_rng(1).standard_normal(clean.shape)
    ours = rms(denoise(noisy, sigma) - clean)
    slices = rms(np.stack([denoise(each, sigma, quality="fast") for each in noisy]) - clean)
    # 0.78 to 0.79 and 0.69 of the error of separate slices.
    assert ours < 0.87 * slices
    assert ours < 0.4 * sigma


@pytest.mark.parametrize("sigma", [10, 40])
def test_images_are_better_than_thresholding_in_the_dct(camera, sigma):
    image = with_noise(camera, sigma)
    grid = PatchGrid.over(image.shape, (8, 8), 1)
    unit = image.astype(np.float32) / 255
    plain = [hard_threshold(unit, fost.DCT((8, 8)), grid, k * sigma / 255) for k in (2.5, 2.8, 3.1)]
    best = max(psnr(camera / 255, np.clip(a / b, 0, 1)) for a, b in plain)
    ours = psnr(camera, denoise(image, sigma))
    assert ours > best + 0.05  # 0.072 and 0.183 dB, within 1e-5 on other machines
    if sigma > 10:
        assert ours > psnr(camera, denoise(image, sigma, second_pass=False))
    assert ours > psnr(camera, image) + 3


def test_given_transforms_are_used(camera):
    image = with_noise(camera, 20)
    one = denoise(image, 20, transform=fost.DCT((8, 8)))
    assert psnr(camera, one) > psnr(camera, image) + 5
    np.testing.assert_array_equal(
        one, denoise(image, 20, transform=fost.DCT((8, 8)), patch_shape=8)
    )
    tall = denoise(image, 20, transform=fost.DCT((4, 16)), patch_shape=(4, 16))
    assert psnr(camera, tall) > psnr(camera, image) + 4
    coarse = denoise(image, 20, transform=pretrained("patches-16x16"), stride=4)
    assert psnr(camera, coarse) > psnr(camera, image) + 5


def test_a_transform_of_one_recording_suits_another():
    """0.79 to 0.83 of the error with the DCT, for three seeds."""
    rng = np.random.default_rng(0)
    windows = np.lib.stride_tricks.sliding_window_view(beats(seed=5), 64)
    Y = windows - windows.mean(axis=1, keepdims=True)
    learned = fost.learn(Y, fost.Rotations(256), 4, base=fost.DCT(64), max_iter=10).transform
    clean = beats(seed=6)
    noisy = clean + 0.1 * rng.standard_normal(len(clean))
    ours = rms(denoise(noisy, 0.1, transform=learned) - clean)
    assert ours < 0.9 * rms(denoise(noisy, 0.1, transform=fost.DCT(64)) - clean)


def test_a_bank_is_better_than_a_single_transform(camera):
    Y = patches(camera / 255, 8, 3)
    Y -= Y.mean(axis=1, keepdims=True)
    base, image = fost.DCT((8, 8)), with_noise(camera, 20)
    bank = fost.learn(Y, fost.BankOf(fost.Rotations(64), 4), 4, base=base, random_state=0).transform
    single = fost.learn(Y, fost.Rotations(64), 4, base=base).transform
    ours, theirs = (psnr(camera, denoise(image, 20, transform=each)) for each in (bank, single))
    # 0.11 to 0.13 dB; rounding decides between equally good first rotations.
    assert ours > theirs + 0.05
    one = denoise(image, 20, transform=fost.Bank([single]))
    assert np.abs(one.astype(int) - denoise(image, 20, transform=single)).max() <= 1


@pytest.mark.parametrize("sigma", [15, 50])
def test_groups_improve_grey_images(data, sigma):
    """0.51 and 0.58 dB, within 0.01 on other machines."""
    clean = data.coins()[:128, :128] / 255
    image = clean + sigma / 255 * np.random.default_rng(0).standard_normal(clean.shape)
    best, fast = (psnr(clean, denoise(image, sigma / 255, quality=k)) for k in ("best", "fast"))
    assert best > fast + 0.25


def test_groups_in_luma_improve_colour_images(data):
    """1.39 dB, within 0.01 on other machines."""
    clean = data.coffee()[100:228, 100:228] / 255
    image = clean + 25 / 255 * np.random.default_rng(0).standard_normal(clean.shape)
    best, fast = (
        psnr(clean, denoise(image, 25 / 255, channel_axis=-1, quality=k)) for k in ("best", "fast")
    )
    assert best > fast + 0.6


def test_the_default_quality_is_best_unless_other_settings_are_given(data):
    image = data.camera()[:48, :48] / 255
    image = image + 0.1 * np.random.default_rng(0).standard_normal(image.shape)
    best, fast = (denoise(image, 0.1, quality=k) for k in ("best", "fast"))
    assert not np.array_equal(best, fast)
    np.testing.assert_array_equal(denoise(image, 0.1), best)
    for settings in (
        {"stride": 2},
        {"patch_shape": 4},
        {"second_pass": False},
        {"transform": fost.DCT((8, 8))},
    ):
        np.testing.assert_array_equal(
            denoise(image, 0.1, **settings), denoise(image, 0.1, quality="fast", **settings)
        )


def test_two_channels_are_processed_separately(data):
    image = data.coins()[:40, :40] / 255
    image = image + 0.1 * np.random.default_rng(0).standard_normal(image.shape)
    both = np.stack([image, image[::-1]], axis=-1)
    together = denoise(both, 0.1, channel_axis=-1, quality="best")
    np.testing.assert_array_equal(together[..., 0], denoise(image, 0.1, quality="best"))


def test_channels_of_signals():
    two = beats(2000, 1)[:, None] + 0.1 * np.random.default_rng(0).standard_normal((2000, 2))
    both = denoise(two, 0.1, channel_axis=1)
    assert both.shape == two.shape
    span = two.min(), two.max()
    first = denoise(np.r_[two[:, 0], span], 0.1)[:-2]  # the same range
    assert rms(both[:, 0] - first) < 0.01  # 0.0015, since the training patches differ


def test_colour_images_are_processed_as_luma_and_chroma(data):
    clean = data.astronaut()[:96, 100:196]
    image = with_noise(clean, 25)
    out = denoise(image, 25, channel_axis=-1)
    assert out.shape == clean.shape
    by_channel = np.stack([denoise(image[..., k], 25) for k in range(3)], axis=-1)
    first = denoise(np.moveaxis(image, -1, 0), 25, channel_axis=0)
    np.testing.assert_array_equal(np.moveaxis(first, 0, -1), out)
    assert psnr(clean, out) > psnr(clean, by_channel) > psnr(clean, image)
    two = denoise(image[..., :2], 25, channel_axis=-1)
    np.testing.assert_array_equal(two[..., 0], denoise(image[..., 0], 25))


@pytest.mark.parametrize("shape", [(1,), (2,), (63,), (700,), (1, 1, 1), (3, 5, 70), (9, 9, 9)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_arrays_of_any_size_and_type(shape, dtype):
    array = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    out = denoise(array, 5)
    assert out.shape == shape
    assert out.dtype == dtype
    flat = denoise(np.full(shape, 7, dtype), 1)
    np.testing.assert_allclose(flat, 7, rtol=1e-5)
    np.testing.assert_array_equal(denoise(array, 0), array)


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 50), (50, 1), (3, 4), (7, 7, 3), (9, 2, 2), (20, 9, 4)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_images_of_any_size(shape, dtype):
    image = (200 * np.random.default_rng(0).random(shape)).astype(dtype)
    axis = None if len(shape) == 2 else -1
    clean = denoise(image, 20, channel_axis=axis, quality="best")
    assert clean.shape == shape
    assert clean.dtype == dtype
    assert abs(clean.mean() - image.mean()) <= 20


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (5, 7), (8, 8), (9, 300)])
def test_constant_images_are_unchanged(shape):
    flat = denoise(np.full(shape, 77, np.uint8), 10)
    np.testing.assert_array_equal(flat, 77)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.float64])
def test_the_type_and_the_range_are_kept(camera, dtype):
    image = with_noise(camera[:64, :64], 20)
    scale = {np.uint16: 257, np.int16: 128}.get(dtype, 1)
    given = image.astype(dtype) * dtype(scale)
    if np.dtype(dtype).kind == "f":
        given = given / dtype(255)
        scale = 1 / 255
    if dtype is np.int16:
        given -= 2**14
    before = given.copy()
    out = denoise(given, 20 * scale)
    assert out.dtype == dtype
    assert out.shape == given.shape
    np.testing.assert_array_equal(given, before)
    assert float(out.min()) >= float(given.min()) - 60 * scale
    rough, smooth = (np.abs(np.diff(k.astype(float))).mean() / scale for k in (given, out))
    assert smooth < rough / 2


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_wide_integers_are_treated_by_their_values(camera, dtype):
    """8-bit images in wider integers, NumPy's default."""
    image = with_noise(camera[:64, :64], 20)
    clean = denoise(image.astype(dtype), 20)
    assert clean.dtype == dtype
    unit = denoise(image / 255, 20 / 255)
    np.testing.assert_array_equal(clean, np.rint(255 * unit))
    assert estimate_sigma(image.astype(dtype)) == estimate_sigma(image.astype(np.float64))


def test_numpy_scalars_are_accepted(camera):
    image = with_noise(camera[:40, :40], 20)
    for k in (np.uint8, np.int64):
        found = denoise(image, np.float32(20), stride=k(2), patch_shape=k(8), second_pass=np.True_)
        np.testing.assert_array_equal(found, denoise(image, 20, stride=2, patch_shape=8))
        found = denoise(image, k(20), stride=(k(2), 1), patch_shape=np.array([4, 16], k))
        np.testing.assert_array_equal(found, denoise(image, 20, stride=(2, 1), patch_shape=(4, 16)))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_noise_levels_of_any_magnitude(camera, dtype):
    image = camera[:40, :40].astype(dtype)
    with pytest.warns(UserWarning, match="sigma must be in the units of x, whose range is"):
        means = denoise(image, 1e6)  # only the means of patches remain
    with pytest.warns(UserWarning, match=r"got 1e\+300"):
        np.testing.assert_allclose(denoise(image, 1e300), means.astype(float), atol=1)
    np.testing.assert_allclose(denoise(image, 1e-300), image, rtol=1e-5)


def test_a_noise_level_of_zero_changes_nothing(camera):
    np.testing.assert_array_equal(denoise(camera, 0), camera)


def test_float64_is_processed_in_float32_if_precise_enough(camera):
    image = camera[:64, :64] / 255 + 0.1 * np.random.default_rng(0).standard_normal((64, 64))
    image = np.clip(image, 0, 1)
    image[0, :2] = 0, 1
    double = denoise(image, 0.1, random_state=0)
    single = denoise(image.astype(np.float32), 0.1, random_state=0)
    assert double.dtype == np.float64
    np.testing.assert_allclose(double, single, rtol=0, atol=1e-6)
    # An offset at which float32 has steps of 0.06 is handled in float64.
    offset = denoise(image + 1e6, 0.1, random_state=0) - 1e6
    np.testing.assert_allclose(offset, double, rtol=0, atol=0.01)
    # Noise below the resolution of float32 is removed.
    flat = np.full((40, 40), 0.25) + 1e-9 * np.random.default_rng(0).standard_normal((40, 40))
    assert np.std(denoise(flat, 1e-9)) < 0.2 * np.std(flat)


def test_images_are_bit_identical_for_any_number_of_threads(camera, set_threads):
    image = with_noise(camera, 20)
    set_threads(1)
    first = denoise(image, 20)
    set_threads(3)
    np.testing.assert_array_equal(denoise(image, 20), first)


@pytest.mark.parametrize("ndim", [1, 3])
def test_results_are_bit_identical_for_any_number_of_threads(ndim, set_threads):
    clean = beats(20_000) if ndim == 1 else ball()
    noisy = clean + 0.1 * np.ptp(clean) * np.random.default_rng(0).standard_normal(clean.shape)
    set_threads(1)
    first = denoise(noisy, 0.1)
    set_threads(3)
    np.testing.assert_array_equal(denoise(noisy, 0.1), first)


def test_arrays_of_any_memory_order():
    """Arrays that are smaller than a patch and not contiguous."""
    array = np.random.default_rng(0).random((3, 50, 5))
    want = denoise(array, 0.1)
    np.testing.assert_array_equal(denoise(np.asfortranarray(array), 0.1), want)
    np.testing.assert_array_equal(denoise(array[::-1].copy()[::-1], 0.1), want)


@pytest.mark.parametrize("sigma", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("ndim", [1, 3])
def test_estimate_sigma(ndim, sigma):
    clean = beats(20_000) if ndim == 1 else ball((24, 48, 48)) / 200
    noise = np.random.default_rng(1).standard_normal(clean.shape)
    assert estimate_sigma(clean + sigma * noise) == pytest.approx(sigma, rel=0.1)  # 0.04 at most
    scaled = estimate_sigma(np.ldexp(clean + sigma * noise, 700))
    assert scaled == np.ldexp(estimate_sigma(clean + sigma * noise), 700)


@pytest.mark.parametrize("sigma", [5, 20, 40])
@pytest.mark.parametrize("name", ["camera", "brick", "moon"])
def test_estimate_sigma_of_images(data, name, sigma):
    image = getattr(data, name)()
    noise = np.random.default_rng(1).standard_normal(image.shape)
    assert estimate_sigma(image + sigma * noise) == pytest.approx(sigma, rel=0.15)
    assert estimate_sigma((image + sigma * noise) / 255) == pytest.approx(sigma / 255, rel=0.15)


@pytest.mark.parametrize("power", [-900, 900])
def test_estimate_sigma_scales_exactly_by_powers_of_two(camera, power):
    image = with_noise(camera[:64, :64], 20).astype(np.float64)
    assert estimate_sigma(np.ldexp(image, power)) == np.ldexp(estimate_sigma(image), power)


def test_the_estimated_estimate_sigma_is_the_default(camera):
    image = with_noise(camera, 20)
    np.testing.assert_array_equal(denoise(image), denoise(image, estimate_sigma(image)))


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no wider floats")
def test_values_beyond_float64_are_rejected():
    image = np.full((9, 9), np.longdouble("1e400"))
    for call in (estimate_sigma, denoise):
        with pytest.raises(ValueError, match="x is too large"):
            call(image)


@pytest.mark.parametrize("quality", ["good", "", 3, True])
def test_invalid_qualities_are_rejected(quality):
    with pytest.raises((ValueError, TypeError), match="quality must be one of 'best', 'fast'"):
        denoise(np.zeros((9, 9)), 0.1, quality=quality)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sigma": -1}, ValueError, "sigma must be at least 0 and finite, got -1"),
        ({"sigma": np.nan}, ValueError, "sigma must be at least 0 and finite"),
        ({"sigma": "20"}, TypeError, "sigma must be a number, got '20'"),
        ({"x": np.array([1.0, np.nan])}, ValueError, "x contains NaN"),
        ({"x": np.ones((2,) * 5)}, ValueError, "x must have one to three axes"),
        ({"x": np.ones((2,) * 4)}, ValueError, "three axes, got .*; pass channel_axis"),
        ({"x": np.ones(())}, ValueError, "x must have one to three axes"),
        ({"x": np.ones((9, 9), complex)}, TypeError, "x must be real numbers"),
        ({"x": np.ma.masked_less(np.arange(9.0), 3)}, ValueError, "x has masked entries"),
        ({"channel_axis": 3}, ValueError, "x must have one to three axes beside"),
        ({"channel_axis": 3, "x": np.ones((4, 3))}, ValueError, "channel_axis must be between"),
        ({"patch_shape": (8, 8)}, ValueError, "patch_shape must be an integer or one in brackets"),
        ({"patch_shape": 2**30}, ValueError, "patch_shape must be at most 16777216"),
        ({"patch_shape": 0}, ValueError, "patch_shape must be between 1"),
        ({"patch_shape": "8"}, TypeError, "patch_shape must be an integer, got '8'"),
        ({"patch_shape": (8.9,)}, TypeError, "patch_shape must be an integer, got 8.9"),
        ({"stride": 65}, ValueError, r"stride must be at most patch_shape=\(64,\)"),
        ({"stride": 0}, ValueError, "stride must be between 1"),
        ({"stride": 1.5}, TypeError, "stride must be an integer, got 1.5"),
        ({"stride": True}, TypeError, "stride must be an integer, got True"),
        ({"transform": fost.DCT(8), "patch_shape": 9}, ValueError, "transform was built for 8"),
        ({"transform": "dct"}, TypeError, "transform must be a transform or a bank"),
        (
            {"transform": fost.DCT(9), "x": np.ones((9, 9, 9))},
            ValueError,
            "patch_shape must be given",
        ),
        ({"second_pass": "no"}, TypeError, "second_pass must be True or False, got 'no'"),
        ({"random_state": 1.5}, TypeError, "random_state must be"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        denoise(**{"x": np.ones(200), "sigma": 0.1} | arguments)
