from __future__ import annotations

import os
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

import fost
from fost import images
from fost.io.images import read_with_alpha
from tests import cases

Array = np.ndarray


def make_image(dtype: Any, colours: bool) -> Array:
    rng = np.random.default_rng(0)
    shape = (11, 13, 3) if colours else (11, 13)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) > 0.5
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize(
    ("suffix", "dtype", "colours"),
    [
        (".png", np.uint8, False),
        (".png", np.uint8, True),
        (".PNG", np.uint8, False),
        (".png", np.uint16, False),
        (".png", np.uint16, True),
        (".png", np.bool_, False),
        (".bmp", np.uint8, False),
        (".bmp", np.uint8, True),
        *(
            (suffix, dtype, colours)
            for suffix in (".tif", ".tiff")
            for dtype in (np.uint8, np.uint16, np.float32, np.float64)
            for colours in (False, True)
        ),
    ],
)
def test_round_trip(tmp_path: Path, suffix: str, dtype: Any, colours: bool) -> None:
    image = make_image(dtype, colours)
    path = tmp_path / f"image{suffix}"
    for name in (path, str(path)):
        images.write(name, image)
        assert cases.same_bits(images.read(name), image)
    assert images.read(path).flags.writeable
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".webp"])
@pytest.mark.parametrize("colours", [False, True])
def test_lossy_round_trip(tmp_path: Path, suffix: str, colours: bool) -> None:
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    image = np.broadcast_to(ramp, (48, 64))
    image = np.repeat(image[..., None], 3, axis=2) if colours else image
    path = tmp_path / f"image{suffix}"
    images.write(path, image)
    back = images.read(path)
    if suffix == ".webp" and not colours:  # knows no grey
        back = back[..., 0]
    assert back.dtype == np.uint8
    assert images.psnr(image, back) > 30


def test_writing_and_overwriting(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    first, second = np.zeros((2, 2), np.uint8), np.ones((2, 2), np.uint8)
    images.write(path, first, overwrite=False)
    with pytest.raises(FileExistsError, match="exists already"):
        images.write(path, second, overwrite=False)
    assert np.array_equal(images.read(path), first)
    images.write(path, second)
    assert np.array_equal(images.read(path), second)


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "image.png"
    images.write(path, np.zeros((2, 2), np.uint8))
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        images.write(path, np.ones((2, 2), np.uint8))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["image.png"]


@pytest.mark.parametrize(
    ("suffix", "dtype", "colours", "what"),
    [
        (".png", np.float32, False, "grey images of float32"),
        (".png", np.float64, True, "colour images of float64"),
        (".bmp", np.uint16, True, "colour images of uint16"),
        (".png", np.int32, False, "grey images of int32"),
        (".jpg", np.uint16, False, "grey images of uint16"),
        (".jpg", np.float32, True, "colour images of float32"),
        (".bmp", np.uint16, False, "grey images of uint16"),
    ],
)
def test_files_that_cannot_hold_a_type(
    tmp_path: Path, suffix: str, dtype: Any, colours: bool, what: str
) -> None:
    message = f"{suffix} files do not hold {what}, .tiff files do"
    with pytest.raises(ValueError, match=message):
        images.write(tmp_path / f"image{suffix}", make_image(dtype, colours))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["image", "image.xyz", "image.txt", ".png"])
def test_names_that_are_not_images(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"is not an image format; \.png and \.tiff are"):
        images.write(tmp_path / name, np.zeros((4, 4), np.uint8))


def test_files_that_are_not_images(tmp_path: Path) -> None:
    text = tmp_path / "text.png"
    text.write_text("I am not an image.", encoding="utf-8")
    with pytest.raises(ValueError, match=r"cannot read '.*text\.png': not an image that Pillow"):
        images.read(text)
    (tmp_path / "empty.png").touch()
    with pytest.raises(ValueError, match="not an image"):
        images.read(tmp_path / "empty.png")
    with pytest.raises(FileNotFoundError):
        images.read(tmp_path / "missing.png")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        images.read(tmp_path / "folder")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tiff"])
