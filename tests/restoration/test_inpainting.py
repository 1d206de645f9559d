"""Inpainting of signals, images and volumes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import fost
from fost.images import psnr
from fost.restoration import assemble, denoise, inpaint, patches
from fost.restoration.smooth_fill import smooth_fill
from tests.restoration.test_denoising import ball, beats, rms


@pytest.fixture(scope="module")
def data():
    """The sample images of scikit-image."""
    return pytest.importorskip("skimage.data")


@pytest.fixture(scope="module")
def camera(data):
    return data.camera()[100:292, 100:292]


def random_mask(shape, share, seed=0):
    return np.random.default_rng(seed).random(shape) < share


def mask_of_runs(n, length, seed=0):
    mask = np.zeros(n, bool)
    for start in np.random.default_rng(seed).choice(n // (3 * length) - 2, n // (12 * length)) + 1:
        mask[start * 3 * length : start * 3 * length + length] = True
    return mask


@pytest.mark.parametrize("length", [1, 5, 20])
def test_signals_are_better_than_interpolation(length):
    rng = np.random.default_rng(1)
    signal = beats(12_000) + 0.01 * rng.standard_normal(12_000)
    mask, t = mask_of_runs(len(signal), length), np.arange(len(signal))
    ours = inpaint(np.where(mask, np.nan, signal), mask)
    np.testing.assert_array_equal(ours[~mask], signal[~mask])
    cubic = CubicSpline(t[~mask], signal[~mask])(t)
    linear = np.interp(t, t[~mask], signal[~mask])
    others = min(rms((each - signal)[mask]) for each in (cubic, linear))
    # 0.80 to 0.81 for single samples, where noise dominates; 0.19 to 0.65 for longer runs, which
    # depends on held-out samples and initial mixtures.
    assert rms((ours - signal)[mask]) < (0.9 if length == 1 else 0.85) * others


def test_sums_of_sines_are_filled_exactly():
    """Four samples predict two sines, even at a peak that exceeds the observed range."""
    t = np.arange(3000)
    signal = np.sin(t / 9) + 0.5 * np.cos(t / 4)
    mask = mask_of_runs(3000, 20)
    ours = inpaint(np.where(mask, np.nan, signal), mask)
    np.testing.assert_allclose(ours, signal, atol=1e-4)  # 1e-8


def test_volumes_are_better_than_separate_slices():
    clean = ball()
    mask = np.random.default_rng(0).random(clean.shape) < 0.5
    ours = inpaint(np.where(mask, np.nan, clean), mask)
    np.testing.assert_array_equal(ours[~mask], clean[~mask])
    smooth = smooth_fill(np.where(mask, 0, clean), mask)[0]
    slices = np.stack([inpaint(*each) for each in zip(clean, mask, strict=True)])
    error = rms((ours - clean)[mask])
    assert error < 0.4 * rms((smooth - clean)[mask])  # 0.20
    assert error < 0.8 * rms((slices - clean)[mask])  # 0.55


@pytest.mark.parametrize("share", [0.4, 0.8])
def test_images_are_better_than_biharmonic_inpainting(camera, share):
    from skimage.restoration import inpaint_biharmonic

    mask = random_mask(camera.shape, share)
    damaged = np.where(mask, 0, camera)
    theirs = psnr(camera / 255, np.clip(inpaint_biharmonic(damaged / 255, mask), 0, 1))
    assert psnr(camera, inpaint(damaged, mask)) > theirs + 0.2  # 0.40 to 0.64 dB


def square_mask(shape, side, count):
    mask, rng = np.zeros(shape, bool), np.random.default_rng(1)
    for _ in range(count):
        top, left = (int(rng.integers(n - side)) for n in shape)
        mask[top : top + side, left : left + side] = True
    return mask


@pytest.mark.parametrize("holes", ["squares", "scratches"])
def test_compact_holes_are_better_than_biharmonic_inpainting(camera, holes):
    from skimage.restoration import inpaint_biharmonic

    mask = square_mask(camera.shape, 8, 40)
    if holes == "scratches":
        y, x = np.indices(camera.shape)
        mask = ((x + 2 * y) % 90 < 4) | ((3 * x - y) % 110 < 3)
    damaged = np.where(mask, 0, camera)
    theirs = np.clip(inpaint_biharmonic(damaged / 255, mask), 0, 1)
    ours = inpaint(damaged, mask)
    error = rms(ours[mask] / 255 - camera[mask] / 255)
    # 0.93 to 0.97 for squares and 0.72 to 0.75 for scratches, depending on the seed.
    assert error < 0.99 * rms(theirs[mask] - camera[mask] / 255)
    tiled = inpaint(damaged, mask, tile=100)
    np.testing.assert_array_equal(tiled[~mask], camera[~mask])
    assert rms(tiled[mask] / 255 - camera[mask] / 255) < 1.1 * error


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("method", ["shrinkage", "gaussian", "pursuit"])
def test_every_method_accepts_one_to_three_axes(ndim, method):
    shape = {1: (600,), 2: (24, 30), 3: (8, 16, 16)}[ndim]
    clean = np.sin(np.indices(shape).sum(axis=0) / 4)
    mask = np.random.default_rng(0).random(shape) < 0.2
    ours = inpaint(np.where(mask, np.nan, clean), mask, method=method)
    assert rms((ours - clean)[mask]) < 0.2  # at most 0.1, and 0.71 without inpainting


def test_observed_samples_are_unchanged(camera):
    mask = random_mask(camera.shape, 0.5)
    for method in ("shrinkage", "pursuit"):
        out = inpaint(camera, mask, method=method)
        np.testing.assert_array_equal(out[~mask], camera[~mask])


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_the_type_and_the_range_are_kept_and_masked_values_are_ignored(camera, method, dtype):
    image = camera[:60, :60].astype(dtype)
    if np.dtype(dtype).kind == "f":
        image = image * dtype(2) - dtype(100)
    mask = random_mask(image.shape, 0.4)
    first, second = image.copy(), image.copy()
    first[mask] = np.nan if np.dtype(dtype).kind == "f" else 0
    second[mask] = 200
    out = inpaint(first, mask, method=method)
    np.testing.assert_array_equal(out, inpaint(second, mask, method=method))
    assert out.dtype == dtype
    assert np.isfinite(out).all()
    if np.dtype(dtype).kind == "f":  # integers may use the whole range of their type
        assert image[~mask].min() <= out.min()
        assert out.max() <= image[~mask].max()


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_wide_integers_are_treated_by_their_values(camera, method, dtype):
    image = camera[:48, :48].astype(dtype)
    mask = random_mask(image.shape, 0.4)
    whole = inpaint(np.where(mask, dtype(10**6), image), mask, method=method)
    assert whole.dtype == dtype
    unit = inpaint(image / 255, mask, method=method)
    np.testing.assert_array_equal(whole[mask], np.rint(255 * unit[mask]))
    np.testing.assert_array_equal(whole[~mask], image[~mask])


def test_masked_samples_of_masked_arrays_are_missing(camera):
    image = camera[:48, :48].astype(np.float64) / 255
    mask, more = random_mask(image.shape, 0.4), random_mask(image.shape, 0.2, seed=1)
    masked = np.ma.array(np.where(mask, np.nan, image), mask=mask)
    wanted = inpaint(image, mask)
    assert type(inpaint(masked)) is np.ndarray
    np.testing.assert_array_equal(inpaint(masked), wanted)
    np.testing.assert_array_equal(inpaint(masked, mask), wanted)
    np.testing.assert_array_equal(inpaint(masked, more), inpaint(image, mask | more))
    whole = np.ma.array(image)
    np.testing.assert_array_equal(inpaint(whole), image)
    np.testing.assert_array_equal(inpaint(whole, mask), wanted)
    colours = np.ma.array(np.dstack([image] * 3), mask=np.dstack([mask] * 3))
    np.testing.assert_array_equal(
        inpaint(colours, mask, channel_axis=-1), inpaint(colours, channel_axis=-1)
    )
    with pytest.raises(ValueError, match="mask is True for all samples"):
        inpaint(np.ma.masked_all((8, 8)))


@pytest.mark.parametrize("options", [{}, {"max_iter": 4}])
def test_masks_with_bytes_other_than_0_and_1(options, rng):
    """A boolean view of 255 counts as True."""
    image = np.cumsum(rng.standard_normal((48, 40)), axis=1)
    mask = rng.random(image.shape) < 0.3
    other = np.uint8(255) * mask
    options = {"random_state": 0, **options}
    want = inpaint(image, mask, **options)
    np.testing.assert_array_equal(inpaint(image, other.view(bool), **options), want)
    da = pytest.importorskip("dask.array")
    lazy = [da.from_array(each) for each in (image, mask, other.view(bool))]
    want, found = (inpaint(lazy[0], each, **options).compute() for each in lazy[1:])
    np.testing.assert_array_equal(found, want)


def test_numpy_scalars_are_accepted(camera):
    image = camera[:40, :40]
    mask = random_mask(image.shape, 0.4)
    for k in (np.uint8, np.int64):
        arguments = {"stride": k(2), "patch_shape": (k(8), k(8)), "max_iter": k(4)}
        found = inpaint(image, mask, **arguments, random_state=k(1))
        wanted = inpaint(image, mask, stride=2, patch_shape=8, max_iter=4, random_state=1)
        np.testing.assert_array_equal(found, wanted)
        found = inpaint(
            image, mask, n_nonzero_coefs=k(5), stride=k(4), method="pursuit", prior=np.float32(0.5)
        )
        wanted = inpaint(image, mask, n_nonzero_coefs=5, stride=4, method="pursuit", prior=0.5)
        np.testing.assert_array_equal(found, wanted)


def test_colour_images(data):
    clean = data.astronaut()[:96, 100:196]
    mask = random_mask(clean.shape[:2], 0.5)
    out = inpaint(np.where(mask[..., None], 0, clean), mask, channel_axis=-1)
    assert out.shape == clean.shape
    assert psnr(clean, out) > 26
    # A different mask for each channel.
    masks = random_mask(clean.shape, 0.5)
    out = inpaint(np.where(masks, 0, clean), masks, channel_axis=-1)
    np.testing.assert_array_equal(out[~masks], clean[~masks])
    assert psnr(clean, out) > 26


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
def test_large_holes_continue_their_surroundings(method):
    ramp = np.tile(np.linspace(50, 200, 120), (100, 1)).round().astype(np.uint8)
    mask = np.zeros(ramp.shape, bool)
    mask[20:70, 30:90] = True
    mask[80:, 100:] = True
    out = inpaint(np.where(mask, 255, ramp), mask, method=method)
    assert np.abs(out.astype(int) - ramp)[mask].max() < 60
    assert 40 <= out[mask].min() <= out[mask].max() <= 210


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
def test_a_single_observed_sample_determines_the_result(method):
    mask = np.ones((40, 30), bool)
    mask[7, 9] = False
    image = np.full((40, 30), 12, np.uint8)
    image[7, 9] = 200
    np.testing.assert_allclose(inpaint(image, mask, method=method), 200, atol=1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 50), (8, 8), (17, 9)])
@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
def test_small_images(shape, method):
    image = np.random.default_rng(0).integers(0, 255, shape).astype(np.uint8)
    mask = random_mask(shape, 0.3)
    mask.flat[0] = False
    out = inpaint(image, mask, method=method)
    assert out.shape == shape
    np.testing.assert_array_equal(out[~mask], image[~mask])


@pytest.mark.parametrize("shape", [(2,), (9,), (100,), (2, 1, 1), (3, 5, 40)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_arrays_of_any_size_and_type(shape, dtype):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 100, shape).astype(dtype)
    mask = rng.random(shape) < 0.4
    mask.flat[0], mask.flat[1] = False, True
    out = inpaint(array, mask)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out[~mask], array[~mask])
    masked = np.ma.array(array, mask=mask)
    np.testing.assert_array_equal(inpaint(masked), out)
    np.testing.assert_array_equal(inpaint(array, np.zeros(shape, bool)), array)


def test_an_empty_mask_changes_nothing(camera):
    np.testing.assert_array_equal(inpaint(camera, np.zeros(camera.shape, bool)), camera)


@pytest.mark.parametrize("compact", [False, True])
def test_results_are_bit_identical_for_any_number_of_threads(camera, set_threads, compact):
    mask = square_mask(camera.shape, 6, 30) if compact else random_mask(camera.shape, 0.4)
    set_threads(1)
    first = inpaint(camera, mask)
    set_threads(3)
    np.testing.assert_array_equal(inpaint(camera, mask), first)


def test_gaps_of_signals_that_are_longer_than_a_patch_are_a_warning():
    period = np.sin(np.arange(200) / 200 * 2 * np.pi) ** 15
    signal = np.tile(period, 30) + 0.1 * np.random.default_rng(0).standard_normal(6000)
    mask = np.zeros(6000, bool)
    mask[2000:2300] = True
    with pytest.warns(UserWarning, match="a gap of 300 samples, longer than patch_shape=128"):
        default = inpaint(signal, mask)
    larger = inpaint(signal, mask, patch_shape=512)
    errors = [np.square((each - signal)[mask]).mean() for each in (default, larger)]
    assert errors[1] < errors[0] / 2


def test_nan_marks_missing_samples():
    rng = np.random.default_rng(0)
    for shape, axis in (((500,), None), ((30, 40), None), ((30, 40, 3), -1)):
        clean = np.sin(np.indices(shape).sum(axis=0) / 4)
        mask = rng.random(shape) < 0.3
        damaged = np.where(mask, np.nan, clean)
        ours = inpaint(damaged, "nan", channel_axis=axis)
        np.testing.assert_array_equal(ours, inpaint(clean, mask, channel_axis=axis))
    integers = rng.integers(0, 100, 50)
    np.testing.assert_array_equal(inpaint(integers, "nan"), integers)
    with pytest.raises(ValueError, match=r'mask must be given .* or "nan"'):
        inpaint(damaged)
    with pytest.raises(ValueError, match="NaN or infinity; inpaint fills in missing samples"):
        denoise(damaged[..., 0])
    with pytest.raises(ValueError, match=r"NaN or infinity$"):
        denoise(np.full((20, 20), np.inf))


def test_pursuit_follows_the_protocol_of_the_paper(camera):
    """Patches without overlap, means of observed pixels, pursuit on observed pixels."""
    mask = random_mask(camera.shape, 0.4)
    unit = camera.astype(np.float32) / 255
    Y = patches(unit, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    Q = fost.learn(Y, fost.Orthonormal(), 6, max_iter=20).transform
    ours = inpaint(unit, mask, transform=Q, stride=8, method="pursuit", prior=0)
    rows, missing = patches(unit, 8), patches(mask, 8) > 0
    means = np.where(missing, 0, rows).sum(axis=1, keepdims=True)
    means /= (~missing).sum(axis=1, keepdims=True)
    codes = fost.omp(rows - means, Q.matrix.T, 6, missing=missing)
    theirs = assemble(Q.decode(codes) + means, unit.shape, 8)
    theirs = np.where(mask, np.clip(theirs, 0, 1), unit)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    # The prior prefers atoms that other patches use.
    better = inpaint(unit, mask, transform=Q, stride=8, method="pursuit")
    assert psnr(unit, better) > psnr(unit, ours) + 1  # 1.44 dB


def test_pursuit_uses_all_atoms_of_a_union(camera):
    unit = camera.astype(np.float32) / 255
    mask = random_mask(camera.shape, 0.4)
    union = fost.Union([fost.DCT((8, 8)), fost.Dense(np.eye(64))])
    ours = inpaint(unit, mask, transform=union, stride=8, method="pursuit", prior=0)
    rows, missing = patches(unit, 8), patches(mask, 8) > 0
    means = np.where(missing, 0, rows).sum(axis=1, keepdims=True)
    means /= (~missing).sum(axis=1, keepdims=True)
    filled = union.decode(union.encode(rows - means, 6, missing=missing)) + means
    theirs = np.clip(assemble(filled, unit.shape, 8), 0, 1)
    np.testing.assert_allclose(ours, np.where(mask, theirs, unit), atol=1e-3)
    with pytest.raises(TypeError, match="transform must be a transform, a bank or a union"):
        inpaint(unit, mask, transform="union", method="pursuit")


# MAE and RMSE on missing pixels; the paper calls the latter MSE.
PAPER = {
    ("barb", "Q"): (0.0305, 0.0492),
    ("man", "Q"): (0.0333, 0.0548),
    ("man", "H14"): (0.0334, 0.0549),
}


@pytest.mark.parametrize(("photo", "name"), PAPER, ids="-".join)
def test_errors_are_at_most_those_of_the_paper(photo, name, paper_images):
    image = paper_images[photo].astype(np.float64)
    low, high = (image.min(), image.max()) if photo == "man" else (0, 255)
    image = (image - low) / (high - low)
    Y = patches(image, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    structure = fost.Orthonormal() if name == "Q" else fost.Reflectors(14)
    mask = random_mask(image.shape, 0.4)
    for transform in (
        fost.learn(Y, structure, 6).transform,
        fost.learn(Y, fost.Rotations(64), 6, base=fost.DCT((8, 8))).transform,
    ):
        out = inpaint(image, mask, transform=transform, stride=8, method="pursuit")
        errors = (out - image)[mask]
        assert np.abs(errors).mean() <= PAPER[photo, name][0]
        assert np.sqrt(np.mean(errors**2)) <= PAPER[photo, name][1]


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
def test_a_bank_is_better_than_a_single_transform(camera, method):
    Y = patches(camera / 255, 8, 3)
    Y -= Y.mean(axis=1, keepdims=True)
    base = fost.DCT((8, 8))
    bank = fost.learn(Y, fost.BankOf(fost.Rotations(64), 4), 4, base=base, random_state=0).transform
    single = fost.learn(Y, fost.Rotations(64), 4, base=base).transform
    mask = random_mask(camera.shape, 0.4)
    # Few over-relaxed passes; after more passes both are about equal.
    ours, theirs = (
        psnr(camera, inpaint(camera, mask, transform=each, method=method, max_iter=10))
        for each in (bank, single)
    )
    # About 0.25 dB; the learned rotations depend on the machine.
    assert ours > theirs + 0.05


def test_progress_is_shown_on_stderr(camera, capsys):
    inpaint(camera[:40, :40], random_mask((40, 40), 0.3), max_iter=5, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "iteration 5/5" in err


@pytest.mark.parametrize("method", ["shrinkage", "pursuit"])
def test_float64_is_processed_in_float32(camera, method):
    image = camera[:48, :48] / 255
    mask = np.random.default_rng(0).random(image.shape) < 0.3
    double = inpaint(image, mask, method=method, random_state=0)
    single = inpaint(image.astype(np.float32), mask, method=method, random_state=0)
    assert double.dtype == np.float64
    assert np.array_equal(double[~mask], image[~mask])
    np.testing.assert_allclose(double, single, rtol=0, atol=1e-6)


def test_the_default_is_as_good_as_80_passes(camera):
    """A pattern, which needs over-relaxation, and noise, which suffers from it."""
    y, x = np.mgrid[:96, :96]
    stripes = 0.5 + 0.4 * np.sin(x * 1.3 + y * 0.7)
    noise = np.random.default_rng(0).random((96, 96))
    for image in (stripes, noise, camera[:96, :96] / 255):
        mask = random_mask(image.shape, 0.4)
        many = psnr(image, inpaint(image, mask, max_iter=80), 1)
        # Stripes have 51 to 72 dB, depending on the seed. Differences above 45 dB do not matter.
        assert psnr(image, inpaint(image, mask), 1) > min(many, 45) - 1.0


def test_passes_are_added_while_the_held_out_error_decreases():
    y, x = np.mgrid[:64, :64] / 64
    smooth = 0.5 + 0.2 * np.sin(7 * x + 3 * y * y) * np.cos(5 * y)
    mask = np.random.default_rng(3).random(smooth.shape) < 0.3
    more = inpaint(np.where(mask, 0, smooth), mask)
    planned = inpaint(np.where(mask, 0, smooth), mask, max_iter=45)
    assert psnr(smooth, more) > psnr(smooth, planned) + 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mask": np.ones(50, bool)}, ValueError, "mask is True for all samples"),
        ({"mask": None}, ValueError, "mask must be given unless x is a masked array"),
        ({"mask": np.zeros(50)}, TypeError, "mask must be boolean, got .*; use mask > 0"),
        (
            {"x": np.ones((9, 9, 3)), "mask": np.eye(9) > 0},
            ValueError,
            r"mask must have the shape of x, .*, got \(9, 9\); pass channel_axis=-1",
        ),
        ({"mask": np.zeros(49, bool)}, ValueError, "mask must have the shape of x"),
        (
            {"mask": np.ma.masked_less(np.arange(50), 3) > 70},
            ValueError,
            "mask has masked entries",
        ),
        ({"x": np.full(50, np.nan)}, ValueError, "x contains NaN or infinity where mask is False"),
        ({"method": "magic"}, ValueError, "method must be one of 'shrinkage', 'pursuit'"),
        ({"method": 1}, TypeError, "method must be one of 'shrinkage', 'pursuit'"),
        (
            {"method": "gaussian", "transform": fost.DCT(64)},
            ValueError,
            "transform must be None for method='gaussian'",
        ),
        ({"prior": 2}, ValueError, "prior must be at least 0 and at most 1"),
        ({"prior": "0"}, TypeError, "prior must be a number"),
        ({"patch_shape": (8.9,)}, TypeError, "patch_shape must be an integer, got 8.9"),
        ({"transform": fost.DCT(60), "patch_shape": 64}, ValueError, "transform was built for 60"),
        ({"stride": 0}, ValueError, "stride must be between 1"),
        ({"stride": 1.5}, TypeError, "stride must be an integer, got 1.5"),
        ({"stride": 200}, ValueError, "stride must be at most patch_shape="),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an integer, got 2.5"),
        ({"max_iter": 2**31}, ValueError, "max_iter must be between 0 and 1000000"),
        ({"n_nonzero_coefs": 2.5}, TypeError, "n_nonzero_coefs must be an integer, got 2.5"),
        ({"method": "pursuit", "n_nonzero_coefs": 65}, ValueError, "n_nonzero_coefs must be"),
        ({"verbose": "no"}, TypeError, "verbose must be True or False"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        inpaint(**{"x": np.arange(50.0), "mask": np.arange(50) == 7} | arguments)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_signals(value: float, share: float) -> None:
    x, mask = np.full(300, value), np.random.default_rng(0).random(300) < share
    np.testing.assert_allclose(inpaint(x, mask), value, rtol=1e-6)
