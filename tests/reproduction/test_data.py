"""Finding the paper's images, and their patches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fost import images as image_files
from reproduction.data import ImageSet, assemble, find_images, patches, signals
from reproduction.printed import IMAGES
from tests.reproduction.conftest import make_image


def test_images_are_found_by_name_in_any_format_and_case(tmp_path: Path) -> None:
    grey = make_image(0, 64)
    image_files.write(tmp_path / "Peppers.tiff", grey)
    image_files.write(tmp_path / "BOAT.bmp", grey)
    image_files.write(tmp_path / "lena.png", grey)
    (tmp_path / "barb").mkdir()
    found = find_images(tmp_path)
    assert list(found) == ["peppers", "boat"]
    assert set(found.missing) == set(IMAGES) - {"peppers", "boat"}
    np.testing.assert_array_equal(found["boat"], grey)
    assert found.of_figures == ("peppers", "boat")
    assert not found.bundled
    assert any("the paper's has 512 x 512" in note for note in found.notes)


def test_sides_are_cut_to_multiples_of_eight(tmp_path: Path) -> None:
    image_files.write(tmp_path / "hill.png", make_image(0, 64)[:61, :50])
    assert find_images(tmp_path)["hill"].shape == (56, 48)


@pytest.mark.parametrize("kind", ["uint16", "float", "float255", "colour"])
def test_other_types_become_grey_values_from_0_to_255(tmp_path: Path, kind: str) -> None:
    grey = make_image(0, 32)
    made = {
        "uint16": grey.astype(np.uint16) * 257,
        "float": (grey / 255).astype(np.float32),
        "float255": grey.astype(np.float32),
        "colour": np.repeat(grey[..., None], 3, axis=2),
    }[kind]
    image_files.write(tmp_path / "man.tiff", made)
    np.testing.assert_allclose(find_images(tmp_path)["man"], grey, atol=1e-4)


def test_conversions_are_noted(tmp_path: Path) -> None:
    colour = np.stack([make_image(k, 32) for k in range(3)], axis=2)
    for suffix in ("png", "bmp"):
        image_files.write(tmp_path / f"baboon.{suffix}", colour)
    found = find_images(tmp_path)
    assert "baboon: colours were converted to grey" in found.notes
    assert "baboon: baboon.bmp is used, baboon.png is not" in found.notes
    np.testing.assert_array_equal(found["baboon"], np.rint(colour @ [0.299, 0.587, 0.114]))


def test_folders_without_usable_images(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no image of the paper in"):
        find_images(tmp_path)
    image_files.write(tmp_path / "mri.png", make_image(0, 16)[:, :7])
    with pytest.raises(ValueError, match="smaller than 8 x 8"):
        find_images(tmp_path)
    (tmp_path / "mri.png").write_bytes(b"not an image")
    with pytest.raises(ValueError, match="cannot read"):
        find_images(tmp_path)


def test_images_of_scikit_image_stand_in() -> None:
    found = find_images()
    assert found.bundled
    assert found.missing == IMAGES
    assert found.name("barb") == "brick"
    assert found["barb"].shape == (512, 512)
    assert len(found.of_figures) == 3


def test_checksums_depend_on_pixels_only(images: ImageSet, folder: Path, tmp_path: Path) -> None:
    image_files.write(tmp_path / "boat.bmp", image_files.read(folder / "boat.png"))
    assert find_images(tmp_path).checksums == {"boat": images.checksums["boat"]}


def test_patches_are_vectorised_by_columns_and_can_be_assembled() -> None:
    image = make_image(0, 24).astype(float)
    Y, block = signals(image), image[8:16, 16:24]
    np.testing.assert_allclose(Y[5], (block - block.mean()).flatten(order="F") / 255, atol=1e-15)
    np.testing.assert_array_equal(assemble(patches(image), image.shape), image)
