"""Image files as people have them: alpha, 16 bits, palettes, and several at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fost import images
from fost.io.images import read_with_alpha
from fost.restoration import inpaint
from tests.cli.conftest import Run, make_image

Fail = Callable[..., str]
HOLE = np.zeros((40, 52), bool)
HOLE[8:16, 16:32] = True


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("suffix", [".png", ".tiff"])
def test_alpha_and_16_bits_are_kept(run: Run, dtype: type, channels: int, suffix: str) -> None:
    colours = make_image((40, 52, channels), dtype)
    alpha = make_image((40, 52), dtype)[::-1]
    images.write(f"in{suffix}", np.dstack([colours, alpha]))
    images.write("mask.png", np.uint8(255) * HOLE)
    tasks = (("denoise", "--sigma", "2", "--quality", "fast"), ("inpaint", "--mask", "mask.png"))
    for command, *options in tasks:
        out = f"{command}{suffix}"
        assert run(command, f"in{suffix}", "-o", out, *options).stderr == ""
        found, transparency = read_with_alpha(out)
        assert found.dtype == dtype
        assert found.shape == colours.squeeze().shape
        np.testing.assert_array_equal(transparency, alpha)
    want = inpaint(colours, HOLE, channel_axis=-1).squeeze()
    np.testing.assert_array_equal(found, want)


def test_formats_without_alpha_are_a_warning(run: Run) -> None:
    images.write("clear.png", np.dstack([make_image((40, 52, 3)), make_image()]))
    for out in ("out.jpg", "out.npy"):
        result = run("denoise", "clear.png", "-o", out, "--sigma", "2", "--quality", "fast")
        line = f"fost: warning: '{out}' does not hold the alpha channel, which is left out\n"
        assert result.stderr == line
    assert images.read("out.jpg").shape == (40, 52, 3)
    assert np.load("out.npy").shape == (40, 52, 3)


def test_palettes_are_announced(run: Run) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(make_image((40, 52, 3))).convert("P").save("palette.png")
    image.fromarray(make_image((40, 52, 3))).convert("CMYK").save("cmyk.tif")
    for name, kind in (("palette.png", "a palette"), ("cmyk.tif", "colours in CMYK")):
        result = run("denoise", name, "-o", f"out-{name}", "--sigma", "2", "--quality", "fast")
        line = f"fost: warning: '{name}' has {kind}, converted to red, green and blue\n"
        assert result.stderr == line


def test_several_files(run: Run, fail: Fail) -> None:
    images.write("mask.png", np.uint8(255) * HOLE)
    names = ("image.png", "colour.png")
    for out in ("new/", "new"):  # the folder exists then
        run("inpaint", *names, "--mask", "mask.png", "-o", out, "--force")
        for name in names:
            clean = images.read(name)
            axis = None if clean.ndim == 2 else -1
            want = inpaint(clean, HOLE, channel_axis=axis)
            np.testing.assert_array_equal(images.read(f"new/{name}"), want)
            Path(f"new/{name}").unlink()
    options = ("--sigma", "2", "--quality", "fast")
    reports = json.loads(run("denoise", *names, "-o", "new/", *options, "--json").stdout)
    assert [report["output"] for report in reports] == ["new/image.png", "new/colour.png"]
    run("denoise", "image.png", "-o", "one/", *options)
    assert Path("one/image.png").exists()
    assert "'new/image.png' exists already; --force" in fail("denoise", *names, "-o", "new/")
    line = fail("denoise", *names, "-o", "other")
    assert "'other' is no folder for 2 results; 'other/' creates it" in line
    line = fail("denoise", "image.png", "new/image.png", "-o", "other/")
    assert "several inputs are called 'image.png'" in line
    assert "cannot create 'image.png/'" in fail("denoise", *names, "-o", "image.png/")
    assert "cannot create 'no/where/'" in fail("denoise", *names, "-o", "no/where/")


def test_a_folder_of_masks(run: Run, fail: Fail) -> None:
    Path("masks").mkdir()
    images.write("masks/image.png", np.uint8(255) * HOLE)
    images.write("masks/colour.png", np.uint8(255) * HOLE[::-1])
    run("inpaint", "image.png", "colour.png", "--mask", "masks", "-o", "new/")
    for name, mask in (("image.png", HOLE), ("colour.png", HOLE[::-1])):
        clean, found = images.read(name), images.read(f"new/{name}")
        np.testing.assert_array_equal(found[~mask], clean[~mask])
        assert (found[mask] != clean[mask]).any()
    Path("masks/image.png").unlink()
    line = fail("inpaint", "image.png", "--mask", "masks", "-o", "x.png")
    assert "cannot read 'masks/image.png'" in line


def test_masks_of_more_than_half_are_a_warning(run: Run) -> None:
    for mask, warned in ((HOLE, False), (~HOLE, True)):
        images.write("mask.png", np.uint8(255) * mask)
        result = run("inpaint", "image.png", "--mask", "mask.png", "-o", "new.png", "--force")
        line = (
            "fost: warning: 93.8% of the pixels of 'image.png' are missing; is the mask inverted?"
        )
        assert result.stderr.splitlines() == ([line] if warned else [])
