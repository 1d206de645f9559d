"""Masks from values, images and transparency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fost.io import images
from fost.io.images import ValueMask, mask_from_image, read_alpha_mask


@pytest.mark.parametrize("value", [0, 2.5, np.nan])
@pytest.mark.parametrize("equal", [False, True])
def test_values(value: float, equal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_BLOCK", 7)  # several blocks
    array = np.random.default_rng(0).choice([0, 1, 2.5, np.nan], (9, 5))
    mask = ValueMask(array, value, equal)
    same = np.isnan(array) if np.isnan(value) else array == value
    expected = same if equal else ~same
    np.testing.assert_array_equal(mask[2:6, 1:], expected[2:6, 1:])
    assert mask.count() == expected.sum()
    assert (mask.shape, mask.dtype) == (array.shape, bool)


def test_integers_are_never_nan() -> None:
    assert ValueMask(np.arange(5), np.nan).count() == 0


def test_images_of_two_values() -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    image[1, 2, 1] = 9
    assert np.argwhere(mask_from_image(image, 127.5, "mask.png")).tolist() == [[1, 2]]


def test_images_of_many_values_are_thresholded_with_a_warning() -> None:
    image = np.array([[0, 30, 200], [255, 127, 128]], np.uint8)
    with pytest.warns(UserWarning, match=r"'mask\.jpg' has 6 values; pixels above 127\.5"):
        mask = mask_from_image(image, 127.5, "mask.jpg")
    np.testing.assert_array_equal(mask, image > 127)


def test_transparency(tmp_path: Path) -> None:
    pixels = np.full((4, 5, 4), 255, np.uint8)
    pixels[1, 2, 3] = 10
    Image.fromarray(pixels).save(tmp_path / "clear.png")
    assert np.argwhere(read_alpha_mask(tmp_path / "clear.png")).tolist() == [[1, 2]]
    Image.fromarray(pixels[..., :3]).save(tmp_path / "opaque.png")
    with pytest.raises(ValueError, match=r"opaque\.png' has no alpha channel"):
        read_alpha_mask(tmp_path / "opaque.png")
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"cannot read the alpha channel of .*bad\.png"):
        read_alpha_mask(tmp_path / "bad.png")
