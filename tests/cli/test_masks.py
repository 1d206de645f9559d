"""Masks of lossy files, and transparency as a mask."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fost import images
from tests.cli.conftest import Run, make_image

HOLE = np.zeros((40, 52), dtype=bool)
HOLE[8:16, 16:32] = True


def filled(run: Run, mask: str, image: str = "image.png") -> tuple[int, str]:
    """The number of missing pixels, and the messages on stderr."""
    result = run("inpaint", image, "--mask", mask, "-o", "whole.png", "--force", "--json")
    return json.loads(result.stdout)["n_missing"], result.stderr


def test_masks_of_two_values(run: Run) -> None:
    for value in (255, 1):
        images.write("mask.png", np.uint8(value) * HOLE)
        assert filled(run, "mask.png") == (HOLE.sum(), "")


def test_masks_in_jpeg_files(run: Run) -> None:
    rng = np.random.default_rng(0)
    ringing = np.where(HOLE, 255 - rng.integers(0, 40, HOLE.shape), rng.integers(0, 40, HOLE.shape))
    images.write("mask.png", ringing.astype(np.uint8))
    count, said = filled(run, "mask.png")
    assert count == HOLE.sum()
    n_values = len(np.unique(ringing))
    assert f"'mask.png' has {n_values} values; pixels above 127.5, half of its range" in said
    images.write("mask.jpg", np.uint8(255) * HOLE[..., None].repeat(3, axis=2))
    # The edges are at the borders of the 8 x 8 blocks of JPEG.
    assert filled(run, "mask.jpg")[0] == HOLE.sum()


def test_transparency_is_a_mask(run: Run, fail: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    colours = make_image((40, 52, 3))
    alpha = np.where(HOLE, 10, 250).astype(np.uint8)
    image.fromarray(np.dstack([colours, alpha])).save("clear.png")
    count, said = filled(run, "alpha", "clear.png")
    assert count == HOLE.sum()
    assert said == ""
    whole = images.read("whole.png")
    np.testing.assert_array_equal(whole[~HOLE], colours[~HOLE])
    arguments = ("inpaint", "image.png", "--mask", "alpha", "-o", "new.png")
    assert "--mask alpha: 'image.png' has no alpha channel" in fail(*arguments)
