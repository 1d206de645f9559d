"""Formats, colour transform and PSNR of images."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fost import images
from tests import cases

INTEGERS = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)


@given(dtype=st.sampled_from(INTEGERS), seed=cases.seeds)
def test_integers_are_converted_to_the_unit_range_and_back(dtype: Any, seed: int) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    image = rng.integers(info.min, info.max, (5, 7), dtype, endpoint=True)
    image[0, :2] = info.min, info.max
    form = images.ImageFormat.of(image)
    unit = form.to_unit(image)
    assert unit.dtype == (np.float32 if image.itemsize <= 2 else np.float64)
    assert unit.min() == 0
    assert unit.max() == 1
    assert cases.same_bits(form.from_unit(unit), image)


@given(
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    low=st.floats(-1000, 1000),
    width=st.floats(0, 1000),
    seed=cases.seeds,
)
def test_floats_keep_type_and_range(dtype: Any, low: float, width: float, seed: int) -> None:
    image = (low + width * np.random.default_rng(seed).random((5, 7, 3))).astype(dtype)
    form = images.ImageFormat.of(image)
    unit = form.to_unit(image)
    assert unit.min() >= 0
    assert unit.max() <= 1
    back = form.from_unit(unit)
    assert back.dtype == dtype
    tolerance = 4 * float(np.finfo(dtype).eps) * max(1.0, float(np.abs(image).max()))
    assert np.abs(back.astype(float) - image.astype(float)).max() <= tolerance


def test_floats_inside_the_unit_range_are_unchanged() -> None:
    image = np.array([[0.25, 0.5]])
    form = images.ImageFormat.of(image)
    assert (form.low, form.high, form.scale) == (0, 1, 1)
    assert np.array_equal(form.to_unit(image), image)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([[0.0, 255.0]], 0, 255),
        ([[-0.5, 1.0]], -0.5, 1),
        ([[np.nan, 3.0, 5.0, np.inf]], 3, 5),
        ([[np.nan, np.nan]], 0, 1),
        ([[7.0, 7.0]], 7, 14),
        ([[-0.5, -0.5]], -0.5, 0.5),
        ([[True, False]], 0, 1),
    ],
)
def test_the_range_of_an_image(values: Any, low: float, high: float) -> None:
    form = images.ImageFormat.of(np.array(values))
    assert (form.low, form.high) == (low, high)


def test_values_are_clipped_to_the_range_and_rounded() -> None:
    form = images.ImageFormat.of(np.zeros((1, 1), np.uint8))
    assert form.from_unit([[-1.0, 2.0, 0.5019]]).tolist() == [[0, 255, 128]]
    assert images.ImageFormat.of(np.zeros((1, 1), bool)).from_unit([[0.4, 0.6]]).tolist() == [
        [False, True]
    ]
    with pytest.raises(ValueError, match="image contains NaN, which uint8 cannot represent"):
        form.from_unit([[np.nan]])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_the_largest_integers_are_exact(dtype: Any) -> None:
    info = np.iinfo(dtype)
    form = images.ImageFormat.of(np.array([[info.min, info.max]], dtype))
    assert form.from_unit([[0.0, 1.0]]).tolist() == [[info.min, info.max]]


WIDE = (np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0, 0], 0, 255),
        ([0, 1], 0, 255),
        ([3, 255], 0, 255),
        ([0, 256], 0, 65535),
        ([9, 65535], 0, 65535),
        ([7, 65536], 7, 65536),
        ([70000, 70000], 70000, 140000),
    ],
)
def test_the_range_of_wide_integers_follows_from_their_values(
    dtype: Any, values: list[int], low: int, high: int
) -> None:
    image = np.array([values], dtype)
    form = images.ImageFormat.of(image)
    assert form == images.ImageFormat(np.dtype(dtype), low, high)
    assert cases.same_bits(form.from_unit(form.to_unit(image)), image)


def test_the_range_of_negative_wide_integers() -> None:
    form = images.ImageFormat.of(np.array([[-20, 300]]))
    assert (form.low, form.high) == (-20, 300)


def test_invalid_formats_are_rejected() -> None:
    assert images.ImageFormat("uint8", np.int64(0), np.float32(255)) == images.ImageFormat.of(
        np.zeros((1, 1), np.uint8)
    )
    with pytest.raises(TypeError, match="dtype must be a type of real numbers, got complex128"):
        images.ImageFormat(np.dtype(complex), 0, 1)
    with pytest.raises(TypeError, match="low must be a number, got '0'"):
        images.ImageFormat(np.dtype(float), "0", 1)
    with pytest.raises(ValueError, match="high must be greater than low=1, got 1"):
        images.ImageFormat(np.dtype(float), 1, 1)
    with pytest.raises(
        ValueError, match=r"image is too large: its values.* than float32 can represent"
    ):
        images.ImageFormat.of(np.array([[-3e38, 3e38]], np.float32))


def test_byte_swapped_images() -> None:
    image = np.arange(6, dtype=">u2").reshape(2, 3)
    form = images.ImageFormat.of(image)
    assert form.dtype == np.dtype(np.uint16)
    assert cases.same_bits(form.from_unit(form.to_unit(image)), image.astype(np.uint16))


@given(dtype=st.sampled_from([np.uint8, np.float32, np.float64]), seed=cases.seeds)
def test_luma_and_chroma_are_orthonormal(dtype: Any, seed: int) -> None:
    image = (255 * np.random.default_rng(seed).random((6, 5, 3))).astype(dtype)
    turned = images.to_luma_chroma(image)
    assert turned.dtype == (np.float64 if dtype == np.float64 else np.float32)
    exact = image.astype(np.float64)
    np.testing.assert_allclose(turned[..., 0], exact.sum(axis=2) / np.sqrt(3), rtol=1e-6)
    # Lengths are kept, and the inverse is exact up to rounding.
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=2), np.linalg.norm(exact, axis=2), rtol=1e-6
    )
    np.testing.assert_allclose(images.from_luma_chroma(turned), exact, atol=1e-4)


def test_grey_images_have_no_chroma() -> None:
    grey = np.repeat(np.random.default_rng(0).random((4, 4, 1)), 3, axis=2)
    assert np.abs(images.to_luma_chroma(grey)[..., 1:]).max() < 1e-15


def test_luma_and_chroma_need_three_channels() -> None:
    for shape in ((4, 4), (4, 4, 4), (4, 4, 1)):
        for function in (images.to_luma_chroma, images.from_luma_chroma):
            with pytest.raises(ValueError, match=r"image must have shape \(height, width, 3\)"):
                function(np.zeros(shape))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40, 30), (10, 12, 3), (700, 800)])
def test_psnr_equals_scikit_image(dtype: Any, shape: tuple[int, ...]) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    rng = np.random.default_rng(0)
    a, b = rng.random(shape), rng.random(shape)
    if np.dtype(dtype).kind in "ub":
        a, b = (
            np.rint(np.iinfo(np.uint8).max * x) if dtype != np.bool_ else x > 0.5 for x in (a, b)
        )
    a, b = a.astype(dtype), b.astype(dtype)
    span = {"b": 1, "f": 1}.get(np.dtype(dtype).kind) or np.iinfo(dtype).max
    expected = metrics.peak_signal_noise_ratio(a.astype(float), b.astype(float), data_range=span)
    assert images.psnr(a, b) == pytest.approx(expected, rel=1e-12)
    assert images.psnr(a, b, data_range=2 * span) == pytest.approx(
        expected + 20 * math.log10(2), rel=1e-12
    )


def test_paths_are_rejected() -> None:
    for path in ("photo.png", Path("photo.png")):
        for call in (images.ImageFormat.of, images.to_luma_chroma):
            with pytest.raises(TypeError, match=r"photo.png'; fost.images.read reads files"):
                call(path)


def test_psnr_of_equal_images_is_infinite() -> None:
    image = np.ones((3, 3), np.uint8)
    assert images.psnr(image, image) == math.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_psnr_rejects_nan_and_infinity(bad: float) -> None:
    fine, broken = np.full((3, 4), 0.5), np.full((3, 4), 0.5)
    broken[1, 2] = bad
    with pytest.raises(ValueError, match="image contains NaN or infinity"):
        images.psnr(fine, broken)
    for other in (fine, broken):
        with pytest.raises(ValueError, match="reference contains NaN or infinity"):
            images.psnr(broken, other, data_range=1)


@pytest.mark.parametrize("dtype", WIDE)
def test_psnr_of_wide_integers_needs_a_range(dtype: Any) -> None:
    a, b = np.full((3, 4), 100, dtype), np.full((3, 4), 90, dtype)
    with pytest.raises(ValueError, match=r"data_range must be given for a reference of u?int"):
        images.psnr(a, b)
    expected = images.psnr(a.astype(np.uint8), b.astype(np.uint8))
    assert images.psnr(a, b, data_range=np.int64(255)) == pytest.approx(expected)
    assert images.psnr(b, a, data_range=255) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_psnr_does_not_depend_on_the_scale(scale: float) -> None:
    a = np.random.default_rng(0).random((5, 6))
    found = images.psnr(scale * a, scale * 0.5 * a, data_range=scale)
    assert found == pytest.approx(images.psnr(a, 0.5 * a))


def test_masked_and_sparse_images_are_rejected() -> None:
    masked = np.ma.masked_greater(np.arange(64.0).reshape(8, 8), 60)
    with pytest.raises(ValueError, match="reference has masked entries"):
        images.psnr(masked, masked.data, 64)
    for call in (
        lambda: images.psnr(masked.data, masked, 64),
        lambda: images.ImageFormat.of(masked),
        lambda: images.to_luma_chroma(masked[..., None].repeat(3, axis=2)),
        lambda: images.write("never.png", masked),
    ):
        with pytest.raises(ValueError, match="image has masked entries"):
            call()
    whole = np.ma.array(masked.data, mask=False)
    assert images.ImageFormat.of(whole) == images.ImageFormat.of(masked.data)
    with pytest.raises(TypeError, match="image must be a dense array, got a sparse csr_array"):
        images.ImageFormat.of(csr_array(masked.data))


def test_psnr_rejects_invalid_arguments() -> None:
    with pytest.raises(ValueError, match=r"the shape of reference, \(2, 2\), got \(2, 3\)"):
        images.psnr(np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"data_range must be given .* from 0 to 200"):
        images.psnr(np.array([[0.0, 200.0]]), np.zeros((1, 2)))
    for bad in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="data_range must be greater than 0 and finite"):
            images.psnr(np.zeros((2, 2)), np.zeros((2, 2)), bad)
