"""Finding the paper's pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fost import images, paper
from fost.paper.printed import PICTURES
from tests.paper.conftest import make_picture


def test_by_name_whatever_format_and_case(tmp_path: Path) -> None:
    grey = make_picture(0, 64)
    images.write(tmp_path / "Peppers.tiff", grey)
    images.write(tmp_path / "BOAT.bmp", grey)
    images.write(tmp_path / "lena.png", grey)
    (tmp_path / "barb").mkdir()
    found = paper.find_pictures(tmp_path)
    assert list(found) == ["peppers", "boat"]
    assert set(found.missing) == set(PICTURES) - {"peppers", "boat"}
    np.testing.assert_array_equal(found["boat"], grey)
    assert found.of_figures == ("peppers", "boat")
    assert not found.bundled
    assert any("the paper's has 512 x 512" in note for note in found.notes)


def test_sizes_that_are_no_multiples_are_cut(tmp_path: Path) -> None:
    images.write(tmp_path / "hill.png", make_picture(0, 64)[:61, :50])
    assert paper.find_pictures(tmp_path)["hill"].shape == (56, 48)


@pytest.mark.parametrize("kind", ["uint16", "float", "float255", "colours"])
def test_other_types_become_grey_values_of_eight_bits(tmp_path: Path, kind: str) -> None:
    grey = make_picture(0, 32)
    made = {
        "uint16": grey.astype(np.uint16) * 257,
        "float": (grey / 255).astype(np.float32),
        "float255": grey.astype(np.float32),
        "colours": np.repeat(grey[..., None], 3, axis=2),
    }[kind]
    images.write(tmp_path / "man.tiff", made)
    np.testing.assert_allclose(paper.find_pictures(tmp_path)["man"], grey, atol=1e-4)


def test_colours_are_noted(tmp_path: Path) -> None:
    colours = np.stack([make_picture(k, 32) for k in range(3)], axis=2)
    images.write(tmp_path / "baboon.png", colours)
    found = paper.find_pictures(tmp_path)
    assert "baboon: colours were made grey" in found.notes
    expected = np.rint(colours @ [0.299, 0.587, 0.114])
    np.testing.assert_array_equal(found["baboon"], expected)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for suffix in ("png", "bmp"):
        images.write(tmp_path / f"mri.{suffix}", make_picture(0, 32))
    assert "mri: mri.bmp is used, mri.png is not" in paper.find_pictures(tmp_path).notes


def test_nothing_that_can_be_used(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none of the paper's pictures in"):
        paper.find_pictures(tmp_path)
    images.write(tmp_path / "mri.png", make_picture(0, 16)[:, :7])
    with pytest.raises(ValueError, match="smaller than 8 x 8"):
        paper.find_pictures(tmp_path)
    (tmp_path / "mri.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match="cannot read"):
        paper.find_pictures(tmp_path)


def test_without_a_folder_others_stand_in() -> None:
    found = paper.find_pictures()
    assert found.bundled
    assert found.missing == PICTURES
    assert "barb" in found
    assert found.shown_as("barb") == "brick"
    assert found["barb"].shape == (512, 512)
    assert len(found.of_figures) == 3
    assert len(found.checksums) == len(found) == 5


def test_checksums_are_of_pixels(pictures: paper.PictureSet, folder: Path, tmp_path: Path) -> None:
    images.write(tmp_path / "boat.bmp", images.read(folder / "boat.png"))
    assert paper.find_pictures(tmp_path).checksums == pictures.only(["boat"]).checksums