def test_damaged_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"image{suffix}"
    images.write(path, np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8))
    content = path.read_bytes()
    for length in (5, 100, len(content) // 2):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="cannot read"):
            images.read(path)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha_is_left_out_with_a_warning(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "image.png"
    array = np.random.default_rng(0).integers(0, 255, (5, 6, len(mode))).astype(np.uint8)
    Image.fromarray(array).save(path)
    with pytest.warns(UserWarning, match="has an alpha channel, which is ignored") as warned:
        image = images.read(path)
    assert warned[0].filename == __file__
    assert np.array_equal(image, array[..., :3] if mode == "RGBA" else array[..., 0])
    array[..., -1] = 255
    Image.fromarray(array).save(path)
    assert np.array_equal(images.read(path), array[..., :3] if mode == "RGBA" else array[..., 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_alpha_in_tiff(tmp_path: Path, dtype: Any) -> None:
    path = tmp_path / "image.tiff"
    array = np.ones((5, 6, 4), dtype)
    array[..., 3] = 0
    tifffile.imwrite(path, array, photometric="rgb", extrasamples=["unassalpha"])
    with pytest.warns(UserWarning, match="alpha channel"):
        assert cases.same_bits(images.read(path), array[..., :3].copy())


def test_palettes_and_other_colours(tmp_path: Path) -> None:
    array = np.zeros((5, 6, 3), np.uint8)
    array[:3, :, 0] = 255
    image = Image.fromarray(array)
    image.convert("P", palette=Image.Palette.ADAPTIVE).save(tmp_path / "palette.png")
    image.convert("CMYK").save(tmp_path / "cmyk.tif")
    image.convert("P", palette=Image.Palette.ADAPTIVE).save(tmp_path / "palette.tif")
    for name in ("palette.png", "palette.tif", "cmyk.tif"):
        kind = "colours in CMYK" if name == "cmyk.tif" else "a palette"
        message = f"{name}' has {kind}, converted to red, green and blue"
        with pytest.warns(UserWarning, match=message) as warned:
            assert np.array_equal(images.read(tmp_path / name), array), name
        assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_deflate", "packbits"])
def test_compressed_tiff(tmp_path: Path, compression: str) -> None:
    array = make_image(np.uint8, True)
    Image.fromarray(array).save(tmp_path / "image.tif", compression=compression)
    assert np.array_equal(images.read(tmp_path / "image.tif"), array)


def test_planar_tiff(tmp_path: Path) -> None:
    array = make_image(np.uint16, True)
    planes = np.moveaxis(array, -1, 0).copy()
    tifffile.imwrite(tmp_path / "image.tif", planes, photometric="rgb", planarconfig="separate")
    assert cases.same_bits(images.read(tmp_path / "image.tif"), array)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.float32, np.int64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (3, 3), (4, 5)])
def test_channels_of_tiff_are_one_image(
    tmp_path: Path, shape: tuple[int, int], channels: int, dtype: Any
) -> None:
    values = np.random.default_rng(0).random((*shape, channels))
    image = values > 0.5 if dtype is bool else (100 * values).astype(dtype)
    images.write(tmp_path / "image.tiff", image)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*an alpha channel")
        found = images.read(tmp_path / "image.tiff")
    # Two and four channels end with alpha, and one is no axis.
    expected = {1: image[..., 0], 2: image[..., 0], 4: image[..., :3]}
    np.testing.assert_array_equal(found, expected.get(channels, image))


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles")
def test_no_file_holds_long_doubles(tmp_path: Path) -> None:
    for name in ("image.tiff", "image.png"):
        with pytest.raises(ValueError, match=f"cannot write .*{name}.*{np.dtype(np.longdouble)}"):
            images.write(tmp_path / name, np.zeros((3, 3), np.longdouble))


def test_a_tiff_that_is_not_an_image_is_named_in_the_error(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "complex.tiff", np.zeros((3, 3), np.complex64))
    with pytest.raises(ValueError, match=r"cannot read .*complex\.tiff.*real numbers"):
        images.read(tmp_path / "complex.tiff")


def test_several_images_in_a_file(tmp_path: Path) -> None:
    frames = [np.full((4, 5), k, np.uint8) for k in (10, 200)]
    tifffile.imwrite(tmp_path / "pages.tif", np.stack(frames), photometric="minisblack")
    first, *others = (Image.fromarray(frame) for frame in frames)
    first.save(tmp_path / "frames.gif", save_all=True, append_images=others)
    for name, hint in (("pages.tif", "; .* --volume"), ("frames.gif", "$")):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*has a palette")  # every GIF has one
            with pytest.warns(UserWarning, match=f"2 images, of which the first is read{hint}"):
                image = images.read(tmp_path / name)
        assert np.all(image == 10)


def test_the_orientation_of_a_camera_is_applied(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn clockwise by 90 degrees to show
    Image.fromarray(array).save(tmp_path / "image.png", exif=exif)
    assert np.array_equal(images.read(tmp_path / "image.png"), np.rot90(array, -1))


def png(shape: tuple[int, ...], rows: bytes, interlaced: bool = False, extra: bytes = b"") -> bytes:
    """A PNG file with filtered rows of 16-bit channels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    colour_type = {2: 4, 3: 2, 4: 6}[shape[2]]
    header = struct.pack(">IIBBBBB", shape[1], shape[0], 16, colour_type, 0, 0, interlaced)
    packed = zlib.compress(rows)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + (chunk(b"tRNS", extra) if extra else b"")
        + chunk(b"IDAT", packed[:7])
        + chunk(b"IDAT", packed[7:])
        + chunk(b"IEND", b"")
    )


def filtered(image: Array, kinds: list[int]) -> bytes:
    """Rows of a PNG, pixel by pixel, as its specification defines the five filters."""
    pixels = image.astype(">u2").view(np.uint8).astype(int)
    rows = b""
    for i, kind in enumerate(kinds):
        row = []
        for j in range(pixels.shape[1]):
            for k in range(pixels.shape[2]):
                a = pixels[i, j - 1, k] if j else 0
                b = pixels[i - 1, j, k] if i else 0
                c = pixels[i - 1, j - 1, k] if i and j else 0
                paeth = min((a, b, c), key=lambda each: abs(a + b - c - each))
                predicted = (0, a, b, (a + b) // 2, paeth)[kind]
                row.append((pixels[i, j, k] - predicted) % 256)
        rows += bytes([kind, *row])
    return rows


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (12, 1), (1, 9), (12, 9), (7, 15)])
def test_colours_of_16_bits_in_png(tmp_path: Path, height: int, width: int, channels: int) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, 65535, (height, width, channels)).astype(np.uint16)
    kinds = [k % 5 for k in range(height)] if height > 1 else [4]
    (tmp_path / "deep.png").write_bytes(png(array.shape, filtered(array, kinds)))
    for _ in range(2):
        image, alpha = read_with_alpha(tmp_path / "deep.png")
        if channels == 3:
            assert alpha is None
            assert cases.same_bits(image, array)
        else:
            assert alpha is not None
            assert cases.same_bits(np.dstack([image, alpha]), array)
        images.write(tmp_path / "deep.png", array)  # by the encoder of fost, then again
    with Image.open(tmp_path / "deep.png") as opened:  # an independent decoder of the high bytes
        pixels = np.asarray(opened).astype(int)
    if channels == 2:  # Pillow repeats grey as red, green and blue
        pixels = pixels[..., [0, 3]]
    assert np.abs(pixels - (array >> 8)).max() <= 1


def test_deep_colours_that_only_pillow_reads_lose_bits_with_a_warning(tmp_path: Path) -> None:
    array = np.random.default_rng(0).integers(0, 65535, (1, 1, 3)).astype(np.uint16)
    rows = filtered(array, [0])
    for content in (
        png(array.shape, rows, interlaced=True),
        png(array.shape, rows, extra=b"\0" * 6),
    ):
        (tmp_path / "deep.png").write_bytes(content)
        with pytest.warns(UserWarning, match="has 16 bits per colour, of which Pillow reads 8"):
            image = images.read(tmp_path / "deep.png")
        assert np.abs(image.astype(int) - (array >> 8)).max() <= 1


def test_damaged_colours_of_16_bits(tmp_path: Path) -> None:
    array = np.random.default_rng(0).integers(0, 65535, (8, 9, 3)).astype(np.uint16)
    whole = png(array.shape, filtered(array, [4] * 8))
    wrong = bytearray(whole)
    wrong[-30] ^= 1
    short = png(array.shape, filtered(array, [4] * 8)[:-5])
    unknown = png(array.shape, bytes([9]) + filtered(array, [4] * 8)[1:])
    for content in (whole[:60], whole[:-20], bytes(wrong), short, unknown):
        (tmp_path / "deep.png").write_bytes(content)
        with pytest.raises(ValueError, match=r"cannot read '.*deep\.png': "):
            images.read(tmp_path / "deep.png")


def test_a_single_pixel(tmp_path: Path) -> None:
    images.write(tmp_path / "pixel.png", np.array([[7]], np.uint8))
    assert images.read(tmp_path / "pixel.png").tolist() == [[7]]


def test_warnings_as_errors_are_not_taken_for_damage(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((2, 2, 4), np.uint8)).save(tmp_path / "clear.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="alpha"):
            images.read(tmp_path / "clear.png")


WITHOUT_PILLOW = """
import sys
sys.modules["PIL"] = None
import numpy as np
import fost
assert "skimage" not in sys.modules
assert fost.restoration.patches(np.zeros((8, 8)), 8).shape == (1, 64)
for call in (lambda: fost.images.read(sys.argv[1]), lambda: fost.images.write("x.png", [[1]])):
    try:
        call()
    except ImportError as error:
        assert "pip install 'fost[images]'" in str(error), error
    else:
        raise AssertionError
"""


def test_without_the_extra_the_rest_works(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    images.write(path, np.zeros((2, 2), np.uint8))
    subprocess.run([sys.executable, "-c", WITHOUT_PILLOW, str(path)], check=True, cwd=tmp_path)


def test_importing_fost_imports_nothing_else() -> None:
    code = (
        "import sys, fost; assert not {'numpy', 'scipy', 'sklearn', 'fost.images'} & {*sys.modules}"
        "; fost.images.psnr; assert 'PIL' not in sys.modules; assert 'images' in dir(fost)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_can_be_had() -> None:
    for name in fost.__all__:
        assert getattr(fost, name) is getattr(fost, name)
    with pytest.raises(AttributeError, match="module 'fost' has no attribute 'nothing'"):
        fost.nothing  # noqa: B018
